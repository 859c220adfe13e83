#include "buffers.h"

#include <string.h>

#include "fetch.h"
#include "heap.h"

#define AHEAD 12   /* rows whose buffers are fetched beforehand */
#define SMALLEST 4 /* rows that a buffer gets room for */

static int64_t count_coming(oop_buffers *all, const int64_t *ids, int64_t n, int64_t *touched) {
    int64_t groups = 0;
    if (!ids && n) {
        all->buffers[0].coming = (uint32_t)least_of(n, UINT32_MAX);
        touched[groups++] = 0;
    }
    for (int64_t i = 0; ids && i < n; i++) {
        if (i + AHEAD < n) FETCH_NEAR(&all->buffers[ids[i + AHEAD]]);
        touched[groups] = ids[i]; /* stays only if it is its first row */
        groups += !all->buffers[ids[i]].coming++;
    }
    return groups;
}

/* What a buffer that lacks room for `wanted` rows gets: at least twice what it has. */
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
        rows->left[rows->gone] = place; /* stays only if there is one */
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
