/* What becomes of rows at the end of a program: they go into the groups of their slices. Used by programs.c.

   First all rows of the chunk get the ids of their groups, which may stop for want of room and begin again: a key that
   was mapped gets the same id once more. Only then are aggregates changed, which nothing stops but a sum that is beyond
   its words: that is an error, and ends the run. */
#ifndef OOP_TARGETS_H
#define OOP_TARGETS_H

#include "aggregates.h"
#include "chunks.h"
#include "first.h"
#include "moments.h"
#include "summary.h"
#include "sums.h"
#include "texts.h"
#include "users.h"
#include "windows.h"

#define NEAR 256 /* slices that are close enough to count the rows of each */

/* Rows of one slice: order[start..end), or all rows of the chunk. */
typedef struct {
    int64_t start, end, target;
} part;

typedef struct {
    part parts[OOP_TARGETS];
    int64_t count;
    int64_t *order; /* NULL: one part, which has all rows */
    int64_t *ids;
    uint64_t *packed; /* the keys of all rows, packed; NULL if they do not fit */
    uint32_t *nulls;  /* NULL: no key is null */
} parting;

static int64_t find_target(oop_run *run, int64_t number) {
    if (run->last < run->target_count && run->targets[run->last].number == number) return run->last;
    for (int64_t t = 0; t < run->target_count; t++)
        if (run->targets[t].number == number) return run->last = t;
    return -1;
}

static int add_part(oop_run *run, parting *p, int64_t number, int64_t start, int64_t end) {
    int64_t target = find_target(run, number);
    if (target < 0) {
        run->needed = number;
        return OOP_NO_TARGET;
    }
    p->parts[p->count++] = (part){start, end, target};
    return OOP_OK;
}

/* Where the rows of the slice end that begins at this place of the order. */
static int64_t end_of_slice(const int64_t *slots, const int64_t *order, int64_t n, int shift, int64_t start) {
    int64_t number = slots[order[start]] >> shift, end = start + 1;
    while (end < n && slots[order[end]] >> shift == number) end++;
    return end;
}

/* Tells rows apart by slice. Rows that are spread over very many slices need wider ones; no target is asked for
   before that is known. */
static int find_parts(oop_run *run, const int64_t *slots, int64_t n, int64_t *order, int64_t *spare, parting *p) {
    int64_t least, greatest, slices = 0, starts[NEAR + 2];
    const int shift = run->shift;
    int code = OOP_OK;
    p->count = 0;
    oop_slice_limits(slots, n, shift, &least, &greatest);
    if (least == greatest) {
        p->order = NULL;
        return add_part(run, p, least, 0, n);
    }
    p->order = order;
    if ((uint64_t)greatest - (uint64_t)least < NEAR) {
        code = oop_order_slices(slots, n, shift, least, greatest - least, order, starts);
        for (int64_t i = 0; i <= greatest - least; i++) slices += starts[i + 1] > starts[i];
        if (slices > OOP_TARGETS) return OOP_SPREAD;
        for (int64_t i = 0; code == OOP_OK && i <= greatest - least; i++)
            if (starts[i + 1] > starts[i]) code = add_part(run, p, least + i, starts[i], starts[i + 1]);
        return code;
    }
    oop_sort_slices(slots, n, shift, order, spare);
    for (int64_t start = 0; start < n; slices++) start = end_of_slice(slots, order, n, shift, start);
    if (slices > OOP_TARGETS) return OOP_SPREAD;
    for (int64_t start = 0, end; code == OOP_OK && start < n; start = end) {
        end = end_of_slice(slots, order, n, shift, start);
        code = add_part(run, p, slots[order[start]] >> shift, start, end);
    }
    return code;
}

/* Gives the text keys of a part their codes, or, if a text is the only key, the ids of its groups. */
static int code_part(oop_run *run, const chunk *c, const parting *p, const part *one, int32_t k, int alone) {
    const int64_t *order = p->order ? p->order + one->start : NULL, n = one->end - one->start;
    const oop_register *text = &run->registers[run->keys[k]];
    oop_table *table = run->targets[one->target].texts[k];
    int64_t *ids = p->ids + one->start;
    int32_t *codes = alone ? NULL : run->codes + k * OOP_ROWS;
    run->needed = one->target;
    run->column = k;
    run->is_text = 1;
    if (!text->codes) return map_plain(run, c, text, table, order, n, ids, codes);
    return map_numbers(run, text, table, run->generation * OOP_TARGETS + (uint64_t)one->target, order, n, ids, codes);
}

static int map_part(oop_run *run, const parting *p, const part *one, const oop_column *columns, int64_t n) {
    oop_table *keys = run->targets[one->target].keys;
    int64_t rows = one->end - one->start, done;
    run->needed = one->target;
    run->is_text = 0;
    if (!run->key_count) { /* one group of all rows */
        memset(p->ids + one->start, 0, (size_t)rows * sizeof *p->ids);
        if (keys->most < 1) return OOP_FULL;
        keys->count = 1;
        return OOP_OK;
    }
    for (int32_t k = 0; k < run->key_count; k++)
        if (columns[k].valid && !keys->kept[k].valid) {
            run->column = k;
            return OOP_NO_NULLS;
        }
    if (p->packed)
        return oop_map_packed(keys, p->packed, p->nulls, p->order ? p->order + one->start : NULL, rows,
                              p->ids + one->start);
    return oop_map_keys(keys, columns, p->order ? p->order + one->start : NULL, rows, n, p->ids + one->start, &done,
                        &run->column);
}

/* The values of an aggregate in the order of the part's rows. */
static const void *values_of(const oop_run *run, int32_t number, const int64_t *rows, int64_t n, void *room,
                             uint8_t *valid_room, const uint8_t **valid) {
    *valid = NULL;
    if (number < 0) return NULL;
    const oop_register *from = &run->registers[number];
    *valid = from->valid;
    if (!rows) return from->data;
    if (from->valid) {
        gather(from->valid, 1, rows, n, valid_room);
        *valid = valid_room;
    }
    gather(from->data, from->width, rows, n, room);
    return room;
}

/* Moments of floats, or of whole numbers as their distances from the base of their group (see
   oop.operators.functions.moments); they are small enough to be exact as floats. */
static int add_moments(const oop_run *run, const oop_update *update, const int64_t *ids, const void *values,
                       const uint8_t *there, int64_t n, int64_t size, void *const *arrays, int64_t *room) {
    double *distances = (double *)room, *scratch = run->moments;
    int64_t *touched = run->scratch + 9 * OOP_ROWS;
    const double *taken = values;
    if (update->kind == OOP_WHOLE_MOMENTS) {
        const int64_t *whole = values, *bases = arrays[3];
        for (int64_t i = 0; i < n; i++) distances[i] = (double)((__int128)whole[i] - bases[ids[i]]);
        taken = distances;
    }
    int code = oop_merge_moments(ids, NULL, taken, NULL, there, n, size, scratch, touched, arrays[0], arrays[1],
                                 arrays[2]);
    for (int64_t i = 0; i < n; i++)
        for (int part = 0; part < 4; part++) scratch[part * size + ids[i]] = 0;
    return code;
}

/* oop_add_count, for ids that need no check. */
static void count_rows(const int64_t *ids, const uint8_t *there, int64_t n, int64_t *counts) {
    if (there)
        for (int64_t i = 0; i < n; i++) counts[ids[i]] += there[i];
    else
        for (int64_t i = 0; i < n; i++) counts[ids[i]]++;
}

/* Of groups whose ids are below size. */
static int update_part(oop_run *run, const oop_update *update, const oop_target *target, int64_t size,
                       const int64_t *ids, const int64_t *rows, int64_t n, int64_t *room) {
    uint8_t there_room[OOP_ROWS], known_room[OOP_ROWS];
    const uint8_t *there, *known;
    const void *values = values_of(run, update->value, rows, n, room, there_room, &there);
    const void *by = values_of(run, update->by, rows, n, room + OOP_ROWS, known_room, &known);
    void *const *arrays = target->arrays + update->array;
    switch (update->kind) {
        case OOP_COUNT: count_rows(ids, there, n, arrays[0]); return OOP_OK;
        case OOP_SUM_INT: return oop_add_sum_int(ids, values, there, n, size, arrays[0], arrays[1], arrays[2]);
        case OOP_SUM_UINT: return oop_add_sum_uint(ids, values, there, n, size, arrays[0], arrays[1], arrays[2]);
        case OOP_SUM_FLOAT: return oop_add_sum_float(ids, values, there, n, size, arrays[0], arrays[2]);
        case OOP_MIN_INT: return oop_take_min_int(ids, values, there, NULL, n, size, arrays[0], arrays[1]);
        case OOP_MAX_INT: return oop_take_max_int(ids, values, there, NULL, n, size, arrays[0], arrays[1]);
        case OOP_MIN_UINT: return oop_take_min_uint(ids, values, there, NULL, n, size, arrays[0], arrays[1]);
        case OOP_MAX_UINT: return oop_take_max_uint(ids, values, there, NULL, n, size, arrays[0], arrays[1]);
        case OOP_MIN_FLOAT: return oop_take_min_float(ids, values, there, NULL, n, size, arrays[0], arrays[1]);
        case OOP_MAX_FLOAT: return oop_take_max_float(ids, values, there, NULL, n, size, arrays[0], arrays[1]);
        case OOP_SUMMARY: return oop_add_summary(ids, values, there, n, size, arrays[0]);
        case OOP_FIRST: return oop_take_first(ids, by, known, values, there, n, size, arrays[0]);
        case OOP_LAST: return oop_take_last(ids, by, known, values, there, n, size, arrays[0]);
        case OOP_USER: return call_user(run, update, ids, values, there, by, known, n, size, arrays);
        default: return add_moments(run, update, ids, values, there, n, size, arrays, room + OOP_ROWS);
    }
}

/* Tells the rows of the chunk, of which there is at least one, apart by slice, and gives them the ids of their groups.
   `room` is behind what that leaves in the scratch. */
static int map_rows(oop_run *run, const chunk *c, parting *p, int64_t **room) {
    const int64_t n = c->n;
    oop_column columns[OOP_KEYS];
    p->ids = run->scratch + 2 * OOP_ROWS;
    int64_t *order = p->ids + OOP_ROWS, *spare = order + OOP_ROWS + 16;
    *room = spare + OOP_ROWS + 16;
    int code = find_parts(run, run->registers[run->slot].data, n, order, spare, p);
    int alone = 0;
    for (int32_t k = 0; k < run->key_count; k++) {
        oop_register *key = &run->registers[run->keys[k]];
        if (!key->width) {
            alone = run->key_count == 1;
            if (code == OOP_OK && !key->codes) code = number_rows(run, c, key);
            for (int64_t i = 0; code == OOP_OK && i < p->count; i++)
                code = code_part(run, c, p, &p->parts[i], k, alone);
            columns[k] = (oop_column){run->codes + k * OOP_ROWS, NULL, NULL, n * 4, 4, 0};
            continue;
        }
        columns[k] = (oop_column){key->data, NULL, key->valid, n * key->width, key->width, key->is_float};
    }
    p->packed = NULL;
    if (code == OOP_OK && run->key_count && !alone && run->targets[p->parts[0].target].keys->packed) {
        p->packed = (uint64_t *)*room; /* which has no other use before ids are known */
        p->nulls = (uint32_t *)(*room + OOP_ROWS);
        if (!oop_pack_keys(columns, run->key_count, n, p->packed, p->nulls)) p->nulls = NULL;
    }
    for (int64_t i = 0; code == OOP_OK && !alone && i < p->count; i++) code = map_part(run, p, &p->parts[i], columns, n);
    return code;
}

static int take_rows(oop_run *run, const chunk *c) {
    int64_t *room;
    parting p;
    if (!c->n) return OOP_OK;
    int code = map_rows(run, c, &p, &room);
    for (int64_t i = 0; code == OOP_OK && i < p.count; i++) {
        const part *one = &p.parts[i];
        oop_target *target = &run->targets[one->target];
        const int64_t rows = one->end - one->start;
        run->needed = one->target;
        for (int32_t u = 0; code == OOP_OK && u < run->update_count; u++)
            code = update_part(run, &run->updates[u], target, target->keys->count, p.ids + one->start,
                               p.order ? p.order + one->start : NULL, rows, room);
        target->rows += rows;
    }
    return code;
}

#endif
