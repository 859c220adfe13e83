/* Looks for a packed key in four places at once: they are a line of the cache, and fill the widest vector.

   The search begins with the first place of a line, and places of a line fill up in order. For most keys it needs no
   branch on which of the places it is, which could not be predicted. Machines without such vectors begin at any place,
   and look at one place after the other. */
#ifndef OOP_LINES_H
#define OOP_LINES_H

#include "fetch.h"
#include "groups.h"
#include "wide.h"

#if OOP_WIDE
#include <immintrin.h>

#define LINE 4
#define WIDE_LINE __attribute__((target("avx512f,avx512dq,popcnt")))

static inline int has_lines(void) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
}

/* The id of a key as its entry has it, one more than the id; 0 if the key is not in this line. */
WIDE_LINE static inline uint32_t find_in_line(__m512i line, uint64_t word, uint32_t nulls, int any_nulls) {
    /* Tags are the even words; the odd word behind a tag has its id and nulls. */
    __mmask8 found = _mm512_mask_cmpeq_epi64_mask(0x55, line, _mm512_set1_epi64((int64_t)word));
    found = _kshiftli_mask8(found, 1);
    if (any_nulls) found = _mm512_mask_cmpeq_epi64_mask(found, _mm512_srli_epi64(line, 32), _mm512_set1_epi64(nulls));
    return (uint32_t)_mm_cvtsi128_si32(_mm512_castsi512_si128(_mm512_maskz_compress_epi64(found, line)));
}

WIDE_LINE static int find_in_lines(const oop_entry *entries, const uint64_t *places, const uint64_t *words,
                                   const uint32_t *nulls, int any_nulls, int m, int64_t *ids, uint8_t *rest) {
    int left = 0;
    for (int j = 0; j < m; j++) {
        uint32_t id = find_in_line(_mm512_loadu_si512(&entries[places[j]]), words[j], nulls[j], any_nulls);
        ids[j] = (int64_t)id - 1;
        rest[left] = (uint8_t)j; /* overwritten by the next, unless the key was not found */
        left += !id;
    }
    return left;
}

/* Keys that are not in their line are looked for behind the entries of the line. If that is the next line, it is
   fetched. */
WIDE_LINE static void skip_lines(const oop_entry *entries, uint64_t mask, const uint8_t *rest, int left,
                                 uint64_t *places) {
    const __m512i ids = _mm512_set_epi64(UINT32_MAX, 0, UINT32_MAX, 0, UINT32_MAX, 0, UINT32_MAX, 0);
    for (int k = 0; k < left; k++) {
        uint64_t place = places[rest[k]];
        __mmask8 used = _mm512_test_epi64_mask(_mm512_loadu_si512(&entries[place]), ids);
        place = (place + (uint64_t)__builtin_popcount(used)) & mask;
        FETCH(&entries[place]);
        places[rest[k]] = place;
    }
}
#endif

/* Where the search for a packed key begins. */
static inline uint64_t first_place(uint64_t hash, int shift) {
#if OOP_WIDE
    if (has_lines()) return hash >> shift & ~(uint64_t)(LINE - 1);
#endif
    return hash >> shift;
}

/* Sets ids[j] for those of m <= 256 rows whose key is found at once. Returns how many others there are. rest has their
   numbers, in order, and their places become those from which to go on, one by one. */
static inline int find_at_once(const oop_entry *entries, uint64_t mask, const uint64_t *words, const uint32_t *nulls,
                               int any_nulls, int m, uint64_t *places, int64_t *ids, uint8_t *rest) {
#if OOP_WIDE
    if (has_lines()) {
        int left = find_in_lines(entries, places, words, nulls, any_nulls, m, ids, rest);
        skip_lines(entries, mask, rest, left, places);
        return left;
    }
#endif
    (void)entries, (void)mask, (void)words, (void)nulls, (void)any_nulls, (void)places, (void)ids;
    for (int j = 0; j < m; j++) rest[j] = (uint8_t)j;
    return m;
}

#endif
