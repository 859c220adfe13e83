/* The rows of a join's table, narrow or wide: how they are read, and how they are linked. Used by joins.c. What is
   marked `EACH` is compiled once for narrow rows and once for wide ones. */
#ifndef OOP_JOIN_ROWS_H
#define OOP_JOIN_ROWS_H

#include "hash.h"
#include "joins.h"

#define EACH static inline __attribute__((always_inline))
#define NO_ROW ((uint32_t)OOP_NO_ROW)

/* Rows are taken in chunks: what all rows of a chunk will touch is fetched before the first is worked on. */
#define CHUNK 256

/* Row `at`, which is the row of place at - 1. */
EACH oop_join_links *row_at(const oop_join_table *table, int narrow, uint64_t at) {
    return (oop_join_links *)((char *)table->rows + at * (narrow ? sizeof(oop_narrow_row) : sizeof(oop_wide_row)));
}

EACH uint64_t word_of(const oop_join_links *row, int narrow) {
    return narrow ? ((const oop_narrow_row *)row)->word : ((const oop_wide_row *)row)->word;
}

/* The bits of the time of a row; of a narrow one, of which `base` is a part. */
EACH uint64_t time_of(const oop_join_links *row, int narrow, uint64_t base) {
    return narrow ? base + ((const oop_narrow_row *)row)->time : ((const oop_wide_row *)row)->time;
}

EACH void write_row(oop_join_links *row, int narrow, uint64_t base, uint64_t word, uint64_t time) {
    if (narrow) {
        ((oop_narrow_row *)row)->word = (uint32_t)word;
        ((oop_narrow_row *)row)->time = (uint32_t)(time - base);
    } else {
        ((oop_wide_row *)row)->word = word;
        ((oop_wide_row *)row)->time = time;
    }
}

EACH int has_row(const oop_join_table *table, int narrow, int64_t place) {
    return (uint64_t)place < (uint64_t)table->room && row_at(table, narrow, (uint64_t)place + 1)->newer != NO_ROW;
}

/* Makes a row the newest of its chain. */
EACH void push_row(oop_join_table *table, int narrow, uint32_t *head, uint32_t at) {
    oop_join_links *row = row_at(table, narrow, at);
    row->older = *head;
    row->newer = 0;
    row_at(table, narrow, row->older)->newer = at; /* if there is none, of row 0, which nobody reads */
    *head = at;
}

/* How far a hash is shifted to give a head, less one: `head_of` shifts in two steps, because a shift by all 64 bits is
   not defined. */
static inline int shift_of(int64_t size) {
    int bits = 0;
    while (((int64_t)1 << bits) < size) bits++;
    return 63 - bits;
}

static inline uint64_t head_of(const oop_join_table *table, uint64_t word, int shift) {
    return scatter(fold_multiply(word ^ table->seed, table->factor)) >> 1 >> shift;
}

/* The link that leads to a row: of its newer neighbour, or the head of its chain. Both are computed, so that no branch
   must be predicted. */
EACH uint32_t *link_to(const oop_join_table *table, int narrow, const oop_join_links *row, uint32_t *head) {
    const uintptr_t newer = (uintptr_t)&row_at(table, narrow, row->newer)->older, none = (uintptr_t)!row->newer - 1;
    return (uint32_t *)((newer & none) | ((uintptr_t)head & ~none));
}

#endif
