/* Update and merge of counts, means and spreads; rows and groups are as in aggregates.h. */
#ifndef OOP_MOMENTS_H
#define OOP_MOMENTS_H

#include <stdint.h>

#include "status.h"

/* Counts, means and squared distances from the mean, of partials that have all three (Chan). If m2_in and counts_in are
   NULL, the means_in are plain values. scratch has 4 * size doubles, zeroed; touched has room for n numbers. */
int oop_merge_moments(const int64_t *ids, const int64_t *counts_in, const double *means_in, const double *m2_in,
                      const uint8_t *valid, int64_t n, int64_t size, double *scratch, int64_t *touched,
                      int64_t *counts, double *means, double *m2);

#endif
