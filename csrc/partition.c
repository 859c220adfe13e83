#include "partition.h"

#include "append.h"
#include "column.h"
#include "fetch.h"
#include "polynomial.h"
#include "wide.h"

#define CHUNK APPENDED

/* A number in 64 bits, widened by its sign. */
static uint64_t wide_word(const oop_column *column, int is_signed, int64_t row) {
    uint64_t word = read_word(column, row);
    if (!is_signed || column->width == 8) return word;
    uint64_t sign = (uint64_t)1 << (8 * column->width - 1);
    return (word ^ sign) - sign;
}

#define WIDE_LOOP(TYPE)                                                                  \
    for (int j = 0; j < m; j++)                                                          \
        hashes[j] = add_word(hashes[j], (uint64_t)(int64_t)((const TYPE *)column->data)[from + j]);

WIDE_CLONES static int hash_column(const oop_column *column, int is_signed, const uint64_t *powers, int64_t from, int m,
                        uint64_t *hashes) {
    if (column->width && !column->valid && !column->is_float && (is_signed || column->width == 8)) {
        switch (column->width) { /* the common columns, without a choice in the loop */
            case 1: WIDE_LOOP(int8_t) return OOP_OK;
            case 2: WIDE_LOOP(int16_t) return OOP_OK;
            case 4: WIDE_LOOP(int32_t) return OOP_OK;
            default: WIDE_LOOP(int64_t) return OOP_OK;
        }
    }
    for (int j = 0; j < m; j++) {
        int64_t row = from + j;
        uint64_t word = NULL_MARK;
        if (!is_null(column, row)) {
            if (!column->width && !bytes_inside(column, row)) return OOP_BYTES_OUTSIDE;
            if (column->width)
                word = wide_word(column, is_signed, row);
            else
                word = hash_polynomial((const uint8_t *)column->data + column->offsets[row],
                                       column->offsets[row + 1] - column->offsets[row], powers);
        }
        hashes[j] = add_word(hashes[j], word);
    }
    return OOP_OK;
}

WIDE_CLONES static void scale_hashes(const uint64_t *hashes, int m, int64_t shards, int32_t *out) {
    for (int j = 0; j < m; j++) out[j] = scale_hash(hashes[j], shards);
}

/* The shards of m <= CHUNK rows from the row `from` on. */
static int hash_chunk(const oop_column *columns, const int32_t *is_signed, int32_t width, const uint64_t *powers,
                      int64_t from, int m, int64_t shards, int32_t *out) {
    uint64_t hashes[CHUNK] = {0};
    for (int32_t c = 0; c < width; c++) {
        int code = hash_column(&columns[c], is_signed[c], powers, from, m, hashes);
        if (code != OOP_OK) return code;
    }
    scale_hashes(hashes, m, shards, out);
    return OOP_OK;
}

int oop_hash_partition(const oop_column *columns, const int32_t *is_signed, int32_t width, int64_t n, int64_t shards,
                       int32_t *out) {
    uint64_t powers[POWERS];
    fill_powers(powers);
    for (int64_t from = 0; from < n; from += CHUNK) {
        int m = n - from < CHUNK ? (int)(n - from) : CHUNK;
        int code = hash_chunk(columns, is_signed, width, powers, from, m, shards, out + from);
        if (code != OOP_OK) return code;
    }
    return OOP_OK;
}

int oop_exchange_rows(const oop_column *columns, const int32_t *is_signed, int32_t width, int64_t n, int64_t shards,
                      const oop_payload *payload, int32_t payloads, int64_t room, int64_t *ends) {
    int32_t shard[CHUNK];
    uint64_t powers[POWERS];
    fill_powers(powers);
    for (int64_t from = 0; from < n; from += CHUNK) {
        int m = n - from < CHUNK ? (int)(n - from) : CHUNK;
        int code = hash_chunk(columns, is_signed, width, powers, from, m, shards, shard);
        if (code != OOP_OK) return code;
        for (int32_t s = 0; s < shards; s++) {
            int count = count_rows_of(shard, m, s);
            if (count > room - ends[s]) return OOP_FULL;
            for (int32_t p = 0; p < payloads; p++) {
                int64_t size = payload[p].width;
                const char *values = (const char *)payload[p].values + from * size;
                char *out = (char *)payload[p].outs[s] + ends[s] * size;
                append_rows(values, size, shard, m, s, out, room - ends[s] - count);
            }
            ends[s] += count;
        }
    }
    return OOP_OK;
}

#define TAKE(TYPE)                                                                                       \
    for (int64_t i = 0; i < n; i++) {                                                                    \
        if ((uint64_t)rows[i] >= (uint64_t)limit) return OOP_ROW_OUTSIDE;                                \
        ((TYPE *)out)[i] = ((const TYPE *)values)[rows[i]];                                              \
    }                                                                                                    \
    return OOP_OK;

int oop_take_fixed(const void *values, int64_t width, int64_t limit, const int64_t *rows, int64_t n, void *out) {
    switch (width) {
        case 1: TAKE(uint8_t)
        case 2: TAKE(uint16_t)
        case 4: TAKE(uint32_t)
        default: TAKE(uint64_t)
    }
}

/* What a chunk of rows needs is fetched first. */
#define AT_ONCE 256
#define TAKE_OUT(TYPE)                                                                                   \
    for (int64_t from = 0; from < n; from += AT_ONCE) {                                                  \
        const int64_t to = n - from < AT_ONCE ? n : from + AT_ONCE;                                      \
        for (int64_t i = from; i < to; i++) {                                                            \
            if ((uint64_t)rows[i] >= (uint64_t)limit) return OOP_ROW_OUTSIDE;                            \
            FETCH(&((TYPE *)values)[rows[i]]);                                                           \
        }                                                                                                \
        for (int64_t i = from; i < to; i++) {                                                            \
            ((TYPE *)out)[i] = ((TYPE *)values)[rows[i]];                                                \
            ((TYPE *)values)[rows[i]] = 0;                                                               \
        }                                                                                                \
    }                                                                                                    \
    return OOP_OK;

int oop_take_out(void *values, int64_t width, int64_t limit, const int64_t *rows, int64_t n, void *out) {
    switch (width) {
        case 1: TAKE_OUT(uint8_t)
        case 2: TAKE_OUT(uint16_t)
        case 4: TAKE_OUT(uint32_t)
        default: TAKE_OUT(uint64_t)
    }
}
