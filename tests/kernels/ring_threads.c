/* A ring with its threads, for sanitizers: nothing here is Python's. Exits with 0 if every row is as it should be. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring.h"

#define CHECK(holds)                                                \
    do {                                                            \
        if (!(holds)) {                                             \
            fprintf(stderr, "line %d: not %s\n", __LINE__, #holds); \
            exit(1);                                                \
        }                                                           \
    } while (0)

enum { MOST = 100, BLOCK = 112 * 20 };

static const oop_packets FAST = {.rate = 1000000, .rows = 20000, .groups = 3000, .seed = 5};

static uint8_t *wanted; /* all rows, by their numbers */

static void make_wanted(void) {
    oop_ring *ring = oop_new_ring(&FAST, FAST.rows);
    wanted = malloc(20 * FAST.rows);
    CHECK(oop_offer_rows(ring, FAST.rows) == OOP_OK);
    CHECK(oop_drain_ring(ring, FAST.rows, wanted) == FAST.rows);
    oop_free_ring(ring);
}

/* The rate is one a microsecond: a row's time is its number. */
static void check_rows(const uint8_t *block, int64_t most, int64_t rows, int64_t *last) {
    const int64_t room = (most + 15) / 16 * 16, *ts = (const int64_t *)block;
    for (int64_t i = 0; i < rows; i++) {
        CHECK(ts[i] > *last && ts[i] < FAST.rows);
        *last = ts[i];
        for (int64_t column = 2; column < 5; column++) {
            const int32_t found = ((const int32_t *)(block + 4 * column * room))[i];
            CHECK(found == ((const int32_t *)(wanted + 4 * column * FAST.rows))[ts[i]]);
        }
    }
}

static void drain_until_end(int64_t slots) {
    oop_ring *ring = oop_new_ring(&FAST, slots);
    CHECK(oop_start_ring(ring) == OOP_OK && oop_start_ring(ring) == OOP_RING_USED);
    int64_t last = -1, taken = 0;
    oop_ring_counts counts;
    for (int64_t turn = 0; oop_ring_waiting(ring) >= 0; turn++) {
        const int64_t most = turn % (MOST + 1);
        uint8_t *block = malloc(BLOCK); /* one by one: nothing may be written behind it */
        const int64_t rows = oop_drain_ring(ring, most, block);
        CHECK(rows >= 0 && rows <= most);
        check_rows(block, most, rows, &last);
        taken += rows;
        free(block);
        oop_count_ring(ring, &counts);
        CHECK(counts.drained == taken && counts.written >= taken && counts.written - taken <= slots);
        CHECK(counts.greatest_fill <= slots);
    }
    oop_count_ring(ring, &counts);
    CHECK(counts.written == taken && counts.written + counts.dropped == FAST.rows);
    CHECK(!counts.dropped || counts.greatest_fill == slots);
    CHECK(oop_stop_ring(ring) == OOP_OK && oop_stop_ring(ring) == OOP_OK);
    oop_free_ring(ring);
}

static void *drain_beside(void *given) {
    oop_ring *ring = given;
    uint8_t block[BLOCK];
    int64_t last = -1, taken = 0;
    while (oop_ring_waiting(ring) >= 0) {
        const int64_t rows = oop_drain_ring(ring, MOST, block);
        CHECK(rows >= 0 || rows == -OOP_RING_BUSY);
        if (rows > 0) check_rows(block, MOST, rows, &last);
        taken += rows > 0 ? rows : 0;
    }
    return (void *)(intptr_t)taken;
}

static void drain_by_two(void) {
    oop_ring *ring = oop_new_ring(&FAST, FAST.rows);
    pthread_t other;
    void *taken;
    oop_ring_counts counts;
    CHECK(oop_start_ring(ring) == OOP_OK && !pthread_create(&other, NULL, drain_beside, ring));
    const int64_t mine = (intptr_t)drain_beside(ring);
    pthread_join(other, &taken);
    oop_count_ring(ring, &counts);
    CHECK(!counts.dropped && mine + (intptr_t)taken == FAST.rows);
    oop_free_ring(ring);
}

static void leave_early(void) {
    const oop_packets endless = {.rate = 1000000, .rows = INT64_MAX, .groups = 1, .seed = 0};
    oop_ring *ring = oop_new_ring(&endless, 7);
    CHECK(oop_start_ring(ring) == OOP_OK && oop_offer_rows(ring, 1) == OOP_RING_USED);
    while (oop_ring_waiting(ring) < 7) continue;
    oop_free_ring(ring); /* its thread still runs */
}

int main(void) {
    make_wanted();
    for (int64_t slots = 1; slots < 8; slots += 3) drain_until_end(slots);
    drain_until_end(1000);
    drain_by_two();
    leave_early();
    free(wanted);
    puts("all as it should be");
    return 0;
}
