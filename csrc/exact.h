/* Exact sums of integers: the sum is hi * 2**32 + lo, with 0 <= lo < 2**32. */
#ifndef OOP_EXACT_H
#define OOP_EXACT_H

#include <stdint.h>

#include "status.h"

#define LOW_BITS 0xFFFFFFFF
#define HIGH_LIMIT ((int64_t)1 << 61)

/* Checks that every group that was touched is within the limit. This second pass over the rows is made only if a sum
   was beyond the limit on the way. The hi of one group is width words after that of the group before. */
static inline int check_sums(const int64_t *ids, int64_t n, const int64_t *hi, int64_t width) {
    for (int64_t i = 0; i < n; i++)
        if (hi[width * ids[i]] > HIGH_LIMIT || hi[width * ids[i]] < -HIGH_LIMIT) return OOP_SUM_OUTSIDE;
    return OOP_OK;
}

#endif
