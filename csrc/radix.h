/* Sorts rows by their keys: a radix sort of the bits in which the keys differ. */
#ifndef OOP_RADIX_H
#define OOP_RADIX_H

#include <stdint.h>
#include <string.h>

#define FEW 32 /* words that are sorted by insertion */

/* A word is a row, and above it a tag: the leading bits of its key, as far as they differ. */
static inline uint32_t row_of(uint64_t word) { return (uint32_t)word; }

static void insert_words(uint64_t *words, int64_t n, const uint64_t *keys) {
    for (int64_t i = 1; i < n; i++) {
        const uint64_t word = words[i], key = keys[row_of(word)];
        int64_t at = i;
        for (; at > 0 && keys[row_of(words[at - 1])] > key; at--) words[at] = words[at - 1];
        words[at] = word;
    }
}

static void scatter_words(const uint64_t *words, int64_t n, uint32_t *counts, int shift, uint32_t mask, uint64_t *out) {
    for (uint32_t digit = 0, sum = 0; digit <= mask; digit++) {
        const uint32_t count = counts[digit];
        counts[digit] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < n; i++) out[counts[words[i] >> shift & mask]++] = words[i];
}

/* Sorts words by the keys of their rows; words with equal keys stay in order. Two passes sort by the first 16 of the
   bits that differ, or by 22 if there are many rows. For rows that came together these are all the bits, or tell almost
   all keys apart. Words that are equal in these bits are sorted again, by the bits that are left. */
static void order_words(uint64_t *words, uint64_t *spare, int64_t n, const uint64_t *keys) {
    if (n <= FEW) {
        insert_words(words, n, keys);
        return;
    }
    uint64_t least = UINT64_MAX, most = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t key = keys[row_of(words[i])];
        least = key < least ? key : least;
        most = key > most ? key : most;
    }
    if (least == most) return;
    const int bits = 64 - __builtin_clzll(most - least), digit = n <= 1 << 13 ? 8 : 11;
    const int tag = bits < 2 * digit ? bits : 2 * digit, first = tag <= digit ? 0 : tag / 2, rest = bits - tag;
    const uint32_t low_mask = ((uint32_t)1 << first) - 1, high_mask = ((uint32_t)1 << (tag - first)) - 1;
    uint32_t low[1 << 11], high[1 << 11];
    memset(low, 0, sizeof *low << first);
    memset(high, 0, sizeof *high << (tag - first));
    for (int64_t i = 0; i < n; i++) {
        const uint32_t row = row_of(words[i]), leading = (uint32_t)((keys[row] - least) >> rest);
        words[i] = (uint64_t)leading << 32 | row;
        low[leading & low_mask]++;
        high[leading >> first]++;
    }
    if (first) {
        scatter_words(words, n, low, 32, low_mask, spare);
        scatter_words(spare, n, high, 32 + first, high_mask, words);
    } else {
        scatter_words(words, n, high, 32, high_mask, spare);
        memcpy(words, spare, (size_t)n * sizeof *words);
    }
    if (!rest) return;
    for (int64_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && words[to] >> 32 == words[from] >> 32;) to++;
        if (to - from > 1) order_words(words + from, spare + from, to - from, keys);
    }
}

#endif
