/* Slack by rows: the n + 1 greatest times so far, as a heap with the least on top. An ascending array is one already.
   Used by late.c and guards.h. */
#ifndef OOP_RANKS_H
#define OOP_RANKS_H

#include <math.h>
#include <stdint.h>

/* push_ranked: bounds[i] = the (slack_rows + 1)-th greatest time before row i, the least value of the type while there
   are fewer. The heap holds the *held greatest times, and has room for slack_rows + 1. */
#define RANKS(TYPE, LEAST)                                                                                \
    static inline void sift_down_##TYPE(TYPE *heap, int64_t held, int64_t at) {                           \
        TYPE value = heap[at];                                                                            \
        for (int64_t child; (child = 2 * at + 1) < held; at = child) {                                    \
            if (child + 1 < held && heap[child + 1] < heap[child]) child++;                               \
            if (value <= heap[child]) break;                                                              \
            heap[at] = heap[child];                                                                       \
        }                                                                                                 \
        heap[at] = value;                                                                                 \
    }                                                                                                     \
    static inline void push_ranked_##TYPE(const TYPE *times, int64_t n, int64_t slack_rows, TYPE *heap,   \
                                          int64_t *held, TYPE *bounds) {                                  \
        for (int64_t i = 0; i < n; i++) {                                                                 \
            TYPE time = times[i];                                                                         \
            int full = *held > slack_rows;                                                                \
            bounds[i] = full ? heap[0] : (LEAST);                                                         \
            if (time != time) continue;                                                                   \
            if (full) {                                                                                   \
                if (time > heap[0]) {                                                                     \
                    heap[0] = time;                                                                       \
                    sift_down_##TYPE(heap, *held, 0);                                                     \
                }                                                                                         \
                continue;                                                                                 \
            }                                                                                             \
            int64_t at = (*held)++;                                                                       \
            for (; at > 0 && time < heap[(at - 1) / 2]; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2]; \
            heap[at] = time;                                                                              \
        }                                                                                                 \
    }

RANKS(int64_t, INT64_MIN)
RANKS(double, -INFINITY)

#endif
