#include "aggregates.h"

#include <math.h>

#include "by_group.h"

int oop_add_count(const int64_t *ids, const uint8_t *valid, int64_t n, int64_t size, int64_t *counts) {
    FOR_ROWS(valid, 1, ASK_COUNT, counts[g]++;)
    return OOP_OK;
}

int oop_merge_count(const int64_t *ids, const int64_t *counts_in, int64_t n, int64_t size, int64_t *counts) {
    FOR_ROWS(counts_in, 1, ASK_COUNT, counts[g] += counts_in[i];)
    return OOP_OK;
}

int oop_add_sum_float(const int64_t *ids, const double *values, const uint8_t *valid, int64_t n, int64_t size,
                      double *sums, int64_t *counts) {
    FOR_ROWS(valid, 2, ASK_TWO(sums), sums[g] += values[i]; counts[g]++;)
    return OOP_OK;
}

int oop_merge_sum_float(const int64_t *ids, const double *sums_in, const int64_t *counts_in, int64_t n, int64_t size,
                        double *sums, int64_t *counts) {
    FOR_ROWS(counts_in, 2, ASK_TWO(sums), sums[g] += sums_in[i]; counts[g] += counts_in[i];)
    return OOP_OK;
}

#define LESS(a, b) ((a) < (b))
#define GREATER(a, b) ((a) > (b))
/* A minimum replaces a held NaN by any number, and a maximum replaces any number by a NaN that comes. */
#define LESS_FLOAT(a, b) ((a) < (b) || isnan(b))
#define GREATER_FLOAT(a, b) ((a) > (b) || isnan(a))

/* Two loops: over plain values with their validity, and over partials with their counts. */
#define TAKE(NAME, TYPE, BETTER)                                                                               \
    int NAME(const int64_t *ids, const TYPE *values, const uint8_t *valid, const int64_t *counts_in, int64_t n, \
             int64_t size, TYPE *out, int64_t *counts) {                                                       \
        if (counts_in) {                                                                                       \
            FOR_ROWS(counts_in, 2, ASK_TWO(out),                                                               \
                     if (!counts[g] || BETTER(values[i], out[g])) out[g] = values[i];                          \
                     counts[g] += counts_in[i];)                                                               \
        } else {                                                                                               \
            FOR_ROWS(valid, 2, ASK_TWO(out), if (!counts[g] || BETTER(values[i], out[g])) out[g] = values[i];  \
                     counts[g]++;)                                                                             \
        }                                                                                                      \
        return OOP_OK;                                                                                         \
    }

TAKE(oop_take_min_int, int64_t, LESS)
TAKE(oop_take_max_int, int64_t, GREATER)
TAKE(oop_take_min_uint, uint64_t, LESS)
TAKE(oop_take_max_uint, uint64_t, GREATER)
TAKE(oop_take_min_float, double, LESS_FLOAT)
TAKE(oop_take_max_float, double, GREATER_FLOAT)
