/* Appends the rows of one shard to an array: without a branch, because shards cannot be predicted. */
#ifndef OOP_APPEND_H
#define OOP_APPEND_H

#include <stdint.h>

#include "wide.h"

#define APPENDED 256 /* rows that are appended at a time, at most */

static int count_rows_of(const int32_t *shard, int m, int32_t s) {
    int count = 0;
    for (int j = 0; j < m; j++) count += shard[j] == s;
    return count;
}

/* Appends the values of the rows whose shard is s, which are known to fit. */
#define APPEND(TYPE)                                                     \
    for (int j = 0; j < m; j++) {                                        \
        rows[count] = (uint8_t)j;                                        \
        count += shard[j] == s;                                          \
    }                                                                    \
    for (int j = 0; j < count; j++) ((TYPE *)out)[j] = ((const TYPE *)values)[rows[j]];

static void append_some(const void *values, int64_t width, const int32_t *shard, int m, int32_t s, void *out) {
    uint8_t rows[APPENDED + 1];
    int count = 0;
    switch (width) {
        case 1: APPEND(uint8_t) return;
        case 2: APPEND(uint16_t) return;
        case 4: APPEND(uint32_t) return;
        default: APPEND(uint64_t) return;
    }
}

#if OOP_WIDE
#include <immintrin.h>

#define WIDE_PLACES 16 /* a store writes so many values, of which the last ones may be overwritten later */

/* As append_some, for values of 4 and 8 bytes, 16 and 8 at a time; m is a multiple of 16. */
__attribute__((target("avx512f,popcnt"))) static void append_wide(const void *values, int64_t width,
                                                                  const int32_t *shard, int m, int32_t s, void *out) {
    const __m512i own = _mm512_set1_epi32(s);
    uint32_t *narrow = out;
    uint64_t *broad = out;
    for (int j = 0; j < m; j += 16) {
        __mmask16 mask = _mm512_cmpeq_epi32_mask(_mm512_loadu_si512(shard + j), own);
        if (width == 4) {
            __m512i found = _mm512_loadu_si512((const uint32_t *)values + j);
            _mm512_storeu_si512(narrow, _mm512_maskz_compress_epi32(mask, found));
            narrow += __builtin_popcount(mask);
        } else {
            for (int half = 0; half < 16; half += 8) {
                __mmask8 eight = (__mmask8)(mask >> half);
                __m512i found = _mm512_loadu_si512((const uint64_t *)values + j + half);
                _mm512_storeu_si512(broad, _mm512_maskz_compress_epi64(eight, found));
                broad += __builtin_popcount(eight);
            }
        }
    }
}
#endif

/* Appends the values of those of m <= APPENDED rows whose shard is s; `spare` is how many more would have fitted. */
static void append_rows(const void *values, int64_t width, const int32_t *shard, int m, int32_t s, void *out,
                        int64_t spare) {
#if OOP_WIDE
    if (width >= 4 && m % WIDE_PLACES == 0 && spare >= WIDE_PLACES && __builtin_cpu_supports("avx512f")) {
        append_wide(values, width, shard, m, s, out);
        return;
    }
#endif
    (void)spare;
    append_some(values, width, shard, m, s, out);
}

#endif
