/* A fixed-size ring of packets with a producer that writes them at a set rate and waits for nobody, as a network card
   does: what finds the ring full is lost, and counted. One thread produces, one drains. */
#ifndef OOP_RING_H
#define OOP_RING_H

#include <stdint.h>

#include "status.h"

/* What is produced. Row i is the same for the same numbers here, whatever becomes of the others: its time is
   i * 1,000,000 / rate microseconds, its group and length come from i and the seed alone. */
typedef struct {
    int64_t rate;   /* rows a second, 1 to 1,000,000,000 */
    int64_t rows;   /* how many there will be */
    int64_t groups; /* from which each row's is drawn, 1 to 2**31 */
    uint64_t seed;
    int64_t window; /* us, 0: none; pauses are told apart by where in a window they begin */
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
    int64_t greatest_fill;  /* rows in the ring at once, at most; all slots if any was dropped */
    int64_t behind;         /* ns that a row was written after it was due, at most */
    int64_t producer_cpu;   /* ns of the producer's thread */
    int64_t drainer_cpu;    /* ns of the draining thread between its drains, all together */
    int64_t longest_cpu;    /* ns of the draining thread between two drains, at most */
    int64_t longest_cpu_at; /* the time of the last row that it had then */
    int64_t longest;        /* the same by the clock on the wall */
    int64_t longest_at;
    int64_t pauses[OOP_PAUSE_STEPS]; /* how many there were of 2**step ns of the thread and more, less than twice that */
    int64_t parts[OOP_WINDOW_PARTS]; /* the longest, in ns of the thread, of those that began in each part of a window */
} oop_ring_counts;

/* NULL if there is no memory. All of it is touched here: the producer meets no fresh page. */
oop_ring *oop_new_ring(const oop_packets *packets, int64_t slots);

/* Stops the producer first. No other call may be on its way. */
void oop_free_ring(oop_ring *ring);

/* The producer's thread, once: the first row is due now. OOP_RING_USED or OOP_RING_NO_THREAD. */
int oop_start_ring(oop_ring *ring);

/* Waits until the producer has stopped; what is in the ring stays there. May be called again, and without a start. */
int oop_stop_ring(oop_ring *ring);

/* What the producer does when rows up to number `due` are due; for a ring without a thread, else OOP_RING_USED. */
int oop_offer_rows(oop_ring *ring, int64_t due);

/* Rows that are there; -1 if there are none, and none will come; -OOP_RING_ELSEWHERE. */
int64_t oop_ring_waiting(oop_ring *ring);

/* Takes up to `most` rows out, and says how many: into 20 bytes for each of `room` rows, which is `most` rounded up to a
   multiple of 16, first all times (int64), then src, dst and len (int32), each with room for all.
   -OOP_RING_BUSY or -OOP_RING_ELSEWHERE if it cannot. */
int64_t oop_drain_ring(oop_ring *ring, int64_t most, uint8_t *into);

/* What was counted of pauses is forgotten. For the draining thread, between two drains. */
void oop_forget_pauses(oop_ring *ring);

/* Any thread may ask, at any time. */
void oop_count_ring(oop_ring *ring, oop_ring_counts *counts);

#endif
