/* Keys that do not fit a word: a table finds them by their hashes, and then compares the key itself. Used by groups.c. */
#ifndef OOP_HASHED_H
#define OOP_HASHED_H

#include "column.h"
#include "lines.h"

static int shift_of(int64_t size) {
    int bits = 0;
    while (((int64_t)1 << bits) < size) bits++;
    return 64 - bits;
}

static inline int64_t row_at(const int64_t *rows, int64_t first, int j) { return rows ? rows[j] : first + j; }

static inline size_t bytes_of(const oop_column *column, int64_t row) {
    return (size_t)(column->offsets[row + 1] - column->offsets[row]);
}

#define HASH_NUMBERS(TYPE)                                                                                         \
    {                                                                                                              \
        const TYPE *data = column->data;                                                                           \
        if (rows)                                                                                                  \
            for (int j = 0; j < m; j++) hashes[j] = fold_multiply(hashes[j] ^ data[rows[j]], factor);              \
        else                                                                                                       \
            for (int j = 0; j < m; j++) hashes[j] = fold_multiply(hashes[j] ^ data[first + j], factor);            \
    }                                                                                                              \
    break;

static void hash_numbers(const oop_column *column, const int64_t *rows, int64_t first, int m, uint64_t factor,
                         uint64_t *restrict hashes) {
    switch (column->width) {
        case 1: HASH_NUMBERS(uint8_t)
        case 2: HASH_NUMBERS(uint16_t)
        case 4: HASH_NUMBERS(uint32_t)
        default: HASH_NUMBERS(uint64_t)
    }
}

static int hash_rows(const oop_table *table, const oop_column *columns, const int64_t *rows, int64_t first, int m,
                     uint64_t *hashes) {
    for (int j = 0; j < m; j++) hashes[j] = table->seed;
    for (int c = 0; c < table->columns; c++) {
        const oop_column *column = &columns[c];
        if (column->width && !column->valid && !column->is_float) {
            hash_numbers(column, rows, first, m, table->factor, hashes);
            continue;
        }
        for (int j = 0; j < m; j++) {
            const int64_t row = row_at(rows, first, j);
            uint64_t hash = hashes[j];
            if (is_null(column, row)) {
                hash = fold_multiply(hash ^ NULL_MARK, table->factor);
            } else if (column->width) {
                hash = fold_multiply(hash ^ read_word(column, row), table->factor);
            } else {
                if (!bytes_inside(column, row)) return OOP_BYTES_OUTSIDE;
                hash = hash_bytes((const uint8_t *)column->data + column->offsets[row], bytes_of(column, row), hash,
                                  table->factor);
            }
            hashes[j] = hash;
        }
    }
    return OOP_OK;
}

static inline uint64_t kept_word(const oop_kept *kept, int64_t id) {
    switch (kept->width) {
        case 1: return ((const uint8_t *)kept->data)[id];
        case 2: return ((const uint16_t *)kept->data)[id];
        case 4: return ((const uint32_t *)kept->data)[id];
        default: return ((const uint64_t *)kept->data)[id];
    }
}

/* Most texts are short, and a call of memcmp costs more than to look at them. */
static inline int same_bytes(const uint8_t *a, const uint8_t *b, size_t n) {
    if (n > 32) return !memcmp(a, b, n);
    if (n >= 8) {
        uint64_t other = read_8(a + n - 8) ^ read_8(b + n - 8); /* the last ones, perhaps once more */
        for (size_t at = 0; at + 8 < n; at += 8) other |= read_8(a + at) ^ read_8(b + at);
        return !other;
    }
    if (n >= 4) return read_4(a) == read_4(b) && read_4(a + n - 4) == read_4(b + n - 4);
    for (size_t at = 0; at < n; at++)
        if (a[at] != b[at]) return 0;
    return 1;
}

/* Has a group this value of a key column? */
static inline int same_value(const oop_column *column, const oop_kept *kept, int64_t row, int64_t id) {
    const int absent = is_null(column, row);
    if (absent != (kept->valid && !kept->valid[id])) return 0;
    if (absent) return 1;
    if (column->width) return read_word(column, row) == kept_word(kept, id);
    const int64_t at = kept->offsets[id];
    const size_t length = bytes_of(column, row);
    return (size_t)(kept->offsets[id + 1] - at) == length &&
           same_bytes((const uint8_t *)column->data + column->offsets[row], (const uint8_t *)kept->data + at, length);
}

static int same_key(const oop_table *table, const oop_column *columns, int64_t row, int64_t id) {
    for (int c = 0; c < table->columns; c++)
        if (!same_value(&columns[c], &table->kept[c], row, id)) return 0;
    return 1;
}

#define COMPARE_NUMBERS(TYPE)                                                                                      \
    {                                                                                                              \
        const TYPE *data = column->data, *other = kept->data;                                                      \
        if (rows)                                                                                                  \
            for (int j = 0; j < m; j++) differs[j] |= data[rows[j]] != other[known[j]];                            \
        else                                                                                                       \
            for (int j = 0; j < m; j++) differs[j] |= data[first + j] != other[known[j]];                          \
    }                                                                                                              \
    break;

/* Marks rows whose key in this column is not that of the group that their hash has led to. Rows that were not found are
   compared with any group, which is faster than to leave them out. */
static void compare_column(const oop_column *column, const oop_kept *kept, const int64_t *rows, int64_t first, int m,
                           const int64_t *ids, const int64_t *known, uint8_t *restrict differs) {
    if (column->width && !column->valid && !kept->valid && !column->is_float) {
        switch (column->width) {
            case 1: COMPARE_NUMBERS(uint8_t)
            case 2: COMPARE_NUMBERS(uint16_t)
            case 4: COMPARE_NUMBERS(uint32_t)
            default: COMPARE_NUMBERS(uint64_t)
        }
        return;
    }
    for (int j = 0; j < m; j++)
        if (ids[j] >= 0) differs[j] |= !same_value(column, kept, row_at(rows, first, j), ids[j]);
}

/* Fetches what the keys of the chunk are compared with. */
static void fetch_kept(const oop_kept *kept, const int64_t *known, int m) {
    const char *from = kept->width ? kept->data : kept->offsets;
    const int64_t width = kept->width ? kept->width : (int64_t)sizeof *kept->offsets;
    for (int j = 0; j < m; j++) FETCH(from + known[j] * width);
}

/* Compares the keys of rows with those of the groups that they have been led to. Hashes of different keys may be equal,
   though that is hardly ever so: such rows join those that are left to be looked for one by one. */
static int verify(const oop_table *table, const oop_column *columns, const int64_t *rows, int64_t first, int m,
                  const int64_t *ids, uint8_t *rest, int left) {
    uint8_t differs[CHUNK] = {0};
    int64_t known[CHUNK];
    int any = 0;
    if (left == m) return left;
    for (int j = 0; j < m; j++) known[j] = ids[j] < 0 ? 0 : ids[j];
    for (int c = 0; c < table->columns; c++) fetch_kept(&table->kept[c], known, m);
    for (int c = 0; c < table->columns; c++)
        compare_column(&columns[c], &table->kept[c], rows, first, m, ids, known, differs);
    for (int j = 0; j < m; j++) any |= differs[j] & (ids[j] >= 0);
    if (!any) return left;
    left = 0;
    for (int j = 0; j < m; j++)
        if (ids[j] < 0 || differs[j]) rest[left++] = (uint8_t)j;
    return left;
}

static inline void keep_word(const oop_kept *kept, int64_t id, uint64_t word) {
    switch (kept->width) {
        case 1: ((uint8_t *)kept->data)[id] = (uint8_t)word; break;
        case 2: ((uint16_t *)kept->data)[id] = (uint16_t)word; break;
        case 4: ((uint32_t *)kept->data)[id] = (uint32_t)word; break;
        default: ((uint64_t *)kept->data)[id] = word; break;
    }
}

/* Keeps a key of any shape. Returns -1, or the number of the bytes column that has no room for it. */
static int keep_key(const oop_table *table, const oop_column *columns, int64_t row) {
    int64_t id = table->count;
    for (int c = 0; c < table->columns; c++) {
        const oop_kept *kept = &table->kept[c];
        if (kept->width || is_null(&columns[c], row)) continue;
        if ((int64_t)bytes_of(&columns[c], row) > kept->bytes - kept->offsets[id]) return c;
    }
    for (int c = 0; c < table->columns; c++) {
        const oop_column *column = &columns[c];
        const oop_kept *kept = &table->kept[c];
        int absent = is_null(column, row);
        if (kept->valid) kept->valid[id] = !absent;
        if (kept->width) {
            keep_word(kept, id, absent ? 0 : read_word(column, row));
        } else {
            int64_t at = kept->offsets[id];
            size_t length = absent ? 0 : bytes_of(column, row);
            if (length) memcpy((uint8_t *)kept->data + at, (const uint8_t *)column->data + column->offsets[row], length);
            kept->offsets[id + 1] = at + (int64_t)length;
        }
    }
    return -1;
}

static int map_hashed(oop_table *table, const oop_column *columns, const int64_t *rows, int64_t first, int m,
                      int64_t *ids, int64_t *done, int32_t *full) {
    sought keys;
    uint8_t rest[CHUNK];
    oop_entry *entries = table->entries;
    const uint64_t mask = (uint64_t)table->size - 1;
    const int shift = shift_of(table->size);
    *done = 0;
    int code = hash_rows(table, columns, rows, first, m, keys.words);
    if (code != OOP_OK) return code;
    keys.m = m;
    for (int j = 0; j < m; j++) {
        keys.places[j] = first_place(scatter(keys.words[j]), shift);
        FETCH(&entries[keys.places[j]]);
    }
    int left = find_at_once(table, &keys, 0, NULL, shift, ids, rest);
    left = verify(table, columns, rows, first, m, ids, rest, left);
    for (int k = 0; k < left; k++) {
        const int j = rest[k];
        const int64_t row = row_at(rows, first, j);
        const uint64_t hash = keys.words[j];
        uint64_t at = keys.places[j];
        while (entries[at].id && (entries[at].tag != hash || !same_key(table, columns, row, (int64_t)entries[at].id - 1)))
            at = (at + 1) & mask;
        if (!entries[at].id) {
            *done = j;
            if (table->count >= table->most) return OOP_FULL;
            *full = keep_key(table, columns, row);
            if (*full >= 0) return OOP_FULL_BYTES;
            entries[at] = (oop_entry){hash, (uint32_t)++table->count, 0};
        }
        ids[j] = (int64_t)entries[at].id - 1;
    }
    *done = m;
    return OOP_OK;
}

#endif
