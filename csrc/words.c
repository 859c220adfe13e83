#include "words.h"

#include "column.h"

#define PACK(TYPE)                                                                                       \
    for (int64_t i = 0; i < n; i++) words[i * width + place] |= (uint64_t)((const TYPE *)column->data)[i] << shift;

static void pack_plain(const oop_column *column, int64_t place, int32_t shift, int64_t n, int64_t width,
                       uint64_t *words) {
    switch (column->width) {
        case 1: PACK(uint8_t) return;
        case 2: PACK(uint16_t) return;
        case 4: PACK(uint32_t) return;
        default: PACK(uint64_t) return;
    }
}

int oop_pack_words(const oop_column *columns, const int32_t *places, const int32_t *shifts, int32_t count, int64_t n,
                   int64_t width, uint64_t *words) {
    for (int32_t c = 0; c < count; c++) {
        const oop_column *column = &columns[c];
        if (!column->valid && !column->is_float) {
            pack_plain(column, places[c], shifts[c], n, width, words);
            continue;
        }
        for (int64_t i = 0; i < n; i++) {
            if (is_null(column, i))
                words[i * width + width - 1] |= (uint64_t)1 << c;
            else
                words[i * width + places[c]] |= read_word(column, i) << shifts[c];
        }
    }
    return OOP_OK;
}
