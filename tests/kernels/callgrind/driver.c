/* Calls kernels on fixed inputs, each call once. callgrind counts in functions called oop_something alone, and writes
   down what it has counted at every end_call; measure.py puts the names that are printed beside that. */
#include <stdio.h>
#include <stdlib.h>

#include "aggregates.h"
#include "buffers.h"
#include "first.h"
#include "flush.h"
#include "groups.h"
#include "joins.h"
#include "late.h"
#include "moments.h"
#include "partition.h"
#include "repeats.h"
#include "ring.h"
#include "runs.h"
#include "sessions.h"
#include "summary.h"
#include "sums.h"
#include "windows.h"
#include "words.h"

#define ROWS 20000
#define KEYS 5000    /* distinct ones, or nearly so many */
#define PLACES 16384 /* of a table for them */
#define HEADS 32768  /* of a table of all rows */
#define GROUPS 1000
#define LENGTH 12 /* of a string, on average */

__attribute__((noinline)) static void end_call(const char *name, int code) {
    printf("%d %s\n", ROWS, name);
    if (code == OOP_OK) return;
    fprintf(stderr, "%s returned %d\n", name, code);
    exit(1);
}

static uint64_t state = 1;

static int64_t below(int64_t limit) { /* Knuth's MMIX generator, of which the high bits are good */
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)limit);
}

/* Room that starts the same way on every run, zeroed. */
static void *room(int64_t places, size_t width) {
    size_t bytes = ((size_t)places * width + 64) & ~(size_t)63;
    char *made = aligned_alloc(64, bytes);
    if (!made) abort();
    for (size_t i = 0; i < bytes; i++) made[i] = 0;
    return made;
}

static int64_t *numbers(int64_t limit) {
    int64_t *made = room(ROWS, sizeof *made);
    for (int64_t i = 0; i < ROWS; i++) made[i] = below(limit);
    return made;
}

static double *reals(double scale) {
    double *made = room(ROWS, sizeof *made);
    for (int64_t i = 0; i < ROWS; i++) made[i] = (double)below(2000000) * scale - scale * 1e6;
    return made;
}

static uint8_t *some_valid(void) { /* nine of ten */
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
    end_call("mark_late_int", oop_mark_late_int(times, bounds, ROWS, marks));
    end_call("mark_late_float", oop_mark_late_float(real_times, real_bounds, ROWS, marks));
    end_call("mark_late_all_int", oop_mark_late_all_int(times, ROWS, times[ROWS / 2], 0, marks));
    end_call("prefix_bounds_rows_int", oop_prefix_bounds_rows_int(times, ROWS, 100, heap, &held, bounds));
    end_call("prefix_bounds_by_int", oop_prefix_bounds_by_int(times, groups, ROWS, GROUPS, 20, by, seen_by, bounds));
}

/* A table with room for all keys, of columns like those given. */
static oop_table new_table(const oop_column *columns, int32_t width, int32_t packed) {
    oop_table table = {.size = PLACES, .most = PLACES * 5 / 8, .columns = width, .packed = packed};
    table.seed = 0x243F6A8885A308D3u;
    table.factor = 0x13198A2E03707345u;
    table.entries = room(PLACES, sizeof *table.entries);
    table.kept = room(width, sizeof *table.kept);
    for (int32_t c = 0; c < width; c++) {
        oop_kept *kept = &table.kept[c];
        kept->width = columns[c].width;
        kept->bytes = kept->width ? 0 : 4 * LENGTH * PLACES;
        kept->data = room(PLACES * LENGTH * 4, 1);
        kept->offsets = kept->width ? NULL : room(PLACES + 1, 8);
        kept->valid = columns[c].valid ? room(PLACES, 1) : NULL;
    }
    return table;
}

static void run_table(const char *first, const char *again, const char *move, const oop_column *columns, int32_t width,
                      int32_t packed) {
    oop_table table = new_table(columns, width, packed);
    int64_t *ids = room(ROWS, 8), done;
    int32_t full;
    end_call(first, oop_map_keys(&table, columns, NULL, ROWS, ROWS, ids, &done, &full));
    end_call(again, oop_map_keys(&table, columns, NULL, ROWS, ROWS, ids, &done, &full));
    end_call(move, oop_rehash(&table, room(2 * PLACES, sizeof(oop_entry)), 2 * PLACES));
}

/* Two columns of numbers, both from the same key, so that there are no more pairs than keys. */
static void fill_pair(oop_column *pair, int32_t width, const int64_t *keys) {
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

/* Strings of LENGTH / 2 to 3 * LENGTH / 2 letters, the same one for the same key. */
static oop_column make_strings(const int64_t *keys) {
    uint8_t *data = room(2 * LENGTH * ROWS, 1);
    int64_t *offsets = room(ROWS + 1, 8);
    for (int64_t i = 0; i < ROWS; i++) {
        int64_t length = LENGTH / 2 + keys[i] % (LENGTH + 1), rest = keys[i];
        for (int64_t at = 0; at < length; at++, rest = rest / 26 + keys[i]) data[offsets[i] + at] = 'a' + rest % 26;
        offsets[i + 1] = offsets[i] + length;
    }
    return (oop_column){.data = data, .offsets = offsets, .bytes = offsets[ROWS]};
}

static void run_groups(void) {
    const int64_t *keys = numbers(KEYS);
    const int32_t is_signed[2] = {1, 1};
    int32_t *shards = room(ROWS, 4);
    oop_column narrow[2], wide[2], strings = make_strings(keys);
    fill_pair(narrow, 4, keys);
    fill_pair(wide, 8, keys);
    run_table("map_keys packed new", "map_keys packed again", "rehash packed", narrow, 2, 1);
    run_table("map_keys hashed new", "map_keys hashed again", "rehash hashed", wide, 2, 0);
    run_table("map_keys strings new", "map_keys strings again", "rehash strings", &strings, 1, 0);
    end_call("hash_partition narrow", oop_hash_partition(narrow, is_signed, 2, ROWS, 8, shards));
    end_call("hash_partition wide", oop_hash_partition(wide, is_signed, 2, ROWS, 8, shards));
    end_call("hash_partition strings", oop_hash_partition(&strings, is_signed, 1, ROWS, 8, shards));
    void *outs[2][8];
    oop_payload payload[2] = {{narrow[0].data, outs[0], 4}, {wide[0].data, outs[1], 8}};
    int64_t ends[8] = {0};
    for (int s = 0; s < 8; s++) outs[0][s] = room(ROWS, 4), outs[1][s] = room(ROWS, 8);
    end_call("exchange_rows two", oop_exchange_rows(narrow, is_signed, 2, ROWS, 2, payload, 2, ROWS, ends));
    ends[0] = ends[1] = 0;
    end_call("exchange_rows eight", oop_exchange_rows(narrow, is_signed, 2, ROWS, 8, payload, 2, ROWS, ends));
    narrow[0].valid = narrow[1].valid = some_valid();
    run_table("map_keys nulls new", "map_keys nulls again", "rehash nulls", narrow, 2, 1);
    end_call("hash_partition nulls", oop_hash_partition(narrow, is_signed, 2, ROWS, 8, shards));
}

static void run_rows(void) {
    int64_t *order = room(ROWS + 1, 8), *starts = room(GROUPS + 2, 8), *spare = room(ROWS, 8), least, greatest;
    const int64_t *few = numbers(4), *many = numbers(GROUPS), *rows = numbers(ROWS);
    int32_t *shards = room(ROWS, 4);
    for (int64_t i = 0; i < ROWS; i++) shards[i] = (int32_t)few[i];
    end_call("slice_limits", oop_slice_limits(many, ROWS, 2, &least, &greatest));
    end_call("order_slices few", oop_order_slices(few, ROWS, 0, 0, 3, order, starts));
    end_call("order_slices many", oop_order_slices(many, ROWS, 2, least, greatest - least, order, starts));
    end_call("sort_slices", oop_sort_slices(many, ROWS, 0, order, spare));
    end_call("take_fixed 4", oop_take_fixed(shards, 4, ROWS, rows, ROWS, spare));
    end_call("take_fixed 8", oop_take_fixed(many, 8, ROWS, rows, ROWS, spare));
}

static void run_aggregates(void) {
    const int64_t *ids = numbers(GROUPS), *values = numbers(1000000), *counts_in = numbers(4);
    const double *real_values = reals(0.25);
    const uint8_t *valid = some_valid();
    int64_t *counts = room(GROUPS, 8), *hi = room(GROUPS, 8), *lo = room(GROUPS, 8), *touched = room(ROWS, 8);
    double *sums = room(GROUPS, 8), *m2 = room(GROUPS, 8);
    end_call("add_count", oop_add_count(ids, NULL, ROWS, GROUPS, counts));
    end_call("add_count nulls", oop_add_count(ids, valid, ROWS, GROUPS, counts));
    end_call("merge_count", oop_merge_count(ids, counts_in, ROWS, GROUPS, counts));
    end_call("add_sum_int", oop_add_sum_int(ids, values, NULL, ROWS, GROUPS, hi, lo, counts));
    end_call("add_sum_int nulls", oop_add_sum_int(ids, values, valid, ROWS, GROUPS, hi, lo, counts));
    end_call("merge_sum_int", oop_merge_sum_int(ids, values, values, counts_in, ROWS, GROUPS, hi, lo, counts));
    end_call("join_words", oop_join_words(values, values, ROWS, room(ROWS, 8)));
    end_call("add_sum_float", oop_add_sum_float(ids, real_values, NULL, ROWS, GROUPS, sums, counts));
    end_call("merge_sum_float", oop_merge_sum_float(ids, real_values, counts_in, ROWS, GROUPS, sums, counts));
    int64_t *held = room(GROUPS, 8);
    end_call("take_min_int", oop_take_min_int(ids, values, NULL, NULL, ROWS, GROUPS, lo, held));
    end_call("take_min_int partials", oop_take_min_int(ids, values, NULL, counts_in, ROWS, GROUPS, lo, held));
    held = room(GROUPS, 8);
    end_call("take_max_float", oop_take_max_float(ids, real_values, NULL, NULL, ROWS, GROUPS, sums, held));
    end_call("take_max_float nulls", oop_take_max_float(ids, real_values, valid, NULL, ROWS, GROUPS, sums, held));
    held = room(GROUPS, 8);
    double *scratch = room(4 * GROUPS, 8);
    end_call("merge_moments values", oop_merge_moments(ids, NULL, real_values, NULL, NULL, ROWS, GROUPS, scratch,
                                                       touched, held, sums, m2));
    scratch = room(4 * GROUPS, 8);
    end_call("merge_moments partials", oop_merge_moments(ids, counts_in, real_values, real_values, NULL, ROWS, GROUPS,
                                                         scratch, touched, held, sums, m2));
    int64_t *summaries = room(5 * GROUPS, 8), *parts = room(5 * ROWS, 8);
    end_call("add_summary", oop_add_summary(ids, values, NULL, ROWS, GROUPS, summaries));
    end_call("add_summary nulls", oop_add_summary(ids, values, valid, ROWS, GROUPS, summaries));
    for (int64_t i = 0; i < ROWS; i++) {
        parts[5 * i] = counts_in[i];
        for (int word = 1; word < 5; word++) parts[5 * i + word] = values[i];
    }
    end_call("merge_summary", oop_merge_summary(ids, parts, ROWS, GROUPS, summaries));
    int64_t *firsts = room(3 * GROUPS, 8), *lasts = room(3 * GROUPS, 8);
    end_call("take_first", oop_take_first(ids, values, NULL, values, NULL, ROWS, GROUPS, firsts));
    end_call("take_last nulls", oop_take_last(ids, values, valid, values, valid, ROWS, GROUPS, lasts));
    for (int64_t i = 0; i < ROWS; i++) {
        parts[3 * i] = i % 3;
        for (int word = 1; word < 3; word++) parts[3 * i + word] = values[i];
    }
    end_call("merge_first", oop_merge_first(ids, parts, ROWS, GROUPS, firsts));
    end_call("merge_last", oop_merge_last(ids, parts, ROWS, GROUPS, lasts));
}

/* Every row in a place, in an order that has nothing to do with the places. */
static int64_t *shuffled_places(void) {
    int64_t *made = room(ROWS, sizeof *made);
    for (int64_t i = 0; i < ROWS; i++) {
        int64_t other = below(i + 1);
        made[i] = made[other];
        made[other] = i;
    }
    return made;
}

static void run_joins(const int64_t *times, const double *real_times) {
    const oop_reach near = {-20000, 20000}, all = {INT64_MIN, INT64_MAX};
    const oop_float_reach real_near = {.low = -2000, .high = 2000, .high_open = 1};
    const int64_t *places = shuffled_places(), most = 16 * ROWS;
    const uint64_t *words = (const uint64_t *)numbers(KEYS), *others = (const uint64_t *)numbers(2000000);
    uint64_t *words_out = room(ROWS, 8);
    int64_t *mine = room(most, 8), *theirs = room(most, 8), *times_out = room(ROWS, 8), found = 0, done;
    oop_join_table table = {.size = HEADS, .room = ROWS, .seed = 0x243F6A8885A308D3u, .factor = 0x13198A2E03707345u};
    table.heads = room(HEADS, sizeof *table.heads);
    table.rows = room(ROWS + 1, sizeof *table.rows);
    end_call("join_clear", oop_join_clear(&table, 0));
    end_call("join_insert", oop_join_insert(&table, places, words, times, ROWS, &done));
    end_call("join_read", oop_join_read(&table, places, ROWS, words_out, times_out));
    done = found = 0;
    end_call("join_probe near", oop_join_probe(&table, words, times, ROWS, &near, mine, theirs, most, &found, &done));
    done = found = 0;
    end_call("join_probe all", oop_join_probe(&table, words, times, ROWS, &all, mine, theirs, most, &found, &done));
    done = found = 0;
    end_call("join_probe none", oop_join_probe(&table, others, times, ROWS, &near, mine, theirs, most, &found, &done));
    const uint32_t *old = table.heads;
    table.heads = room(2 * HEADS, sizeof *table.heads);
    table.size = 2 * HEADS;
    end_call("join_relink", oop_join_relink(&table, old, HEADS));
    for (int64_t i = 0; i < ROWS; i++) table.rows[places[i] + 1].time.real = real_times[i];
    done = found = 0;
    end_call("join_probe_float", oop_join_probe_float(&table, words, real_times, ROWS, &real_near, mine, theirs, most,
                                                      &found, &done));
    end_call("join_remove", oop_join_remove(&table, places, ROWS, &done));
}

static void run_repeats(const int64_t *times, const double *real_times) {
    const int64_t *seen = numbers(KEYS);
    int64_t *ids = room(ROWS, 8), *rows = room(ROWS + 1, 8), *known = room(KEYS, 8), *order = room(ROWS, 8), found, next = 1;
    uint8_t *begins = room(ROWS, 1);
    for (int64_t i = 0; i < ROWS; i++) { /* dense ids, in order of first appearance */
        if (!known[seen[i]]) known[seen[i]] = next++;
        ids[i] = known[seen[i]] - 1;
        order[i] = i / 50;
    }
    end_call("select_new", oop_select_new(ids, ROWS, 100, rows, &found));
    end_call("begin_spans_int", oop_begin_spans_int(order, times, ROWS, 60, begins));
    end_call("begin_spans_float", oop_begin_spans_float(order, real_times, ROWS, 6, begins));
}

/* Every row new, then once more into the same sessions; two and one that bridges them; and out. */
static void run_sessions(void) {
    const int64_t size = 2 * ROWS + 1, *keys = numbers(KEYS);
    int64_t *triples = room(ROWS, 8), *times = room(ROWS, 8), *bridging = room(ROWS, 8), *open = room(ROWS, 8), done;
    int64_t *open_too = room(size, 8);
    double *real_times = room(ROWS, 8);
    uint32_t *unused = room(size, 4);
    oop_extended out = {.slots = room(ROWS, 8), .lowered = room(ROWS, 8), .absorbed = room(ROWS, 8)};
    out.survivors = room(ROWS, 8);
    for (int64_t i = 0; i < size - 1; i++) unused[i] = (uint32_t)(size - 1 - i);
    for (int64_t i = 0; i < ROWS; i++) {
        times[i] = 100 * i;
        real_times[i] = 100.5 * (double)i;
        triples[i] = i / 3;
        bridging[i] = i % 3 == 1 ? 100 : i % 3 * 25;
        open[i] = i + 1;
    }
    uint32_t *heads = room(ROWS, 4);
    oop_session *sessions = room(size, sizeof *sessions);
    end_call("extend_sessions new",
             oop_extend_sessions(keys, times, ROWS, 60, heads, ROWS, sessions, size, unused, size - 1, &out));
    end_call("extend_sessions again",
             oop_extend_sessions(keys, times, ROWS, 60, heads, ROWS, sessions, size, unused, ROWS, &out));
    int64_t left, first = 0;
    end_call("sessions_until", oop_sessions_until(sessions, size, 100 * ROWS / 2, open_too, &done, &left, &first));
    end_call("drop_sessions", oop_drop_sessions(open, ROWS, heads, sessions, size, &done));
    heads = room(ROWS, 4);
    end_call("extend_sessions bridged",
             oop_extend_sessions(triples, bridging, ROWS, 60, heads, ROWS, sessions, size, unused, size - 1, &out));
    heads = room(ROWS, 4);
    end_call("extend_sessions_float new", oop_extend_sessions_float(keys, real_times, ROWS, 60.5, heads, ROWS, sessions,
                                                                    size, unused, size - 1, &out));
}

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
static void run_buffers(const int64_t *times, const double *real_times) {
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

static void run_runs(const int64_t *times) {
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
static void run_flush(void) {
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
    run_ring();
    return 0;
}
