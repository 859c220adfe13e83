/* The rows of a chunk: which batches they are in, which of them are left, and how a column of them is read. Used by
   programs.c. */
#ifndef OOP_CHUNKS_H
#define OOP_CHUNKS_H

#include <stdlib.h>
#include <string.h>

#include "fetch.h"
#include "programs.h"
#include "wide.h"

/* Rows of a batch that belong to the chunk. */
typedef struct {
    const struct ArrowArray *batch;
    int64_t start, rows;
} piece;

typedef struct {
    piece pieces[OOP_PIECES];
    int64_t piece_count;
    int64_t first; /* the number of the first row in the train */
    int64_t rows;  /* of all pieces */
    int64_t n;     /* rows that are left */
    int all;       /* are they all left? */
    int64_t *left; /* else their numbers in the chunk, ascending */
    int64_t *kept; /* of the rows before the last filter, those that it let pass */
    int kept_all;  /* were these all rows? */
    uint8_t *wrong;
} chunk;

static void find_pieces(const oop_run *run, chunk *c) {
    int64_t batch = run->batch, row = run->row;
    c->piece_count = c->rows = 0;
    const int64_t whole = run->end - run->done < OOP_ROWS ? run->end - run->done : OOP_ROWS;
    while (batch < run->batch_count && c->rows < whole && c->piece_count < OOP_PIECES) {
        const struct ArrowArray *from = &run->batches[batch];
        int64_t most = from->length - row, room = whole - c->rows;
        if (most > 0) {
            int64_t rows = most < room ? most : room;
            c->pieces[c->piece_count++] = (piece){from, row, rows};
            c->rows += rows;
            row += rows;
        }
        if (row >= from->length) {
            batch++;
            row = 0;
        }
    }
    c->first = run->done;
    c->n = c->rows;
    c->all = 1;
}

/* Bits from place `at` on as bytes of 0 and 1. Returns whether all of them are 1. */
static int spread_bits(const uint8_t *bits, int64_t at, int64_t n, uint8_t *out) {
    int64_t i = 0;
    uint8_t all = 1;
    for (; i < n && (at + i) % 8; i++) all &= out[i] = bits[(at + i) / 8] >> (at + i) % 8 & 1;
    for (; i + 8 <= n; i += 8) {
        /* Bit k of the byte comes to byte k: one product puts a copy into each byte, of which one bit is kept. */
        uint64_t byte = bits[(at + i) / 8];
        uint64_t spread = (byte * 0x0101010101010101u & 0x8040201008040201u) + 0x7F7F7F7F7F7F7F7Fu;
        spread = spread >> 7 & 0x0101010101010101u;
        memcpy(out + i, &spread, 8); /* the least byte first, as on every machine that Arrow runs on */
        all &= byte == 0xFF;
    }
    for (; i < n; i++) all &= out[i] = bits[(at + i) / 8] >> (at + i) % 8 & 1;
    return all;
}

/* The numbers of the rows that are true and there. They ascend, so `out` may be where they come from. */
#if OOP_WIDE
#include <immintrin.h>

__attribute__((target("avx512f,avx512bw,popcnt"))) static int64_t true_rows_wide(const uint8_t *passes, int64_t n,
                                                                                  int64_t *out, int64_t *done) {
    const __m512i step = _mm512_set1_epi64(8);
    __m512i rows = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    int64_t end = 0, i = 0;
    for (; i + 8 <= n; i += 8) { /* a store writes eight numbers, and as many rows are yet to come */
        uint64_t bytes;
        memcpy(&bytes, passes + i, 8);
        /* the lowest bit of each byte, as a bit of a mask */
        __mmask8 mask = (__mmask8)((bytes & 0x0101010101010101u) * 0x0102040810204080u >> 56);
        _mm512_storeu_si512(out + end, _mm512_maskz_compress_epi64(mask, rows));
        end += __builtin_popcount(mask);
        rows = _mm512_add_epi64(rows, step);
    }
    *done = i;
    return end;
}
#endif

static int64_t true_rows(const uint8_t *passes, int64_t n, int64_t *out) {
    int64_t end = 0, i = 0;
#if OOP_WIDE
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
        end = true_rows_wide(passes, n, out, &i);
#endif
    for (; i < n; i++) {
        out[end] = i;
        end += passes[i];
    }
    return end;
}

/* Only these rows go on. What `passes` points to may be changed. */
static void keep_rows(chunk *c, uint8_t *passes, const uint8_t *valid) {
    int64_t n = c->n;
    if (valid)
        for (int64_t i = 0; i < n; i++) passes[i] &= valid[i];
    int64_t count = true_rows(passes, n, c->kept);
    if (c->all)
        memcpy(c->left, c->kept, (size_t)count * sizeof *c->left);
    else
        for (int64_t i = 0; i < count; i++) c->left[i] = c->left[c->kept[i]];
    c->kept_all = count == n;
    c->all = c->all && count == n;
    c->n = count;
}

#define GATHER(TYPE)                                                                                      \
    {                                                                                                     \
        const TYPE *from_values = from;                                                                   \
        TYPE *to_values = to;                                                                             \
        for (int64_t i = 0; i < n; i++) to_values[i] = from_values[rows[i]];                              \
    }                                                                                                     \
    break;

/* Values of some rows, whose numbers ascend, side by side; `to` may be `from`. */
static void gather(const void *from, int width, const int64_t *rows, int64_t n, void *to) {
    switch (width) {
        case 1: GATHER(uint8_t)
        case 2: GATHER(uint16_t)
        case 4: GATHER(uint32_t)
        default: GATHER(uint64_t)
    }
}

#define WIDEN(FROM, TO)                                                                               \
    for (int64_t i = 0; i < n; i++) {                                                                 \
        FROM value;                                                                                   \
        memcpy(&value, bytes + i * (int64_t)sizeof value, sizeof value);                              \
        ((TO *)out)[i] = (TO)value;                                                                   \
    }                                                                                                 \
    break;

static int width_of(int form) {
    switch (form) {
        case OOP_RAW1: case OOP_INT8: case OOP_UINT8: return 1;
        case OOP_RAW2: case OOP_INT16: case OOP_UINT16: return 2;
        case OOP_RAW4: case OOP_INT32: case OOP_UINT32: case OOP_FLOAT32: return 4;
        default: return 8;
    }
}

/* Copies values of a batch, which may lie at any address, as the register has them. */
static void copy_values(int form, const uint8_t *bytes, int64_t n, void *out) {
    switch (form) {
        case OOP_INT8: WIDEN(int8_t, int64_t)
        case OOP_INT16: WIDEN(int16_t, int64_t)
        case OOP_INT32: WIDEN(int32_t, int64_t)
        case OOP_UINT8: WIDEN(uint8_t, int64_t)
        case OOP_UINT16: WIDEN(uint16_t, int64_t)
        case OOP_UINT32: WIDEN(uint32_t, int64_t)
        case OOP_FLOAT32: WIDEN(float, double)
        default: memcpy(out, bytes, (size_t)(n * width_of(form)));
    }
}

/* Fetches what the next chunk will read of a column, while this one is worked on. */
static void fetch_following(const uint8_t *bytes, int64_t rows, int64_t left, int width) {
    const int64_t end = (left < OOP_ROWS ? left : OOP_ROWS) * width;
    for (int64_t at = 0; at < end; at += 64) FETCH(bytes + rows * width + at);
}

/* Which rows of a piece are there, from place `at` on. `all` says whether none has been null so far. */
static void add_validity(const piece *part, const struct ArrowArray *array, int64_t start, int64_t at, oop_register *out,
                         int *any_bits, int *all) {
    const uint8_t *there = array->null_count ? array->buffers[0] : NULL;
    if (there) {
        if (!*any_bits) memset(out->valid_room, 1, (size_t)at);
        *any_bits = 1;
        *all &= spread_bits(there, start, part->rows, out->valid_room + at);
    } else if (*any_bits) {
        memset(out->valid_room + at, 1, (size_t)part->rows);
    }
}

static inline int64_t offset_at(const void *offsets, int form, int64_t i) {
    return form == OOP_TEXT ? ((const int32_t *)offsets)[i] : ((const int64_t *)offsets)[i];
}

/* Text stays where it is, unless the chunk is of several batches: then it is brought together. */
static int load_text(oop_run *run, const chunk *c, int64_t column, int form, oop_register *out) {
    static uint8_t nothing;
    int64_t *offsets = out->room, at = 0, needed = 0;
    int all_there = 1, any_bits = 0;
    out->width = 0;
    out->codes = NULL;
    for (int64_t p = 0; p < c->piece_count; p++) {
        const piece *part = &c->pieces[p];
        const struct ArrowArray *array = part->batch->children[column];
        const int64_t start = array->offset + part->batch->offset + part->start;
        add_validity(part, array, start, at, out, &any_bits, &all_there);
        needed += offset_at(array->buffers[1], form, start + part->rows) - offset_at(array->buffers[1], form, start);
        at += part->rows;
    }
    out->valid = all_there ? NULL : out->valid_room;
    if (c->piece_count == 1) {
        const struct ArrowArray *array = c->pieces[0].batch->children[column];
        const int64_t start = array->offset + c->pieces[0].batch->offset + c->pieces[0].start;
        for (int64_t i = 0; i <= c->rows; i++) offsets[i] = offset_at(array->buffers[1], form, start + i);
        const int64_t left = c->pieces[0].batch->length - c->pieces[0].start - c->rows;
        const int64_t end = offset_at(array->buffers[1], form, start + c->rows + (left < OOP_ROWS ? left : OOP_ROWS));
        for (int64_t byte = offsets[c->rows]; byte < end; byte += 64) FETCH((const uint8_t *)array->buffers[2] + byte);
        out->data = array->buffers[2] ? (void *)(uintptr_t)array->buffers[2] : &nothing;
        out->bytes = offsets[c->rows];
        return OOP_OK;
    }
    if (run->text_room - run->text_used < needed) {
        run->needed = run->text_used + needed;
        return OOP_TEXT_FULL;
    }
    out->data = run->text + run->text_used;
    run->text_used += needed;
    out->bytes = needed;
    offsets[0] = at = 0;
    for (int64_t p = 0; p < c->piece_count; p++) {
        const piece *part = &c->pieces[p];
        const struct ArrowArray *array = part->batch->children[column];
        const int64_t start = array->offset + part->batch->offset + part->start;
        const int64_t first = offset_at(array->buffers[1], form, start), shift = offsets[at] - first;
        for (int64_t i = 1; i <= part->rows; i++)
            offsets[at + i] = offset_at(array->buffers[1], form, start + i) + shift;
        const int64_t bytes = offsets[at + part->rows] - offsets[at];
        if (bytes) memcpy((uint8_t *)out->data + offsets[at], (const uint8_t *)array->buffers[2] + first, (size_t)bytes);
        at += part->rows;
    }
    return OOP_OK;
}

/* Reads a column of the rows that are left. Where it lies as the register needs it, nothing is copied. */
static void load_column(const chunk *c, int64_t column, int form, oop_register *out) {
    const int is_bits = form == OOP_BITS;
    const int from_width = width_of(form), to_width = form == OOP_BITS ? 1 : form < OOP_INT8 ? from_width : 8;
    int64_t at = 0;
    int all_there = 1, any_bits = 0;
    out->width = to_width;
    out->data = out->room;
    for (int64_t p = 0; p < c->piece_count; p++) {
        const piece *part = &c->pieces[p];
        const struct ArrowArray *array = part->batch->children[column];
        const int64_t start = array->offset + part->batch->offset + part->start;
        const uint8_t *bytes = (const uint8_t *)array->buffers[1] + (is_bits ? 0 : start * from_width);
        void *to = (uint8_t *)out->room + at * to_width;
        if (is_bits)
            spread_bits(array->buffers[1], start, part->rows, to);
        else if (c->piece_count == 1 && from_width == to_width && (uintptr_t)bytes % (uintptr_t)from_width == 0)
            out->data = (void *)(uintptr_t)bytes; /* read only */
        else
            copy_values(form, bytes, part->rows, to);
        if (!is_bits)
            fetch_following(bytes, part->rows, part->batch->length - part->start - part->rows, from_width);
        add_validity(part, array, start, at, out, &any_bits, &all_there);
        at += part->rows;
    }
    out->valid = all_there ? NULL : out->valid_room;
    if (!c->all) {
        gather(out->data, to_width, c->left, c->n, out->room);
        out->data = out->room;
        if (out->valid) gather(out->valid, 1, c->left, c->n, out->valid_room);
    }
}

/* Of a register that was filled before the last filter, the rows that it let pass. */
static void compact(const chunk *c, const oop_register *from, oop_register *out) {
    out->width = from->width;
    if (c->kept_all) {
        out->data = from->data;
        out->valid = from->valid;
        return;
    }
    out->data = out->room;
    gather(from->data, from->width, c->kept, c->n, out->room);
    out->valid = NULL;
    if (from->valid) {
        gather(from->valid, 1, c->kept, c->n, out->valid_room);
        out->valid = out->valid_room;
    }
}

#endif
