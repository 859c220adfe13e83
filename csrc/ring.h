/* A fixed-size ring of packets with a producer that writes them at a set rate and waits for nobody, as a network card
   does: rows that find the ring full are lost, and counted. One thread produces, one drains. */
#ifndef OOP_RING_H
#define OOP_RING_H

#include <stdint.h>

#include "status.h"

/* What is produced. Row i depends on these numbers alone, whatever becomes of other rows: its time is
   i * 1,000,000 / rate microseconds, and its group and length come from i and the seed. */
typedef struct {
    int64_t rate;   /* rows a second, 1 to 1,000,000,000 */
    int64_t rows;   /* how many there will be */
    int64_t groups; /* how many there are to draw each row's group from, 1 to 2**31 */
    uint64_t seed;
    int64_t window; /* microseconds, 0: none; pauses are told apart by where in a window they begin */
} oop_packets;

typedef struct oop_ring oop_ring;

/* Codes of its own, beside those of status.h. */
enum {
    OOP_RING_BUSY = 32,      /* another thread drains it */
    OOP_RING_ELSEWHERE = 33, /* its producer runs in the process that this one was forked from */
    OOP_RING_USED = 34,      /* it was started or stopped before */
    OOP_RING_NO_THREAD = 35  /* the system gives no further thread */
};

enum { OOP_PAUSE_STEPS = 40, OOP_WINDOW_PARTS = 16 };

/* Rows that were written or dropped have been produced; those that were written and not drained are in the ring. */
typedef struct {
    int64_t written;
    int64_t dropped;
    int64_t drained;
    int64_t greatest_fill;  /* the most rows in the ring at once; all slots if any row was dropped */
    int64_t behind;         /* the most ns by which a row was written after it was due */
    int64_t producer_cpu;   /* ns of the producer's thread */
    int64_t drainer_cpu;    /* ns of the draining thread between its drains, all together */
    int64_t longest_cpu;    /* the most ns of the draining thread between two drains */
    int64_t longest_cpu_at; /* the time of the last row that it had then */
    int64_t longest;        /* the most ns by the clock between two drains */
    int64_t longest_at;     /* the time of the last row that it had then */
    int64_t pauses[OOP_PAUSE_STEPS]; /* how many pauses took 2**step ns of the thread or more, less than twice that */
    int64_t parts[OOP_WINDOW_PARTS]; /* the longest pause that began in each part of a window, in ns of the thread */
} oop_ring_counts;

/* NULL if there is no memory. All memory is touched here, so that the producer meets no fresh page. */
oop_ring *oop_new_ring(const oop_packets *packets, int64_t slots);

/* Stops the producer first. No other call may be running. */
void oop_free_ring(oop_ring *ring);

/* Starts the producer's thread, once: the first row is due now. OOP_RING_USED or OOP_RING_NO_THREAD. */
int oop_start_ring(oop_ring *ring);

/* Waits until the producer has stopped; what is in the ring stays there. It may be called again, or without a start;
   beside another call that starts or stops the ring it does not wait. */
int oop_stop_ring(oop_ring *ring);

/* Does what the producer does when rows up to number `due` are due. OOP_RING_USED: the ring was started. */
int oop_offer_rows(oop_ring *ring, int64_t due);

/* How many rows are there; -1 if there are none and none will come; -OOP_RING_ELSEWHERE. */
int64_t oop_ring_waiting(oop_ring *ring);

/* Takes up to `most` rows out, and returns how many. `into` has 20 bytes for each of `room` rows, which is `most`
   rounded up to a multiple of 16: first all times (int64), then src, dst and len (int32), each with room for all.
   -OOP_RING_BUSY or -OOP_RING_ELSEWHERE if it cannot. */
int64_t oop_drain_ring(oop_ring *ring, int64_t most, uint8_t *into);

/* Forgets what was counted of pauses. Only the draining thread may call it, between two drains. */
void oop_forget_pauses(oop_ring *ring);

/* Any thread may ask for the counts, at any time. */
void oop_count_ring(oop_ring *ring, oop_ring_counts *counts);

#endif
