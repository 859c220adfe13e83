/* Calls the kernels that keep rows back, in buffers, sorted runs, and tables that are flushed when full. */
#include "buffers.h"
#include "driver.h"
#include "flush.h"
#include "groups.h"
#include "runs.h"
#include "words.h"

static oop_buffers new_buffers(int64_t groups, int64_t most) {
    oop_buffers made = {.room = 4 * ROWS, .size = groups, .most = most};
    made.rows = room(made.room, sizeof *made.rows);
    made.buffers = room(groups, sizeof *made.buffers);
    return made;
}

static oop_sorting new_sorting(int64_t *touched, const oop_coming *coming) {
    oop_sorting made = {.chunk = 4096, .widest = coming->widest, .touched = touched, .groups = coming->groups};
    made.parted = room(ROWS, 8);
    made.words = room(made.chunk + 1, 8), made.spare = room(made.chunk + 1, 8), made.part = room(made.chunk + 1, 8);
    made.ranks = room(made.chunk + 1, 4);
    made.merged = room(made.chunk + made.widest, sizeof *made.merged);
    made.present = room((made.chunk + made.widest) / 64 + 2, 8);
    return made;
}

/* Slack 1,000 for one group, within it and beyond it; 1 for each of many. */
void run_buffers(const int64_t *times, const double *real_times) {
    const int64_t *any = numbers(2000000), *few = numbers(4), *groups = numbers(GROUPS);
    int64_t *touched = room(ROWS, 8), *left = room(ROWS, 8), *bounds = room(ROWS, 8), *kept = room(ROWS, 8), count;
    oop_coming coming;
    oop_arriving rows = {.values = times, .n = ROWS, .keys = room(ROWS, 8), .left = left};
    oop_buffers one = new_buffers(1, 1000), four = new_buffers(4, 1000), many = new_buffers(GROUPS, 1);
    end_call("reserve_rows one", oop_reserve_rows(&one, NULL, ROWS, touched, &coming));
    oop_sorting with = new_sorting(touched, &coming);
    end_call("sort_rows within", oop_sort_rows(&one, &rows, &with));
    rows.values = any;
    end_call("sort_rows beyond", oop_sort_rows(&one, &rows, &with));
    rows.values = real_times, rows.kind = OOP_FLOATS_NAN_LAST;
    end_call("sort_rows floats", oop_sort_rows(&one, &rows, &with));
    end_call("compact_rows", oop_compact_rows(&one, room(ROWS, 8), room(ROWS, 8), kept, &count));
    rows.values = times, rows.kind = OOP_INTS, rows.ids = few;
    end_call("reserve_rows few", oop_reserve_rows(&four, few, ROWS, touched, &coming));
    with = new_sorting(touched, &coming);
    end_call("sort_rows few", oop_sort_rows(&four, &rows, &with));
    rows.ids = NULL, rows.left = NULL, rows.bounds = bounds;
    one = new_buffers(1, 1000);
    end_call("reserve_rows bounds", oop_reserve_rows(&one, NULL, ROWS, touched, &coming));
    end_call("sort_rows bounds", oop_sort_rows(&one, &rows, &with));
    end_call("push_rows bounds", oop_push_rows(&one, &rows));
    end_call("list_rows", oop_list_rows(&one, touched, NULL, kept, OOP_INTS, &count));
    rows.ids = groups, rows.left = left, rows.bounds = NULL;
    end_call("reserve_rows many", oop_reserve_rows(&many, groups, ROWS, touched, &coming));
    end_call("push_rows many", oop_push_rows(&many, &rows));
    end_call("take_bounds", oop_take_bounds(&many, groups, ROWS, OOP_INTS, bounds));
}

void run_runs(const int64_t *times) {
    const int64_t runs = 8, each = ROWS / runs;
    int64_t *values = room(ROWS, 8), *starts = room(runs + 1, 8), *next = room(runs, 8), *order = room(ROWS, 8);
    double *reals = room(ROWS, 8);
    const oop_losers tree = {runs, room(2 * runs, 8), room(2 * runs, 8)};
    for (int64_t r = 0; r <= runs; r++) starts[r] = r * each;
    for (int64_t i = 0; i < ROWS; i++) {
        values[i] = (i % each ? values[i - 1] : times[0]) + below(100);
        reals[i] = (double)values[i] * 0.5;
    }
    end_call("merge_runs_int", oop_merge_runs_int(values, ROWS, starts, runs, tree, next, order));
    end_call("merge_runs_float", oop_merge_runs_float(reals, ROWS, starts, runs, tree, next, order));
}

static oop_flush new_flush(int64_t width, int32_t in_order, int64_t every, int32_t next_slot) {
    oop_flush made = {.size = PLACES / 2, .width = width, .places = PLACES / 2 + ROWS, .free = PLACES / 2 + ROWS};
    made.bound = made.current = INT64_MIN;
    made.in_order = in_order, made.every = every, made.next_slot = next_slot;
    made.slots = room(made.size, sizeof *made.slots);
    for (int64_t i = 0; i < made.size; i++) made.slots[i].place = -1;
    made.words = room(made.places * width, 8), made.wids = room(made.places, 8), made.unused = room(made.places, 8);
    for (int64_t i = 0; i < made.places; i++) made.unused[i] = made.places - 1 - i;
    if (!every) return made;
    int64_t *starts = room(10, 8);
    for (int64_t nodes = made.size; nodes > 1 || !made.levels; made.levels++) {
        nodes = (nodes + 15) / 16;
        starts[made.levels + 1] = starts[made.levels] + nodes;
    }
    made.starts = starts, made.least = room(starts[made.levels], 8);
    for (int64_t i = 0; i < starts[made.levels]; i++) made.least[i] = INT64_MAX;
    return made;
}

/* Four windows, of which each finds what the one before it has left. */
void run_flush(void) {
    const int64_t *keys = numbers(KEYS);
    int32_t *slots = room(ROWS, 4), *all_slots = room(PLACES, 4);
    const int32_t places[2] = {0, 0}, shifts[2] = {0, 32}, apart[2] = {0, 1}, none[2] = {0, 0};
    uint64_t *narrow = room(ROWS, 8), *wide = room(2 * ROWS, 8), *holes = room(2 * ROWS, 8);
    int64_t *wids = room(ROWS, 8), *ids = room(ROWS + PLACES, 8), *out = room(ROWS + PLACES, 8), gone;
    for (int64_t i = 0; i < ROWS; i++) {
        wids[i] = 4 * i / ROWS;
        slots[i] = (int32_t)((uint64_t)keys[i] * 0x9E3779B97F4A7C15u >> 51) % (PLACES / 2);
    }
    oop_column pair[2], broad[2];
    fill_pair(pair, 4, keys);
    fill_pair(broad, 8, keys);
    end_call("pack_words narrow", oop_pack_words(pair, places, shifts, 2, ROWS, 1, narrow));
    end_call("pack_words wide", oop_pack_words(broad, apart, none, 2, ROWS, 2, wide));
    pair[0].valid = pair[1].valid = some_valid();
    end_call("pack_words nulls", oop_pack_words(pair, places, shifts, 2, ROWS, 2, holes));
    oop_flush made = new_flush(1, 1, 0, 0);
    end_call("push_flush in order", oop_push_flush(&made, slots, narrow, wids, ROWS, ids, out, &gone));
    end_call("free_places", oop_free_places(&made, out, gone));
    end_call("flush_below in order", oop_flush_below(&made, 0, 1, 0, made.size, out, &gone));
    made = new_flush(1, 1, 0, 1);
    end_call("push_flush in order next", oop_push_flush(&made, slots, narrow, wids, ROWS, ids, out, &gone));
    made = new_flush(1, 0, 0, 0);
    end_call("push_flush lazy", oop_push_flush(&made, slots, narrow, wids, ROWS, ids, out, &gone));
    end_call("flush_below", oop_flush_below(&made, 3, 0, 0, made.size, out, &gone));
    made = new_flush(1, 0, 0, 1);
    end_call("push_flush lazy next", oop_push_flush(&made, slots, narrow, wids, ROWS, ids, out, &gone));
    made = new_flush(2, 0, 0, 0);
    end_call("push_flush wide", oop_push_flush(&made, slots, wide, wids, ROWS, ids, out, &gone));
    end_call("free_places wide", oop_free_places(&made, out, gone));
    made = new_flush(2, 0, 2, 0);
    end_call("push_flush none old", oop_push_flush(&made, slots, wide, wids, ROWS, ids, out, &gone));
    end_call("free_places none old", oop_free_places(&made, out, gone));
    made.bound = 4;
    for (int64_t i = 0; i < ROWS; i++) wids[i] += 4;
    end_call("push_flush every", oop_push_flush(&made, slots, wide, wids, ROWS, ids, out, &gone));
    made = new_flush(1, 0, 0, 0);
    for (int32_t i = 0; i < PLACES / 2; i++) all_slots[i] = PLACES / 2 - 1 - i;
    end_call("restore_slots", oop_restore_slots(&made, all_slots, narrow, wids, PLACES / 2, ids));
}
