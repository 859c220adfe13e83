/* The rows of a group as a heap, and values as its keys: shared by pushing rows one by one and pushing them sorted. */
#ifndef OOP_HEAP_H
#define OOP_HEAP_H

#include <math.h>
#include <stdint.h>

#include "buffers.h"
#include "keys.h"

static inline int is_before(oop_waiting a, oop_waiting b) {
    return ((unsigned __int128)a.key << 64 | (uint64_t)a.place) < ((unsigned __int128)b.key << 64 | (uint64_t)b.place);
}

static inline int64_t least_of(int64_t a, int64_t b) { return a < b ? a : b; }

static inline int64_t greatest_of(int64_t a, int64_t b) { return a > b ? a : b; }

static inline void fill_keys(const void *values, int64_t n, int64_t kind, uint64_t *keys) {
    const uint64_t nan = kind == OOP_FLOATS_NAN_FIRST ? 0 : UINT64_MAX;
    if (kind == OOP_INTS)
        for (int64_t i = 0; i < n; i++) keys[i] = key_of_int(((const int64_t *)values)[i]);
    else
        for (int64_t i = 0; i < n; i++) keys[i] = key_of_float(((const double *)values)[i], nan);
}

/* A buffer that is not full bounds nothing, and neither does a NaN: the least key stands for both. */
static inline void put_bound(void *bounds, int64_t i, int64_t kind, uint64_t key) {
    if (kind == OOP_INTS)
        ((int64_t *)bounds)[i] = int_of_key(key);
    else
        ((double *)bounds)[i] = key ? float_of_key(key) : -INFINITY;
}

/* Replaces the least row. The path of least children is followed to its end, and the new row moves up from there,
   mostly not far: it is rarely less than many. */
static inline void replace_least(oop_waiting *heap, int64_t held, oop_waiting row) {
    int64_t at = 0, child;
    for (; (child = 2 * at + 2) < held; at = child) {
        child -= is_before(heap[child - 1], heap[child]);
        heap[at] = heap[child];
    }
    if (child == held) {
        heap[at] = heap[child - 1];
        at = child - 1;
    }
    for (; at > 0 && is_before(row, heap[(at - 1) / 2]); at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
    heap[at] = row;
}

static inline void sort_buffer(oop_waiting *heap, oop_buffer *buffer) {
    if (buffer->sorted || buffer->held < 2) return;
    for (int64_t left = (int64_t)buffer->held - 1; left > 0; left--) {
        const oop_waiting least = heap[0];
        replace_least(heap, left, heap[left]);
        heap[left] = least;
    }
    for (int64_t i = 0, j = (int64_t)buffer->held - 1; i < j; i++, j--) {
        const oop_waiting swap = heap[i];
        heap[i] = heap[j];
        heap[j] = swap;
    }
    buffer->sorted = 1;
}

/* Pushes a row; returns the place of the row that leaves, or -1. The buffer must have room. */
static inline int64_t push_row(oop_waiting *heap, oop_buffer *buffer, int64_t most, oop_waiting row) {
    if (buffer->held < most) {
        int64_t at = buffer->held++;
        buffer->sorted = !at || (buffer->sorted && !is_before(row, heap[at - 1]));
        for (; at > 0 && is_before(row, heap[(at - 1) / 2]); at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
        heap[at] = row;
        return -1;
    }
    if (!most || row.key < heap[0].key) return row.place;
    const int64_t place = heap[0].place;
    replace_least(heap, most, row);
    buffer->sorted = most < 2;
    return place;
}

static inline int check_ids(const oop_buffers *all, const int64_t *ids, int64_t n) {
    uint64_t most = 0;
    for (int64_t i = 0; ids && i < n; i++) most = (uint64_t)ids[i] > most ? (uint64_t)ids[i] : most;
    return n && most >= (uint64_t)all->size ? OOP_ID_OUTSIDE : OOP_OK;
}

#endif
