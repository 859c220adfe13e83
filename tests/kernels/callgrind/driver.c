/* Calls kernels on fixed inputs, each call once. callgrind counts in functions called oop_something alone, and writes
   down what it has counted at every end_call; measure.py puts the names that are printed beside that. Here are the
   inputs, and the kernels that ask a source's rows about their time; the other kernels are called in call_*.c. */
#include <stdio.h>
#include <stdlib.h>

#include "driver.h"
#include "groups.h"
#include "late.h"
#include "ring.h"
#include "windows.h"

void end_call(const char *name, int code) {
    printf("%d %s\n", ROWS, name);
    if (code == OOP_OK) return;
    fprintf(stderr, "%s returned %d\n", name, code);
    exit(1);
}

static uint64_t state = 1;

int64_t below(int64_t limit) { /* Knuth's MMIX generator, of which the high bits are good */
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)limit);
}

void *room(int64_t places, size_t width) {
    size_t bytes = ((size_t)places * width + 64) & ~(size_t)63;
    char *made = aligned_alloc(64, bytes);
    if (!made) abort();
    for (size_t i = 0; i < bytes; i++) made[i] = 0;
    return made;
}

int64_t *numbers(int64_t limit) {
    int64_t *made = room(ROWS, sizeof *made);
    for (int64_t i = 0; i < ROWS; i++) made[i] = below(limit);
    return made;
}

double *reals(double scale) {
    double *made = room(ROWS, sizeof *made);
    for (int64_t i = 0; i < ROWS; i++) made[i] = (double)below(2000000) * scale - scale * 1e6;
    return made;
}

uint8_t *some_valid(void) { /* nine of ten */
    uint8_t *made = room(ROWS, 1);
    for (int64_t i = 0; i < ROWS; i++) made[i] = below(10) != 0;
    return made;
}

/* A stream's times: ascending, but shaken by up to 50. */
static int64_t *shaken_times(void) {
    int64_t *made = room(ROWS, sizeof *made);
    for (int64_t i = 0; i < ROWS; i++) made[i] = 1600000000000 + 7 * i - below(50);
    return made;
}

void fill_pair(oop_column *pair, int32_t width, const int64_t *keys) {
    for (int c = 0; c < 2; c++) {
        char *data = room(ROWS, (size_t)width);
        for (int64_t i = 0; i < ROWS; i++) {
            int64_t value = c ? keys[i] % 70 : keys[i] / 70 - 20;
            if (width == 4)
                ((int32_t *)data)[i] = (int32_t)value;
            else
                ((int64_t *)data)[i] = value * 1000003;
        }
        pair[c] = (oop_column){.data = data, .width = width};
    }
}

static void run_windows(const int64_t *times, const double *real_times) {
    const int64_t most = INT64_MAX / 4;
    int64_t *first = room(ROWS, 8), *last = room(ROWS, 8), bad;
    end_call("wid_ranges_int tumbling", oop_wid_ranges_int(times, ROWS, 60, 60, 0, -most, most, last, last, &bad));
    end_call("wid_ranges_int sliding", oop_wid_ranges_int(times, ROWS, 60, 20, 0, -most, most, first, last, &bad));
    end_call("wid_ranges_int uneven", oop_wid_ranges_int(times, ROWS, 60, 25, 0, -most, most, first, last, &bad));
    end_call("wid_ranges_float tumbling",
             oop_wid_ranges_float(real_times, ROWS, 2.5, 2.5, 0.5, 1e9, first, last, &bad));
    end_call("wid_ranges_float sliding", oop_wid_ranges_float(real_times, ROWS, 10, 2.5, 0.5, 1e9, first, last, &bad));
}

static void run_late(const int64_t *times, const double *real_times) {
    int64_t greatest = 0, held = 0, *bounds = room(ROWS, 8), *heap = room(101, 8), *by = room(GROUPS, 8);
    double real_greatest = 0, *real_bounds = room(ROWS, 8);
    uint8_t *marks = room(ROWS, 1), *seen_by = room(GROUPS, 1);
    int seen = 0, late;
    const int64_t *groups = numbers(GROUPS);
    end_call("scan_times_int", oop_scan_times_int(times, ROWS, 50, &greatest, &seen, &late));
    seen = 0;
    end_call("scan_times_float", oop_scan_times_float(real_times, ROWS, 0.5, &real_greatest, &seen, &late));
    seen = 0;
    end_call("prefix_bounds_float", oop_prefix_bounds_float(real_times, ROWS, 0.5, &real_greatest, &seen, real_bounds));
    seen = 0;
    end_call("prefix_bounds_int", oop_prefix_bounds_int(times, ROWS, 20, &greatest, &seen, bounds));
    end_call("find_late_int", oop_find_late_int(times, bounds, ROWS, marks));
    end_call("find_late_float", oop_find_late_float(real_times, real_bounds, ROWS, marks));
    end_call("find_late_all_int", oop_find_late_all_int(times, ROWS, times[ROWS / 2], 0, marks));
    end_call("prefix_bounds_rows_int", oop_prefix_bounds_rows_int(times, ROWS, 100, heap, &held, bounds));
    end_call("prefix_bounds_by_int", oop_prefix_bounds_by_int(times, groups, ROWS, GROUPS, 20, by, seen_by, bounds));
}

/* Without its thread: how often that looks at the clock is for the clock to say. Draining is a memcpy, of which there
   is one for each machine: it is called, and its count is not taken. So this comes last. */
static void run_ring(void) {
    const oop_packets packets = {.rate = 3000000, .rows = ROWS, .groups = GROUPS, .seed = 1};
    oop_ring *ring = oop_new_ring(&packets, ROWS);
    oop_ring_counts counts;
    end_call("offer_rows", ring ? oop_offer_rows(ring, ROWS) : OOP_FULL);
    if (oop_drain_ring(ring, oop_ring_waiting(ring), room(ROWS, 20)) != ROWS) exit(1);
    oop_forget_pauses(ring);
    oop_count_ring(ring, &counts);
    oop_free_ring(ring);
}

int main(void) {
    const int64_t *times = shaken_times();
    double *real_times = room(ROWS, sizeof *real_times);
    for (int64_t i = 0; i < ROWS; i++) real_times[i] = (double)(times[i] - times[0]) * 0.1;
    run_windows(times, real_times);
    run_late(times, real_times);
    run_groups();
    run_rows();
    run_aggregates();
    run_joins(times, real_times);
    run_repeats(times, real_times);
    run_sessions();
    run_buffers(times, real_times);
    run_runs(times);
    run_flush();
    run_programs(times);
    run_ring();
    return 0;
}
