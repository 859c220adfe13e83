/* Reading key columns: used by the sources that hash them. */
#ifndef OOP_COLUMN_H
#define OOP_COLUMN_H

#include "groups.h"

/* The bits of a float, with -0.0 as 0.0 and every NaN as the same one. */
static inline uint64_t normal_float(uint64_t bits) {
    uint64_t magnitude = bits & 0x7FFFFFFFFFFFFFFFu;
    if (magnitude == 0) return 0;
    return magnitude > 0x7FF0000000000000u ? 0x7FF8000000000000u : bits;
}

static inline uint64_t read_word(const oop_column *column, int64_t row) {
    switch (column->width) {
        case 1: return ((const uint8_t *)column->data)[row];
        case 2: return ((const uint16_t *)column->data)[row];
        case 4: return ((const uint32_t *)column->data)[row];
        default: {
            uint64_t word = ((const uint64_t *)column->data)[row];
            return column->is_float ? normal_float(word) : word;
        }
    }
}

static inline int is_null(const oop_column *column, int64_t row) { return column->valid && !column->valid[row]; }

/* Do the bytes of a row lie within the data? */
static inline int bytes_inside(const oop_column *column, int64_t row) {
    int64_t start = column->offsets[row], end = column->offsets[row + 1];
    return 0 <= start && start <= end && end <= column->bytes;
}

#endif
