/* Rows by shard, and picking rows. */
#ifndef OOP_PARTITION_H
#define OOP_PARTITION_H

#include <stdint.h>

#include "groups.h"
#include "status.h"

/* The shard of every row: a fixed hash of its key, scaled to the shards. is_signed[c]: widen column c by its sign. */
int oop_hash_partition(const oop_column *columns, const int32_t *is_signed, int32_t width, int64_t n, int64_t shards,
                       int32_t *out);

/* A column of rows, of a width of 1, 2, 4 or 8 bytes, and for each shard where its values go. */
typedef struct {
    const void *values;
    void **outs;
    int64_t width;
} oop_payload;

/* Appends the rows of each shard s, as oop_hash_partition has them, in order to its outs, behind the ends[s] values
   that are there already, and updates ends. Every out has room for `room` values. OOP_FULL: they do not fit. */
int oop_exchange_rows(const oop_column *columns, const int32_t *is_signed, int32_t width, int64_t n, int64_t shards,
                      const oop_payload *payload, int32_t payloads, int64_t room, int64_t *ends);

/* out[i] = values[rows[i]]. There are limit values, of a width of 1, 2, 4 or 8 bytes each. */
int oop_take_fixed(const void *values, int64_t width, int64_t limit, const int64_t *rows, int64_t n, void *out);

/* The same, and values that were taken are zeros from then on. A repeated row number gets a zero. */
int oop_take_out(void *values, int64_t width, int64_t limit, const int64_t *rows, int64_t n, void *out);

#endif
