/* Update and merge of counts, sums of reals, least and greatest values. Row i goes into group ids[i]; valid is NULL if
   no value is null. A group whose count is 0 holds nothing yet, whatever its other arrays say. All kernels take n rows
   and size groups. Merges pass over partials whose count is 0. */
#ifndef OOP_AGGREGATES_H
#define OOP_AGGREGATES_H

#include <stdint.h>

#include "status.h"

int oop_add_count(const int64_t *ids, const uint8_t *valid, int64_t n, int64_t size, int64_t *counts);
int oop_merge_count(const int64_t *ids, const int64_t *counts_in, int64_t n, int64_t size, int64_t *counts);

int oop_add_sum_float(const int64_t *ids, const double *values, const uint8_t *valid, int64_t n, int64_t size,
                      double *sums, int64_t *counts);
int oop_merge_sum_float(const int64_t *ids, const double *sums_in, const int64_t *counts_in, int64_t n, int64_t size,
                        double *sums, int64_t *counts);

/* NaN is greater than every number. If counts_in is NULL, each valid row counts once. */
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

#endif
