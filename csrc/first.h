/* The value of one column at the least or the greatest value of another; rows and groups are as in aggregates.h. */
#ifndef OOP_FIRST_H
#define OOP_FIRST_H

#include <stdint.h>

#include "status.h"

/* A group has three words, side by side: what is held (0: nothing, 1: a null, 2: a value), its by, and the value (0 for
   a null). First holds the value with the least by, last the one with the greatest; in a tie the least or greatest
   value, and a null only if there is no value. known says which rows have a by (NULL: all); others are passed over. */
int oop_take_first(const int64_t *ids, const int64_t *by, const uint8_t *known, const int64_t *values,
                   const uint8_t *valid, int64_t n, int64_t size, int64_t *state);
int oop_take_last(const int64_t *ids, const int64_t *by, const uint8_t *known, const int64_t *values,
                  const uint8_t *valid, int64_t n, int64_t size, int64_t *state);
/* state_in has the three words of each partial. */
int oop_merge_first(const int64_t *ids, const int64_t *state_in, int64_t n, int64_t size, int64_t *state);
int oop_merge_last(const int64_t *ids, const int64_t *state_in, int64_t n, int64_t size, int64_t *state);

#endif
