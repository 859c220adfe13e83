/* Update and merge of count, exact sum, least and greatest together; rows and groups are as in aggregates.h. */
#ifndef OOP_SUMMARY_H
#define OOP_SUMMARY_H

#include <stdint.h>

#include "status.h"

/* Five words a group, side by side: count, hi and lo of the exact sum (zero where the count is), least and greatest.
   A call takes at most 2**28 rows. */
int oop_add_summary(const int64_t *ids, const int64_t *values, const uint8_t *valid, int64_t n, int64_t size,
                    int64_t *state);
/* state_in has the five words of each partial; its |hi| * n must stay below 2**62. */
int oop_merge_summary(const int64_t *ids, const int64_t *state_in, int64_t n, int64_t size, int64_t *state);

#endif
