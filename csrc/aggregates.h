/* Update and merge of the aggregates. Row i goes into group ids[i]; valid is NULL when no value is null.
   A group whose count is 0 holds nothing yet, whatever its other arrays say. All have n rows and size groups. */
#ifndef OOP_AGGREGATES_H
#define OOP_AGGREGATES_H

#include <stdint.h>

#include "status.h"

int oop_add_count(const int64_t *ids, const uint8_t *valid, int64_t n, int64_t size, int64_t *counts);
int oop_merge_count(const int64_t *ids, const int64_t *counts_in, int64_t n, int64_t size, int64_t *counts);

/* The exact sum of a group is hi * 2**32 + lo, with 0 <= lo < 2**32. At most 2**28 rows a call. */
int oop_add_sum_int(const int64_t *ids, const int64_t *values, const uint8_t *valid, int64_t n, int64_t size,
                    int64_t *hi, int64_t *lo, int64_t *counts);
int oop_add_sum_uint(const int64_t *ids, const uint64_t *values, const uint8_t *valid, int64_t n, int64_t size,
                     int64_t *hi, int64_t *lo, int64_t *counts);
/* Here and in the other merges partials whose count is 0 are passed over. |hi_in| * n must stay below 2**62. */
int oop_merge_sum_int(const int64_t *ids, const int64_t *hi_in, const int64_t *lo_in, const int64_t *counts_in,
                      int64_t n, int64_t size, int64_t *hi, int64_t *lo, int64_t *counts);
/* out[i] = hi[i] * 2**32 + lo[i]; the caller has seen that it fits. */
int oop_join_words(const int64_t *hi, const int64_t *lo, int64_t n, uint64_t *out);

int oop_add_sum_float(const int64_t *ids, const double *values, const uint8_t *valid, int64_t n, int64_t size,
                      double *sums, int64_t *counts);
int oop_merge_sum_float(const int64_t *ids, const double *sums_in, const int64_t *counts_in, int64_t n, int64_t size,
                        double *sums, int64_t *counts);

/* NaN is greater than every number. counts_in NULL: each row that is valid counts once. */
int oop_take_min_int(const int64_t *ids, const int64_t *values, const uint8_t *valid, const int64_t *counts_in,
                     int64_t n, int64_t size, int64_t *out, int64_t *counts);
int oop_take_max_int(const int64_t *ids, const int64_t *values, const uint8_t *valid, const int64_t *counts_in,
                     int64_t n, int64_t size, int64_t *out, int64_t *counts);
int oop_take_min_uint(const int64_t *ids, const uint64_t *values, const uint8_t *valid, const int64_t *counts_in,
                      int64_t n, int64_t size, uint64_t *out, int64_t *counts);
int oop_take_max_uint(const int64_t *ids, const uint64_t *values, const uint8_t *valid, const int64_t *counts_in,
                      int64_t n, int64_t size, uint64_t *out, int64_t *counts);
int oop_take_min_float(const int64_t *ids, const double *values, const uint8_t *valid, const int64_t *counts_in,
                       int64_t n, int64_t size, double *out, int64_t *counts);
int oop_take_max_float(const int64_t *ids, const double *values, const uint8_t *valid, const int64_t *counts_in,
                       int64_t n, int64_t size, double *out, int64_t *counts);

/* Counts, means and squared distances from the mean, of partials that have all three (Chan). m2_in and counts_in NULL:
   the means_in are plain values. scratch: 4 * size doubles, zeroed; touched: n numbers. */
int oop_merge_moments(const int64_t *ids, const int64_t *counts_in, const double *means_in, const double *m2_in,
                      const uint8_t *valid, int64_t n, int64_t size, double *scratch, int64_t *touched,
                      int64_t *counts, double *means, double *m2);

/* Five words a group, side by side: count, hi and lo of the exact sum (zero where the count is), least and greatest.
   At most 2**28 rows a call. */
int oop_add_summary(const int64_t *ids, const int64_t *values, const uint8_t *valid, int64_t n, int64_t size,
                    int64_t *state);
/* state_in has the five words of each partial; its |hi| * n must stay below 2**62. */
int oop_merge_summary(const int64_t *ids, const int64_t *state_in, int64_t n, int64_t size, int64_t *state);

/* Three words a group, side by side: what is held (0: nothing, 1: a null, 2: a value), by what, and the value (0 for a
   null). First holds the value with the least by, last the one with the greatest; in a tie the least or greatest value,
   and a null only if there is no value. known NULL: no by is null; rows without one are passed over. */
int oop_take_first(const int64_t *ids, const int64_t *by, const uint8_t *known, const int64_t *values,
                   const uint8_t *valid, int64_t n, int64_t size, int64_t *state);
int oop_take_last(const int64_t *ids, const int64_t *by, const uint8_t *known, const int64_t *values,
                  const uint8_t *valid, int64_t n, int64_t size, int64_t *state);
/* state_in has the three words of each partial. */
int oop_merge_first(const int64_t *ids, const int64_t *state_in, int64_t n, int64_t size, int64_t *state);
int oop_merge_last(const int64_t *ids, const int64_t *state_in, int64_t n, int64_t size, int64_t *state);

#endif
