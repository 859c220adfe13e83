/* Sorted runs into one. */
#ifndef OOP_RUNS_H
#define OOP_RUNS_H

#include <stdint.h>

#include "status.h"

/* The first rows of runs that are not in the order yet, in matches. In two arrays: pairs would be moved as vectors, and
   wait for what was written just before. */
typedef struct {
    int64_t leaves; /* a power of two, no less than the runs */
    uint64_t *keys; /* room for two for each leaf */
    uint64_t *runs; /* and here: the run, and `leaves` more once it is used up */
} oop_losers;

/* Run r is values[starts[r]..starts[r + 1]), ascending; all of them are the n values. order is the stable merge, as
   rows; next has room for the runs. OOP_ROW_OUTSIDE: the starts do not go from 0 to n; OOP_NOT_SORTED: a run does not
   ascend. */
int oop_merge_runs_int(const int64_t *values, int64_t n, const int64_t *starts, int64_t runs, oop_losers tree,
                       int64_t *next, int64_t *order);
/* NaN is greater than every number, and the two zeros are equal. */
int oop_merge_runs_float(const double *values, int64_t n, const int64_t *starts, int64_t runs, oop_losers tree,
                         int64_t *next, int64_t *order);

#endif
