/* Sorted runs into one. */
#ifndef OOP_RUNS_H
#define OOP_RUNS_H

#include <stdint.h>

#include "status.h"

/* The first row of a run that is not in the order yet. */
typedef struct {
    uint64_t key;
    uint64_t run; /* that, and the number of leaves once the run is used up */
} oop_first;

/* Run r is values[starts[r]..starts[r + 1]), ascending; all of them are the n values. order is the stable merge, as
   rows. `leaves` is a power of two, no less than the runs; there is room for 2 * leaves firsts, and of next for the
   runs. OOP_ROW_OUTSIDE: the starts do not go from 0 to n; OOP_NOT_SORTED: a run does not ascend. */
int oop_merge_runs_int(const int64_t *values, int64_t n, const int64_t *starts, int64_t runs, int64_t leaves,
                       oop_first *tree, int64_t *next, int64_t *order);
/* NaN is greater than every number, and the two zeros are equal. */
int oop_merge_runs_float(const double *values, int64_t n, const int64_t *starts, int64_t runs, int64_t leaves,
                         oop_first *tree, int64_t *next, int64_t *order);

#endif
