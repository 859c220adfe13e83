/* Merges sorted runs. */
#ifndef OOP_RUNS_H
#define OOP_RUNS_H

#include <stdint.h>

#include "status.h"

/* Matches between the first rows of the runs that are not in the order yet. There are two arrays, because pairs would
   be moved as vectors, which wait for halves that were written just before. */
typedef struct {
    int64_t leaves; /* a power of two, no less than the runs */
    uint64_t *keys; /* room for two for each leaf */
    uint64_t *runs; /* room for two for each leaf: the run, plus `leaves` once it is used up */
} oop_losers;

/* Run r is values[starts[r]..starts[r + 1]), ascending; the runs together are the n values. order gets the rows of the
   stable merge; next has room for a number for each run. OOP_ROW_OUTSIDE: the starts do not ascend from 0 to n.
   OOP_NOT_SORTED: a run does not ascend. */
int oop_merge_runs_int(const int64_t *values, int64_t n, const int64_t *starts, int64_t runs, oop_losers tree,
                       int64_t *next, int64_t *order);
/* NaN is greater than every number, and the two zeros are equal. */
int oop_merge_runs_float(const double *values, int64_t n, const int64_t *starts, int64_t runs, oop_losers tree,
                         int64_t *next, int64_t *order);

#endif
