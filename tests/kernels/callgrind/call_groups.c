/* Calls the kernels that number groups, part and order rows by them, and aggregate them. */
#include "aggregates.h"
#include "driver.h"
#include "first.h"
#include "groups.h"
#include "moments.h"
#include "partition.h"
#include "summary.h"
#include "sums.h"
#include "windows.h"

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

/* Maps texts of 8 bytes, one for each key, as many at a time as may be. */
static int map_texts(oop_table *table, const oop_text *texts, const uint32_t *those, int64_t *ids) {
    int64_t length;
    int code = OOP_OK;
    for (int64_t first = 0; code == OOP_OK && first < ROWS; first += OOP_TEXTS_AT_ONCE) {
        const int64_t left = ROWS - first;
        const int32_t m = left < OOP_TEXTS_AT_ONCE ? (int32_t)left : OOP_TEXTS_AT_ONCE;
        code = oop_map_texts(table, texts, those + first, m, ids + first, &length);
    }
    return code;
}

/* Keys of two words by row: the values of a record stand one behind the other. */
static void run_records(const oop_column *columns) {
    oop_table table = new_table(columns, 2, 0);
    int64_t *ids = room(ROWS, 8), done;
    int32_t full;
    table.records = room(2 * PLACES, 8);
    table.record_words = 2;
    for (int c = 0; c < 2; c++) table.kept[c].data = table.records + c;
    end_call("map_keys records new", oop_map_keys(&table, columns, NULL, ROWS, ROWS, ids, &done, &full));
    end_call("map_keys records again", oop_map_keys(&table, columns, NULL, ROWS, ROWS, ids, &done, &full));
}

static void run_texts(const int64_t *keys) {
    oop_column strings = {.data = keys, .bytes = 8 * ROWS};
    oop_table table = new_table(&strings, 1, 0);
    oop_text *texts = room(ROWS, sizeof *texts);
    uint32_t *those = room(ROWS, 4);
    int64_t *ids = room(ROWS, 8);
    for (int64_t i = 0; i < ROWS; i++) {
        const uint64_t word = (uint64_t)keys[i];
        texts[i] = (oop_text){word, word, (const uint8_t *)&keys[i], 8, (word + 1) * table.seed, 0};
        those[i] = (uint32_t)i;
    }
    end_call("map_texts new", map_texts(&table, texts, those, ids));
    end_call("map_texts again", map_texts(&table, texts, those, ids));
}

void run_groups(void) {
    const int64_t *keys = numbers(KEYS);
    const int32_t is_signed[2] = {1, 1};
    int32_t *shards = room(ROWS, 4);
    oop_column narrow[2], wide[2], strings = make_strings(keys);
    fill_pair(narrow, 4, keys);
    fill_pair(wide, 8, keys);
    run_table("map_keys packed new", "map_keys packed again", "rehash packed", narrow, 2, 1);
    run_table("map_keys hashed new", "map_keys hashed again", "rehash hashed", wide, 2, 0);
    run_table("map_keys strings new", "map_keys strings again", "rehash strings", &strings, 1, 0);
    run_records(wide);
    run_texts(keys);
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

void run_rows(void) {
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
    end_call("take_out", oop_take_out(shards, 4, ROWS, rows, ROWS, spare));
}

void run_aggregates(void) {
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
