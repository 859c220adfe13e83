#include "ring.h"

#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hash.h"

#define LINE 128 /* bytes: two lines of the cache, which are fetched together; only one thread writes to them */
#define PAGE 4096
#define BURST 512 /* rows after which the drainer can see them */
/* The producer naps between rows. Waking up costs as much as a thousand rows, so it does that seldom. But during a nap
   no more than a share of the ring should fill, as far as the shortest nap allows. When no row is due for long, the
   longest nap is how long a stop may take. */
#define SHARE 64
#define SHORTEST_NAP 50000 /* ns */
#define NAP 500000
#define LONGEST_NAP 10000000
#define SECOND 1000000000
#define MICROS 1000000
#define GOLDEN 0x9E3779B97F4A7C15u
#define LEAST_LENGTH 40
#define LENGTHS 1460
#define DST_BITS 9

enum { IDLE, STARTING, RUNNING, JOINED }; /* the states of a producer */

typedef struct {
    int64_t *ts;
    int32_t *src, *dst, *len;
} columns;

/* Each count has one writer, so loads and stores are enough; other threads only look at it. */
typedef _Atomic int64_t count;

struct oop_ring {
    oop_packets packets;
    int64_t slots;
    columns rows;
    void *memory;
    pthread_t producer;
    pid_t process; /* in which the producer runs */
    _Atomic int state;
    _Atomic int stopping;
    alignas(LINE) count written; /* only the producer writes from here on */
    count dropped, greatest_fill, behind, producer_cpu;
    _Atomic int ended;
    alignas(LINE) count drained; /* only the drainer writes from here on */
    _Atomic int busy;
    count drainer_cpu, longest_cpu, longest_cpu_at, longest, longest_at, pauses[OOP_PAUSE_STEPS], parts[OOP_WINDOW_PARTS];
    pthread_t drainer;
    int64_t last_cpu, last; /* when it last drained, by the two clocks; last_cpu is -1 before */
    int64_t last_at;        /* the time of the last row that it drained */
};

static int64_t peek(count *counted) { return atomic_load_explicit(counted, memory_order_relaxed); }

static void set(count *counted, int64_t value) { atomic_store_explicit(counted, value, memory_order_relaxed); }

static int64_t least_of(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t look_at(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

/* Row i is due i / rate seconds after the start. The result is in parts of a second, rounded down. */
static int64_t due_time(int64_t row, int64_t rate, int64_t parts) {
    return row / rate * parts + row % rate * parts / rate;
}

static int64_t due_rows(int64_t elapsed, int64_t rate) {
    return elapsed / SECOND * rate + elapsed % SECOND * rate / SECOND + 1;
}

static void make_rows(const oop_packets *packets, int64_t first, int64_t n, columns to) {
    const int64_t rate = packets->rate, step = MICROS / rate, more = MICROS % rate;
    const uint64_t groups = (uint64_t)packets->groups;
    int64_t ts = due_time(first, rate, MICROS), rest = first % rate * MICROS % rate;
    uint64_t word = mix_word(packets->seed) + (uint64_t)first * GOLDEN;
    for (int64_t i = 0; i < n; i++, word += GOLDEN) {
        const uint64_t drawn = mix_word(word);
        const uint32_t group = (uint32_t)((drawn >> 32) * groups >> 32);
        to.ts[i] = ts;
        to.src[i] = (int32_t)(group >> DST_BITS);
        to.dst[i] = (int32_t)(group & ((1u << DST_BITS) - 1));
        to.len[i] = LEAST_LENGTH + (int32_t)((drawn & UINT32_MAX) * LENGTHS >> 32);
        rest += more;
        ts += step + (rest >= rate);
        rest -= rest >= rate ? rate : 0;
    }
}

static columns from(columns rows, int64_t place) {
    return (columns){rows.ts + place, rows.src + place, rows.dst + place, rows.len + place};
}

static void offer(oop_ring *ring, int64_t due) {
    int64_t written = peek(&ring->written), dropped = peek(&ring->dropped);
    while (written + dropped < due && !atomic_load_explicit(&ring->stopping, memory_order_relaxed)) {
        const int64_t next = written + dropped, wanted = least_of(due - next, BURST);
        const int64_t fill = written - atomic_load_explicit(&ring->drained, memory_order_acquire);
        const int64_t n = least_of(wanted, ring->slots - fill), place = written % ring->slots;
        const int64_t before = least_of(n, ring->slots - place); /* rows up to the end of the memory */
        make_rows(&ring->packets, next, before, from(ring->rows, place));
        make_rows(&ring->packets, next + before, n - before, ring->rows);
        written += n, dropped += wanted - n;
        if (fill + n > peek(&ring->greatest_fill)) set(&ring->greatest_fill, fill + n);
        set(&ring->dropped, dropped);
        atomic_store_explicit(&ring->written, written, memory_order_release);
    }
}

static void nap(int64_t ns) {
    const struct timespec span = {ns / SECOND, ns % SECOND};
    nanosleep(&span, NULL); /* a nap that is cut short does no harm */
}

static void *produce(void *given) {
    oop_ring *ring = given;
    const int64_t rate = ring->packets.rate, rows = ring->packets.rows, start = look_at(CLOCK_MONOTONIC);
    const int64_t share = due_time(ring->slots / SHARE, rate, SECOND);
    const int64_t least = share < SHORTEST_NAP ? SHORTEST_NAP : least_of(share, NAP);
    int64_t next = 0;
    while (next < rows && !atomic_load_explicit(&ring->stopping, memory_order_relaxed)) {
        const int64_t elapsed = look_at(CLOCK_MONOTONIC) - start, due = due_time(next, rate, SECOND);
        if (elapsed >= due) {
            if (elapsed - due > peek(&ring->behind)) set(&ring->behind, elapsed - due);
            offer(ring, least_of(rows, due_rows(elapsed, rate)));
            next = peek(&ring->written) + peek(&ring->dropped);
        }
        set(&ring->producer_cpu, look_at(CLOCK_THREAD_CPUTIME_ID));
        if (next == rows) break;
        const int64_t left = due_time(next, rate, SECOND) - (look_at(CLOCK_MONOTONIC) - start);
        nap(left < least ? least : least_of(left, LONGEST_NAP));
    }
    atomic_store_explicit(&ring->ended, 1, memory_order_release);
    return NULL;
}

oop_ring *oop_new_ring(const oop_packets *packets, int64_t slots) {
    oop_ring *ring = aligned_alloc(LINE, sizeof *ring);
    const size_t room = ((size_t)slots + 31) / 32 * 32; /* so that every column begins with a line */
    uint8_t *memory = ring ? aligned_alloc(LINE, room * 20) : NULL;
    if (!memory) {
        free(ring);
        return NULL;
    }
    memset(ring, 0, sizeof *ring);
    for (size_t byte = 0; byte < room * 20; byte += PAGE) memory[byte] = 0;
    ring->packets = *packets;
    ring->slots = slots;
    ring->memory = memory;
    ring->rows.ts = (int64_t *)memory;
    ring->rows.src = (int32_t *)(memory + room * 8);
    ring->rows.dst = ring->rows.src + room;
    ring->rows.len = ring->rows.dst + room;
    ring->last_cpu = -1;
    return ring;
}

static void stop(oop_ring *ring) {
    int running = RUNNING;
    atomic_store(&ring->stopping, 1);
    if (atomic_compare_exchange_strong(&ring->state, &running, JOINED)) {
        /* after a fork there is no such thread */
        if (ring->process == getpid()) pthread_join(ring->producer, NULL);
    } else if (running != IDLE) {
        return; /* another thread is starting it, or has stopped it */
    }
    atomic_store(&ring->ended, 1);
}

void oop_free_ring(oop_ring *ring) {
    stop(ring);
    free(ring->memory);
    free(ring);
}

int oop_start_ring(oop_ring *ring) {
    int idle = IDLE;
    if (peek(&ring->written) + peek(&ring->dropped) || atomic_load(&ring->stopping)) return OOP_RING_USED;
    if (!atomic_compare_exchange_strong(&ring->state, &idle, STARTING)) return OOP_RING_USED;
    sigset_t all, before;
    sigfillset(&all); /* signals are for the interpreter's threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    ring->process = getpid();
    const int failed = pthread_create(&ring->producer, NULL, produce, ring);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    atomic_store(&ring->state, failed ? IDLE : RUNNING);
    if (failed && atomic_load(&ring->stopping)) atomic_store(&ring->ended, 1); /* a stop meanwhile left this to us */
    return failed ? OOP_RING_NO_THREAD : OOP_OK;
}

int oop_stop_ring(oop_ring *ring) {
    stop(ring);
    return OOP_OK;
}

int oop_offer_rows(oop_ring *ring, int64_t due) {
    if (atomic_load(&ring->state) != IDLE) return OOP_RING_USED;
    offer(ring, least_of(due, ring->packets.rows));
    if (peek(&ring->written) + peek(&ring->dropped) == ring->packets.rows) atomic_store(&ring->ended, 1);
    return OOP_OK;
}

/* Is this process a fork of the producer's? Then there is no producer here, and no row would ever come. */
static int is_elsewhere(oop_ring *ring) {
    const int state = atomic_load(&ring->state); /* the process is not set before it runs */
    return (state == RUNNING || state == JOINED) && ring->process != getpid();
}

int64_t oop_ring_waiting(oop_ring *ring) {
    if (is_elsewhere(ring)) return -OOP_RING_ELSEWHERE;
    const int last = atomic_load_explicit(&ring->ended, memory_order_acquire); /* read first: rows precede the end */
    const int64_t drained = atomic_load_explicit(&ring->drained, memory_order_acquire);
    const int64_t waiting = atomic_load_explicit(&ring->written, memory_order_acquire) - drained;
    return last && !waiting ? -1 : waiting;
}

static int step_of(int64_t ns) {
    return ns < 1 ? 0 : (int)least_of(63 - __builtin_clzll((uint64_t)ns), OOP_PAUSE_STEPS - 1);
}

/* Notes how long the draining thread was away, in its CPU time and by the clock. A time between drains of different
   threads would say nothing. */
static void note_pause(oop_ring *ring) {
    const int64_t cpu = look_at(CLOCK_THREAD_CPUTIME_ID), now = look_at(CLOCK_MONOTONIC);
    if (ring->last_cpu >= 0 && pthread_equal(ring->drainer, pthread_self())) {
        const int64_t used = cpu - ring->last_cpu, passed = now - ring->last;
        count *step = &ring->pauses[step_of(used)];
        set(step, peek(step) + 1);
        set(&ring->drainer_cpu, peek(&ring->drainer_cpu) + used);
        if (used > peek(&ring->longest_cpu)) {
            set(&ring->longest_cpu, used);
            set(&ring->longest_cpu_at, ring->last_at);
        }
        const int64_t window = ring->packets.window;
        count *part = &ring->parts[window ? ring->last_at % window * OOP_WINDOW_PARTS / window : 0];
        if (used > peek(part)) set(part, used);
        if (passed > peek(&ring->longest)) {
            set(&ring->longest, passed);
            set(&ring->longest_at, ring->last_at);
        }
    }
    ring->drainer = pthread_self();
    ring->last_cpu = cpu, ring->last = now;
}

static void copy_rows(columns to, columns rows, int64_t n) {
    memcpy(to.ts, rows.ts, (size_t)n * sizeof *to.ts);
    memcpy(to.src, rows.src, (size_t)n * sizeof *to.src);
    memcpy(to.dst, rows.dst, (size_t)n * sizeof *to.dst);
    memcpy(to.len, rows.len, (size_t)n * sizeof *to.len);
}

int64_t oop_drain_ring(oop_ring *ring, int64_t most, uint8_t *into) {
    if (is_elsewhere(ring)) return -OOP_RING_ELSEWHERE;
    if (atomic_exchange_explicit(&ring->busy, 1, memory_order_acquire)) return -OOP_RING_BUSY;
    note_pause(ring);
    const int64_t drained = peek(&ring->drained), room = (most + 15) / 16 * 16;
    const int64_t n = least_of(most, atomic_load_explicit(&ring->written, memory_order_acquire) - drained);
    const int64_t place = drained % ring->slots, before = least_of(n, ring->slots - place);
    int32_t *narrow = (int32_t *)(into + room * 8);
    const columns to = {(int64_t *)into, narrow, narrow + room, narrow + 2 * room};
    copy_rows(to, from(ring->rows, place), before);
    copy_rows(from(to, before), ring->rows, n - before);
    if (n) ring->last_at = to.ts[n - 1];
    atomic_store_explicit(&ring->drained, drained + n, memory_order_release);
    atomic_store_explicit(&ring->busy, 0, memory_order_release);
    return n;
}

void oop_forget_pauses(oop_ring *ring) {
    count *counted[] = {&ring->drainer_cpu, &ring->longest_cpu, &ring->longest_cpu_at, &ring->longest, &ring->longest_at};
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) set(counted[i], 0);
    for (int i = 0; i < OOP_PAUSE_STEPS; i++) set(&ring->pauses[i], 0);
    for (int i = 0; i < OOP_WINDOW_PARTS; i++) set(&ring->parts[i], 0);
}

void oop_count_ring(oop_ring *ring, oop_ring_counts *counts) {
    /* read before `written`, so that it is never more */
    counts->drained = atomic_load_explicit(&ring->drained, memory_order_acquire);
    counts->written = atomic_load_explicit(&ring->written, memory_order_acquire);
    counts->dropped = peek(&ring->dropped);
    counts->greatest_fill = peek(&ring->greatest_fill);
    counts->behind = peek(&ring->behind);
    counts->producer_cpu = peek(&ring->producer_cpu);
    counts->drainer_cpu = peek(&ring->drainer_cpu);
    counts->longest_cpu = peek(&ring->longest_cpu);
    counts->longest_cpu_at = peek(&ring->longest_cpu_at);
    counts->longest = peek(&ring->longest);
    counts->longest_at = peek(&ring->longest_at);
    for (int i = 0; i < OOP_PAUSE_STEPS; i++) counts->pauses[i] = peek(&ring->pauses[i]);
    for (int i = 0; i < OOP_WINDOW_PARTS; i++) counts->parts[i] = peek(&ring->parts[i]);
}
