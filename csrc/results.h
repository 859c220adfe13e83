/* Results of groups as Arrow columns: what leaves when a promise closes a window.

   The columns are copies, made in one call, so that the table and its arrays can serve the next window. */
#ifndef OOP_RESULTS_H
#define OOP_RESULTS_H

#include <stdint.h>

#include "arrow.h"
#include "groups.h"
#include "status.h"

/* Where a column comes from. Of those with counts, a group that counted nothing is null. */
enum oop_result_kind {
    OOP_RESULT_CONSTANT, /* `constant` in every row */
    OOP_RESULT_KEY,      /* key column `key` of the table */
    OOP_RESULT_VALUES,   /* a: 64 bits each */
    OOP_RESULT_COUNTED,  /* a: whole numbers of 64 bits, of which `width` bytes are kept; c: counts */
    OOP_RESULT_SUM,      /* a, b: the high and low words of exact sums; c: counts */
    OOP_RESULT_MEAN      /* the same, divided by the counts */
};

/* Row i of an array is at data[stride * i]. */
typedef struct {
    const int64_t *data;
    int64_t stride;
} oop_words;

typedef struct {
    int32_t kind, width, key;
    int64_t constant; /* or the bits of a float */
    oop_words a, b, c;
} oop_result;

/* Makes a batch of n groups of the table, from the group `first` on. The batch owns its memory: out->release gives it
   back. OOP_FULL: there is no memory. OOP_SUM_OUTSIDE: a sum does not fit 64 bits. OOP_ROW_OUTSIDE: the table has no
   such key column, or no such groups. Without OOP_OK nothing was made. */
int oop_give_results(const oop_table *table, const oop_result *columns, int32_t count, int64_t first, int64_t n,
                     struct ArrowArray *out);

/* Fills such columns in memory of the caller, which has for each n values and as many bits. nulls[i] is how many of column
   i are null. */
int oop_fill_results(const oop_table *table, const oop_result *columns, int32_t count, int64_t first, int64_t n,
                     void *const *values, uint8_t *const *bits, int64_t *nulls);

#endif
