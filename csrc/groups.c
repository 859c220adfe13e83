#include "groups.h"

#include "column.h"
#include "fetch.h"
#include "hash.h"
#include "hashed.h"
#include "lines.h"
#include "records.h"
#include "text_keys.h"
#include "wide.h"

/* Rows are taken in chunks: all hashes are computed first, and the places that they lead to are fetched meanwhile. */
/* Packs keys: the bits of each column stand beside those of the column before it. */
#define PACK(type)                                                                         \
    do {                                                                                   \
        const type *data = column->data;                                                   \
        if (rows)                                                                          \
            for (int j = 0; j < m; j++) words[j] |= (uint64_t)data[rows[j]] << shift;      \
        else                                                                               \
            for (int j = 0; j < m; j++) words[j] |= (uint64_t)data[first + j] << shift;    \
    } while (0)

static void pack_column(const oop_column *column, int c, int shift, const int64_t *rows, int64_t first, int m,
                        uint64_t *words, uint32_t *nulls) {
    if (column->valid || column->is_float) {
        for (int j = 0; j < m; j++) {
            int64_t row = rows ? rows[j] : first + j;
            if (is_null(column, row))
                nulls[j] |= (uint32_t)1 << c;
            else
                words[j] |= read_word(column, row) << shift;
        }
        return;
    }
    switch (column->width) {
        case 1: PACK(uint8_t); break;
        case 2: PACK(uint16_t); break;
        case 4: PACK(uint32_t); break;
        default: PACK(uint64_t); break;
    }
}

#define KEEP(type)                                                                         \
    for (int i = 0; i < m; i++) ((type *)kept->data)[id + i] = (type)(words[i] >> shift);

/* Keeps m packed keys, the first of them under this id. */
static void keep_packed(const oop_table *table, int64_t id, const uint64_t *words, const uint32_t *nulls, int m) {
    for (int c = 0, shift = 0; c < table->columns; c++) {
        const oop_kept *kept = &table->kept[c];
        switch (kept->width) {
            case 1: KEEP(uint8_t) break;
            case 2: KEEP(uint16_t) break;
            case 4: KEEP(uint32_t) break;
            default: KEEP(uint64_t) break;
        }
        if (kept->valid)
            for (int i = 0; i < m; i++) kept->valid[id + i] = !(nulls[i] >> c & 1);
        shift += 8 * kept->width;
    }
}

/* May a key of the table, or of rows that are looked up in it, have a null? */
static int holds_nulls(const oop_table *table) {
    for (int c = 0; c < table->columns; c++)
        if (table->kept[c].valid) return 1;
    return 0;
}

/* Maps keys that have been sought, and seeks the next ones; the keys are overwritten. */
static int map_words(oop_table *table, sought *keys, sought *next, int64_t *ids, int64_t *done) {
    uint8_t rest[CHUNK];
    oop_entry *entries = table->entries;
    const uint64_t mask = (uint64_t)table->size - 1;
    const int left = find_at_once(table, keys, holds_nulls(table), next, shift_of(table->size), ids, rest);
    const int64_t known = table->count;
    int code = OOP_OK, k = 0;
    for (; k < left; k++) {
        const int j = rest[k];
        const uint64_t word = keys->words[j];
        const uint32_t nulls = keys->nulls[j];
        uint64_t at = keys->places[j];
        while (entries[at].id && (entries[at].tag != word || entries[at].nulls != nulls)) at = (at + 1) & mask;
        if (!entries[at].id) {
            if (table->count >= table->most) {
                code = OOP_FULL;
                break;
            }
            const int64_t added = table->count++ - known;
            entries[at] = (oop_entry){word, (uint32_t)table->count, nulls};
            keys->words[added] = word; /* new keys move to the front, over rows that are done */
            keys->nulls[added] = nulls;
        }
        ids[j] = (int64_t)entries[at].id - 1;
    }
    keep_packed(table, known, keys->words, keys->nulls, (int)(table->count - known));
    *done = code == OOP_OK ? keys->m : rest[k];
    return code;
}

static int map_packed(oop_table *table, const oop_column *columns, const int64_t *rows, int64_t first, int m,
                      int64_t *ids, int64_t *done) {
    sought keys;
    memset(keys.words, 0, sizeof keys.words);
    memset(keys.nulls, 0, sizeof keys.nulls);
    keys.m = m;
    for (int c = 0, at = 0; c < table->columns; c++) {
        pack_column(&columns[c], c, at, rows, first, m, keys.words, keys.nulls);
        at += 8 * columns[c].width;
    }
    seek(table, &keys, shift_of(table->size));
    return map_words(table, &keys, NULL, ids, done);
}

int oop_map_keys(oop_table *table, const oop_column *columns, const int64_t *rows, int64_t n, int64_t limit,
                 int64_t *ids, int64_t *done, int32_t *column) {
    int64_t inside = 0;
    int code = OOP_OK;
    *done = 0;
    while (*done < n && code == OOP_OK) {
        int m = n - *done < CHUNK ? (int)(n - *done) : CHUNK;
        const int64_t *chunk = rows ? rows + *done : NULL;
        if (rows)
            for (int j = 0; j < m; j++)
                if ((uint64_t)chunk[j] >= (uint64_t)limit) return OOP_ROW_OUTSIDE;
        code = table->records  ? map_records(table, columns, chunk, *done, m, ids + *done, &inside)
               : table->packed ? map_packed(table, columns, chunk, *done, m, ids + *done, &inside)
                               : map_hashed(table, columns, chunk, *done, m, ids + *done, &inside, column);
        *done += inside;
    }
    return code;
}

#define PACK_ALL(TYPE)                                                                                   \
    {                                                                                                    \
        const TYPE *data = column->data;                                                                 \
        if (at)                                                                                          \
            for (int64_t i = 0; i < n; i++) words[i] |= (uint64_t)data[i] << at;                         \
        else                                                                                             \
            for (int64_t i = 0; i < n; i++) words[i] = data[i];                                          \
    }                                                                                                    \
    break;

WIDE_CLONES static void pack_all(const oop_column *column, int at, int64_t n, uint64_t *words) {
    switch (column->width) {
        case 1: PACK_ALL(uint8_t)
        case 2: PACK_ALL(uint16_t)
        case 4: PACK_ALL(uint32_t)
        default: PACK_ALL(uint64_t)
    }
}

int oop_pack_keys(const oop_column *columns, int32_t count, int64_t n, uint64_t *words, uint32_t *nulls) {
    int any = 0;
    for (int32_t c = 0; c < count; c++) any |= columns[c].valid || columns[c].is_float;
    if (any || !count) {
        memset(words, 0, (size_t)n * sizeof *words);
        memset(nulls, 0, (size_t)n * sizeof *nulls);
    }
    for (int32_t c = 0, at = 0; c < count; c++) {
        if (any)
            for (int64_t first = 0; first < n; first += CHUNK)
                pack_column(&columns[c], c, at, NULL, first, (int)(n - first < CHUNK ? n - first : CHUNK),
                            words + first, nulls + first);
        else
            pack_all(&columns[c], at, n, words);
        at += 8 * columns[c].width;
    }
    return any;
}

/* The next keys of those that are to be mapped. */
static sought *read_packed(sought *keys, const uint64_t *packed, const uint32_t *absent, const int64_t *rows,
                           int64_t first, int64_t n) {
    const int m = keys->m = (int)(n - first < CHUNK ? n - first : CHUNK);
    if (rows)
        for (int j = 0; j < m; j++) keys->words[j] = packed[rows[first + j]];
    else
        memcpy(keys->words, packed + first, (size_t)m * sizeof *keys->words);
    if (absent)
        for (int j = 0; j < m; j++) keys->nulls[j] = absent[rows ? rows[first + j] : first + j];
    return keys;
}

int oop_map_packed(oop_table *table, const uint64_t *packed, const uint32_t *absent, const int64_t *rows, int64_t n,
                   int64_t *ids) {
    sought both[2];
    int64_t inside;
    if (!absent) /* zeros stay zeros, wherever map_words moves them */
        memset(both[0].nulls, 0, sizeof both[0].nulls), memset(both[1].nulls, 0, sizeof both[1].nulls);
    if (n) seek(table, read_packed(&both[0], packed, absent, rows, 0, n), shift_of(table->size));
    for (int64_t first = 0, turn = 0; first < n; first += CHUNK, turn ^= 1) {
        sought *next = NULL;
        if (first + CHUNK < n) next = read_packed(&both[turn ^ 1], packed, absent, rows, first + CHUNK, n);
        int code = map_words(table, &both[turn], next, ids + first, &inside);
        if (code != OOP_OK) return code;
    }
    return OOP_OK;
}

/* Clears the entries up to a place, and some more, behind those that are clear already. */
static void clear_up_to(oop_entry *entries, uint64_t place, uint64_t size, uint64_t *clear) {
    uint64_t end = place + 4096 < size ? place + 4096 : size;
    memset(entries + *clear, 0, (end - *clear) * sizeof *entries);
    *clear = end;
}

/* Old and new tables are ordered by hash, so the write position moves forward. Entries are cleared just ahead of it,
   while they are in the cache. */
int oop_rehash(const oop_table *table, oop_entry *entries, int64_t new_size) {
    const uint64_t mask = (uint64_t)new_size - 1, size = (uint64_t)new_size;
    const int shift = shift_of(new_size);
    uint64_t clear = 0;
    if (table->records) {
        memset(entries, 0, size * sizeof(uint64_t));
        rehash_records(table, (uint64_t *)entries, new_size);
        return OOP_OK;
    }
    for (int64_t i = 0; i < table->size; i++) {
        oop_entry entry = table->entries[i];
        if (!entry.id) continue;
        uint64_t hash = table->packed ? hash_packed(table, entry.tag, entry.nulls) : entry.tag;
        uint64_t at = first_place(scatter(hash), shift);
        for (;; at = (at + 1) & mask) {
            if (at >= clear) clear_up_to(entries, at, size, &clear);
            if (!entries[at].id) break;
        }
        entries[at] = entry;
    }
    if (clear < size) clear_up_to(entries, size, size, &clear);
    return OOP_OK;
}
