#include "buffers.h"

#include <string.h>

#include "fetch.h"
#include "heap.h"
#include "radix.h"

#define AHEAD 12   /* rows whose buffers are fetched beforehand */
#define SMALLEST 4 /* rows that a buffer gets room for */
#define WORTH_SORTING 16

static int64_t count_coming(oop_buffers *all, const int64_t *ids, int64_t n, int64_t *touched) {
    int64_t groups = 0;
    if (!ids && n) {
        all->buffers[0].coming = (uint32_t)least_of(n, UINT32_MAX);
        touched[groups++] = 0;
    }
    for (int64_t i = 0; ids && i < n; i++) {
        if (i + AHEAD < n) FETCH_NEAR(&all->buffers[ids[i + AHEAD]]);
        touched[groups] = ids[i]; /* overwritten by the next, unless this is the group's first row */
        groups += !all->buffers[ids[i]].coming++;
    }
    return groups;
}

/* The new room of a buffer that lacks room for `wanted` rows: at least twice its old room, if it may be so large. */
static int64_t new_room(const oop_buffers *all, const oop_buffer *buffer, int64_t wanted) {
    return greatest_of(wanted, least_of(all->most, 2 * (int64_t)buffer->room + SMALLEST));
}

int oop_reserve_rows(oop_buffers *all, const int64_t *ids, int64_t n, int64_t *touched, oop_coming *coming) {
    int code = check_ids(all, ids, n);
    if (code != OOP_OK) return code;
    *coming = (oop_coming){.groups = count_coming(all, ids, n, touched), .room = all->used};
    for (int64_t i = 0; i < coming->groups; i++) {
        const oop_buffer *buffer = &all->buffers[touched[i]];
        const int64_t wanted = least_of(all->most, (int64_t)buffer->held + buffer->coming);
        coming->held += buffer->held;
        coming->widest = greatest_of(coming->widest, wanted);
        coming->longest = greatest_of(coming->longest, buffer->coming);
        if (wanted > buffer->room) coming->room += new_room(all, buffer, wanted);
    }
    const int full = coming->room > all->room;
    for (int64_t i = 0; i < coming->groups; i++) {
        oop_buffer *buffer = &all->buffers[touched[i]];
        const int64_t wanted = least_of(all->most, (int64_t)buffer->held + buffer->coming);
        buffer->coming = 0;
        if (full || wanted <= buffer->room) continue;
        memcpy(all->rows + all->used, all->rows + buffer->start, buffer->held * sizeof *all->rows);
        buffer->start = all->used;
        buffer->room = (uint32_t)new_room(all, buffer, wanted);
        all->used += buffer->room;
    }
    return full ? OOP_FULL : OOP_OK;
}

int oop_push_rows(oop_buffers *all, oop_arriving *rows) {
    const int64_t *ids = rows->ids, n = rows->n;
    int code = check_ids(all, ids, n);
    if (code != OOP_OK) return code;
    fill_keys(rows->values, n, rows->kind, rows->keys);
    rows->gone = 0;
    for (int64_t i = 0; i < n; i++) {
        if (ids && i + 2 * AHEAD < n) FETCH_NEAR(&all->buffers[ids[i + 2 * AHEAD]]);
        if (ids && i + AHEAD < n) FETCH_NEAR(&all->rows[all->buffers[ids[i + AHEAD]].start]);
        oop_buffer *buffer = &all->buffers[ids ? ids[i] : 0];
        oop_waiting *heap = all->rows + buffer->start;
        if (buffer->held < all->most && buffer->held == buffer->room) return OOP_FULL;
        if (rows->bounds) put_bound(rows->bounds, i, rows->kind, buffer->held == all->most ? heap[0].key : 0);
        const int64_t place = push_row(heap, buffer, all->most, (oop_waiting){rows->keys[i], all->places++});
        if (!rows->left) continue;
        rows->left[rows->gone] = place; /* overwritten by the next, unless a row leaves */
        rows->gone += place >= 0;
    }
    return OOP_OK;
}

int oop_list_rows(oop_buffers *all, int64_t *ids, int64_t *places, void *values, int64_t kind, int64_t *count) {
    int64_t at = 0;
    for (int64_t g = 0; g < all->size; g++) {
        oop_waiting *rows = all->rows + all->buffers[g].start;
        sort_buffer(rows, &all->buffers[g]);
        for (int64_t i = 0; i < all->buffers[g].held; i++) {
            if (kind == OOP_FLOATS_NAN_FIRST && !rows[i].key) continue;
            if (ids) ids[at] = g;
            if (places) places[at] = rows[i].place;
            if (values && kind == OOP_INTS) ((int64_t *)values)[at] = int_of_key(rows[i].key);
            if (values && kind != OOP_INTS) ((double *)values)[at] = float_of_key(rows[i].key);
            at++;
        }
    }
    *count = at;
    return OOP_OK;
}

int oop_take_bounds(const oop_buffers *all, const int64_t *groups, int64_t count, int64_t kind, void *bounds) {
    for (int64_t i = 0; i < count; i++) {
        if ((uint64_t)groups[i] >= (uint64_t)all->size) return OOP_ID_OUTSIDE;
        const oop_buffer *buffer = all->buffers + groups[i];
        const int full = all->most && buffer->held == all->most;
        put_bound(bounds, i, kind, full ? all->rows[buffer->start].key : 0);
    }
    return OOP_OK;
}

int oop_compact_rows(oop_buffers *all, uint64_t *present, int64_t *before, int64_t *kept, int64_t *count) {
    const int64_t words = (all->places + 63) / 64;
    int64_t held = 0;
    memset(present, 0, (size_t)words * sizeof *present);
    for (int64_t g = 0; g < all->size; g++) {
        const oop_waiting *rows = all->rows + all->buffers[g].start;
        for (int64_t i = 0; i < all->buffers[g].held; i++) {
            if ((uint64_t)rows[i].place >= (uint64_t)all->places) return OOP_ROW_OUTSIDE;
            present[rows[i].place >> 6] |= (uint64_t)1 << (rows[i].place & 63);
        }
    }
    for (int64_t word = 0; word < words; word++) {
        before[word] = held;
        for (uint64_t bits = present[word]; bits; bits &= bits - 1) kept[held++] = word * 64 + __builtin_ctzll(bits);
    }
    for (int64_t g = 0; g < all->size; g++) {
        oop_waiting *rows = all->rows + all->buffers[g].start;
        for (int64_t i = 0; i < all->buffers[g].held; i++) {
            const uint64_t below = present[rows[i].place >> 6] & (((uint64_t)1 << (rows[i].place & 63)) - 1);
            rows[i].place = before[rows[i].place >> 6] + __builtin_popcountll(below);
        }
    }
    all->places = *count = held;
    return OOP_OK;
}

/* Rows of one group: row t is parted[t], or t itself. */
typedef struct {
    const int64_t *parted;
    int64_t from;
    int64_t place; /* of the batch's first row */
} segment;

static inline int64_t row_at(const segment *of, int64_t t) {
    return of->parted ? of->parted[of->from + t] : of->from + t;
}

/* Sorts the c rows of a chunk into place behind room for b rows, and merges them with the b that are held, from the
   front: a row of the chunk is read before its place is written. */
static void merge_chunk(const oop_waiting *held, int64_t b, const segment *of, int64_t c, const uint64_t *keys,
                        oop_sorting *with) {
    const uint64_t *part = keys + of->from;
    int ascends = 1;
    if (of->parted) {
        for (int64_t t = 0; t < c; t++) with->part[t] = keys[row_at(of, t)];
        part = with->part;
    }
    for (int64_t t = 0; t < c; t++) {
        with->words[t] = (uint64_t)t;
        ascends &= !t || part[t - 1] <= part[t];
    }
    if (!ascends) order_words(with->words, with->spare, c, part);
    oop_waiting *out = with->merged, *come = out + b;
    for (int64_t t = 0; t < c; t++) {
        const uint32_t row = row_of(with->words[t]);
        come[t] = (oop_waiting){part[row], of->place + row_at(of, row)};
    }
    const oop_waiting *end = held + b, *last = come + c;
    while (held < end && come < last) { /* no branch, because which is less cannot be predicted */
        const int first = held->key <= come->key;
        *out++ = *(first ? held : come);
        held += first;
        come += !first;
    }
    memmove(out, held, (size_t)(end - held) * sizeof *out);
}

/* Lets rows leave in sorted order: row `fill` + j of the chunk pushes out the j-th. Returns whether this is right, that
   is, whether each row has come by its turn; a bound must have come before the row that it bounds. */
static int leave_sorted(const segment *of, int64_t fill, int64_t c, const oop_waiting *merged, oop_arriving *rows) {
    int64_t late = 0;
    const int before = rows->bounds != NULL;
    for (int64_t j = 0; j < c - fill; j++) {
        const int64_t row = row_at(of, fill + j);
        late |= of->place + row - before - merged[j].place;
        if (rows->left) rows->left[row] = merged[j].place;
        if (rows->bounds) put_bound(rows->bounds, row, rows->kind, merged[j].key);
    }
    return late >= 0;
}

/* The least rank that is present, which is no less than `at`; there must be one. */
static inline int64_t find_least(const uint64_t *present, int64_t at) {
    int64_t word = at >> 6;
    while (!present[word]) word++;
    return word * 64 + __builtin_ctzll(present[word]);
}

/* Lets rows leave if they do not leave in sorted order: each row enters at its rank in that order. Below the least row
   of a full buffer there is none, and a row that enters there leaves at once, so the least only grows. */
static void leave_in_turn(const segment *of, int64_t b, int64_t fill, int64_t c, oop_sorting *with, oop_arriving *rows,
                          oop_waiting *heap) {
    const oop_waiting *merged = with->merged;
    const int64_t first = of->place + row_at(of, 0);
    uint64_t *present = with->present;
    memset(present, 0, (size_t)((b + c) / 64 + 1) * sizeof *present);
    with->words[c] = (uint64_t)c; /* takes what is written behind the last row */
    for (int64_t j = 0, t = 0; j < b + c; j++) {
        const int comes = merged[j].place >= first;
        with->ranks[row_of(with->words[t])] = (uint32_t)j;
        present[j >> 6] |= (uint64_t)!comes << (j & 63);
        t += comes;
    }
    for (int64_t t = 0; t < fill; t++) present[with->ranks[t] >> 6] |= (uint64_t)1 << (with->ranks[t] & 63);
    int64_t least = find_least(present, 0);
    for (int64_t t = fill; t < c; t++) {
        const int64_t rank = with->ranks[t], leaves = least_of(rank, least), row = row_at(of, t);
        if (rows->bounds) put_bound(rows->bounds, row, rows->kind, merged[least].key);
        if (rows->left) rows->left[row] = merged[leaves].place;
        present[rank >> 6] |= (uint64_t)1 << (rank & 63);
        present[leaves >> 6] ^= (uint64_t)1 << (leaves & 63);
        least = find_least(present, least);
    }
    for (int64_t word = 0; word <= (b + c) / 64; word++)
        for (uint64_t bits = present[word]; bits; bits &= bits - 1) *heap++ = merged[word * 64 + __builtin_ctzll(bits)];
}

static void push_chunk(oop_buffers *all, oop_buffer *buffer, const segment *of, int64_t c, oop_arriving *rows,
                       oop_sorting *with) {
    oop_waiting *heap = all->rows + buffer->start;
    const int64_t b = buffer->held, fill = least_of(c, all->most - b);
    sort_buffer(heap, buffer);
    merge_chunk(heap, b, of, c, rows->keys, with);
    for (int64_t t = 0; t < fill; t++) {
        if (rows->left) rows->left[row_at(of, t)] = -1;
        if (rows->bounds) put_bound(rows->bounds, row_at(of, t), rows->kind, 0);
    }
    buffer->held += (uint32_t)fill;
    buffer->sorted = 1;
    if (leave_sorted(of, fill, c, with->merged, rows))
        memcpy(heap, with->merged + (c - fill), buffer->held * sizeof *heap);
    else
        leave_in_turn(of, b, fill, c, with, rows, heap);
}

static int push_segment(oop_buffers *all, oop_buffer *buffer, segment of, int64_t n, oop_arriving *rows,
                        oop_sorting *with) {
    const int64_t held = least_of(all->most, buffer->held + n);
    if (held > buffer->room || held > with->widest) return OOP_FULL;
    if (all->most && n >= WORTH_SORTING && n >= buffer->held / (buffer->sorted ? 8 : 2)) {
        const int64_t chunks = (n + with->chunk - 1) / with->chunk, chunk = (n + chunks - 1) / chunks;
        for (int64_t end = of.from + n; of.from < end; of.from += chunk)
            push_chunk(all, buffer, &of, least_of(chunk, end - of.from), rows, with);
        return OOP_OK;
    }
    oop_waiting *heap = all->rows + buffer->start;
    for (int64_t t = 0; t < n; t++) {
        const int64_t row = row_at(&of, t);
        if (rows->bounds) put_bound(rows->bounds, row, rows->kind, buffer->held == all->most ? heap[0].key : 0);
        const int64_t place = push_row(heap, buffer, all->most, (oop_waiting){rows->keys[row], of.place + row});
        if (rows->left) rows->left[row] = place;
    }
    return OOP_OK;
}

/* Parts rows by group, in the order of the groups. From here on `coming` is where a group's rows end. */
static int part_rows(oop_buffers *all, const int64_t *ids, int64_t n, oop_sorting *with) {
    int64_t from = 0;
    for (int64_t i = 0; i < n; i++) all->buffers[ids[i]].coming++;
    for (int64_t i = 0; i < with->groups; i++) {
        oop_buffer *buffer = &all->buffers[with->touched[i]];
        const int64_t count = buffer->coming;
        buffer->coming = (uint32_t)from;
        from += count;
    }
    if (from != n) {
        for (int64_t i = 0; i < n; i++) all->buffers[ids[i]].coming = 0;
        return OOP_ID_OUTSIDE;
    }
    for (int64_t i = 0; i < n; i++) with->parted[all->buffers[ids[i]].coming++] = i;
    return OOP_OK;
}

int oop_sort_rows(oop_buffers *all, oop_arriving *rows, oop_sorting *with) {
    const int64_t *ids = rows->ids, n = rows->n, place = all->places;
    if (with->chunk < 1) return OOP_FULL;
    int code = check_ids(all, ids, n);
    if (code == OOP_OK && ids) code = check_ids(all, with->touched, with->groups);
    if (code == OOP_OK && ids) code = part_rows(all, ids, n, with);
    if (code != OOP_OK) return code;
    fill_keys(rows->values, n, rows->kind, rows->keys);
    if (!ids) code = push_segment(all, &all->buffers[0], (segment){NULL, 0, place}, n, rows, with);
    for (int64_t i = 0, from = 0, end; ids && i < with->groups; i++, from = end) {
        oop_buffer *buffer = &all->buffers[with->touched[i]];
        const segment of = {with->parted, from, place};
        end = buffer->coming;
        buffer->coming = 0;
        if (code == OOP_OK) code = push_segment(all, buffer, of, end - from, rows, with);
    }
    if (code != OOP_OK) return code;
    all->places += n;
    rows->gone = 0;
    for (int64_t i = 0; rows->left && i < n; i++) {
        const int64_t gone = rows->left[i];
        rows->left[rows->gone] = gone; /* overwritten by the next, unless a row leaves */
        rows->gone += gone >= 0;
    }
    return OOP_OK;
}
