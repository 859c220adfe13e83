/* Looks for a packed key in four places at once: they are a line of the cache, and fill the widest vector.

   The search begins with the first place of a line, and places of a line fill up in order. For most keys it needs no
   branch on which of the places it is, which could not be predicted. Machines without such vectors begin at any place,
   and look at one place after the other. */
#ifndef OOP_LINES_H
#define OOP_LINES_H

#include "fetch.h"
#include "groups.h"
#include "hash.h"
#include "wide.h"

#define CHUNK 256 /* keys that are looked for together */

/* Packed keys that are looked for together, and the places from which on. */
typedef struct {
    uint64_t words[CHUNK], places[CHUNK];
    uint32_t nulls[CHUNK];
    int m;
} sought;

static inline uint64_t hash_packed(const oop_table *table, uint64_t word, uint32_t nulls) {
    return fold_multiply(word ^ table->seed ^ nulls * (uint64_t)NULL_MARK, table->factor);
}

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

WIDE_LINE static inline int find_some(const oop_entry *entries, const sought *keys, int any_nulls, int j, int left,
                                      int64_t *ids, uint8_t *rest) {
    uint32_t id = find_in_line(_mm512_loadu_si512(&entries[keys->places[j]]), keys->words[j], keys->nulls[j], any_nulls);
    ids[j] = (int64_t)id - 1;
    rest[left] = (uint8_t)j; /* overwritten by the next, unless the key was not found */
    return left + !id;
}

/* Looks for keys, and meanwhile begins to fetch what the next ones will need. */
WIDE_LINE static int find_in_lines(const oop_table *table, const sought *keys, int any_nulls, sought *next, int shift,
                                   int64_t *ids, uint8_t *rest) {
    const oop_table own = *table; /* which no store below can change, as the compiler must see */
    const oop_entry *entries = own.entries;
    const int both = next && next->m < keys->m ? next->m : next ? keys->m : 0;
    int left = 0, j = 0;
    for (; j < both; j++) {
        next->places[j] = scatter(hash_packed(&own, next->words[j], next->nulls[j])) >> shift & ~(uint64_t)(LINE - 1);
        FETCH(&entries[next->places[j]]);
        left = find_some(entries, keys, any_nulls, j, left, ids, rest);
    }
    for (; j < keys->m; j++) left = find_some(entries, keys, any_nulls, j, left, ids, rest);
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

/* Finds out from where on to look for keys, and begins to fetch what is there. */
static inline void seek(const oop_table *table, sought *keys, int shift) {
    const oop_table own = *table; /* which no store below can change, as the compiler must see */
    for (int j = 0; j < keys->m; j++) {
        keys->places[j] = first_place(scatter(hash_packed(&own, keys->words[j], keys->nulls[j])), shift);
        FETCH(&own.entries[keys->places[j]]);
    }
}

/* Sets ids[j] for those keys that are found at once. Returns how many others there are. rest has their numbers, in
   order, and their places become those from which to go on, one by one. The next keys, if there are any, are sought
   meanwhile. */
static inline int find_at_once(const oop_table *table, sought *keys, int any_nulls, sought *next, int shift, int64_t *ids,
                               uint8_t *rest) {
#if OOP_WIDE
    if (has_lines()) {
        int left = find_in_lines(table, keys, any_nulls, next, shift, ids, rest);
        skip_lines(table->entries, (uint64_t)table->size - 1, rest, left, keys->places);
        return left;
    }
#endif
    (void)any_nulls, (void)ids;
    if (next) seek(table, next, shift);
    for (int j = 0; j < keys->m; j++) rest[j] = (uint8_t)j;
    return keys->m;
}

#endif
