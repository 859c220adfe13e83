/* Update and merge of exact sums of integers; rows and groups are as in aggregates.h. */
#ifndef OOP_SUMS_H
#define OOP_SUMS_H

#include <stdint.h>

#include "status.h"

/* The exact sum of a group is hi * 2**32 + lo, with 0 <= lo < 2**32. A call takes at most 2**28 rows. */
int oop_add_sum_int(const int64_t *ids, const int64_t *values, const uint8_t *valid, int64_t n, int64_t size,
                    int64_t *hi, int64_t *lo, int64_t *counts);
int oop_add_sum_uint(const int64_t *ids, const uint64_t *values, const uint8_t *valid, int64_t n, int64_t size,
                     int64_t *hi, int64_t *lo, int64_t *counts);
/* Partials whose count is 0 are passed over. |hi_in| * n must stay below 2**62. */
int oop_merge_sum_int(const int64_t *ids, const int64_t *hi_in, const int64_t *lo_in, const int64_t *counts_in,
                      int64_t n, int64_t size, int64_t *hi, int64_t *lo, int64_t *counts);
/* out[i] = hi[i] * 2**32 + lo[i]; the caller has checked that it fits. */
int oop_join_words(const int64_t *hi, const int64_t *lo, int64_t n, uint64_t *out);

#endif
