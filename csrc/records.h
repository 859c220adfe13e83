/* Keys of several columns that do not fit a word, kept by row: the values of a key stand side by side in one record, and
   the records one behind the other, by id. To compare a key touches one line of the cache, not one for each column. Used
   by groups.c.

   A place of the table has 8 bytes: the upper half is a tag, the upper bits of the hash, and the lower half is one more
   than the id, 0 where the place is empty. The tag says where the search begins, so a table grows without a look at its
   records. Eight places are a line of the cache; they fill up in order, and are looked through at once. Hashes of
   different keys may have equal tags, so a key that a tag has led to is compared with its record. */
#ifndef OOP_RECORDS_H
#define OOP_RECORDS_H

#include "column.h"
#include "lines.h"

#define PLACES 8       /* of a line */
#define MOST_WORDS 16  /* of a record: a column takes one at most, and there are at most OOP_KEYS of them */

/* Rows that are looked for together: their records, as they will be kept, the tags, and the lines that they begin at. */
typedef struct {
    uint64_t words[CHUNK * MOST_WORDS], lines[CHUNK];
    uint32_t tags[CHUNK], nulls[CHUNK], ids[CHUNK];
    int m, any_nulls;
} sought_records;

#define EACH_WIDTH static inline __attribute__((always_inline))

/* The line at which the search for a tag begins. `bits` is the logarithm of the number of places, at least 3. */
EACH_WIDTH uint64_t line_of(uint32_t tag, int bits) { return ((uint64_t)tag << bits >> 32) & ~(uint64_t)(PLACES - 1); }

static inline int bits_of(int64_t size) {
    int bits = 0;
    while (((int64_t)1 << bits) < size) bits++;
    return bits;
}

#define WRITE_VALUES(TYPE)                                                                                         \
    {                                                                                                              \
        const TYPE *data = column->data;                                                                           \
        for (int j = 0; j < m; j++) memcpy(to + j * size, &data[rows ? rows[j] : first + j], sizeof *data);        \
    }                                                                                                              \
    break;

/* Writes a column's values into the records. Nulls are stored as zeros, and told apart by the columns' `valid`. */
static void write_values(const oop_column *column, int c, const int64_t *rows, int64_t first, int m, size_t size,
                         uint8_t *to, uint32_t *nulls) {
    if (column->valid || column->is_float) {
        for (int j = 0; j < m; j++) {
            const int64_t row = rows ? rows[j] : first + j;
            uint64_t word = 0;
            if (is_null(column, row))
                nulls[j] |= (uint32_t)1 << c;
            else
                word = read_word(column, row);
            memcpy(to + (size_t)j * size, &word, (size_t)column->width); /* its low bytes come first */
        }
        return;
    }
    switch (column->width) {
        case 1: WRITE_VALUES(uint8_t)
        case 2: WRITE_VALUES(uint16_t)
        case 4: WRITE_VALUES(uint32_t)
        default: WRITE_VALUES(uint64_t)
    }
}

/* Makes the records of rows, without their tags. */
static void write_records(const oop_table *table, const oop_column *columns, const int64_t *rows, int64_t first, int m,
                          sought_records *keys) {
    const size_t size = (size_t)table->record_words * sizeof *keys->words;
    size_t used = 0;
    keys->m = m;
    keys->any_nulls = 0;
    for (int c = 0; c < table->columns; c++) {
        used += (size_t)columns[c].width;
        keys->any_nulls |= columns[c].valid || table->kept[c].valid;
    }
    if (used < size) memset(keys->words, 0, (size_t)m * size); /* what no column fills is compared, too */
    memset(keys->nulls, 0, (size_t)m * sizeof *keys->nulls);
    for (int c = 0; c < table->columns; c++)
        write_values(&columns[c], c, rows, first, m, size,
                     (uint8_t *)keys->words + ((uint8_t *)table->kept[c].data - (uint8_t *)table->records), keys->nulls);
}

/* Finds out where the search for each record begins, and begins to fetch what is there. */
EACH_WIDTH void seek_records(const oop_table *table, sought_records *keys, const int words, int bits) {
    const uint64_t *entries = (const uint64_t *)table->entries, seed = table->seed, factor = table->factor;
    for (int j = 0; j < keys->m; j++) {
        uint64_t hash = seed ^ keys->nulls[j] * (uint64_t)NULL_MARK;
        for (int w = 0; w < words; w++) hash = fold_multiply(hash ^ keys->words[j * words + w], factor);
        keys->tags[j] = (uint32_t)(scatter(hash) >> 32);
        keys->lines[j] = line_of(keys->tags[j], bits);
        FETCH(&entries[keys->lines[j]]);
    }
}

/* Has the record of an id these values? Which of them are null is told by the columns' own arrays. */
EACH_WIDTH int same_record(const oop_table *table, const sought_records *keys, int j, uint32_t id, const int words) {
    const uint64_t *record = table->records + (uint64_t)id * (uint64_t)words;
    uint64_t other = 0;
    for (int w = 0; w < words; w++) other |= record[w] ^ keys->words[j * words + w];
    if (keys->any_nulls)
        for (int c = 0; c < table->columns; c++) {
            const uint8_t *valid = table->kept[c].valid;
            other |= (uint64_t)((valid && !valid[id]) != (keys->nulls[j] >> c & 1));
        }
    return !other;
}

/* The part of the work that looks through lines, in plain C and for wide vectors: IN_LINE gives the id of a tag in a line
   as its place has it, or 0, and USED how many places of a line are taken. */
#define LOOK_THROUGH(KIND, NAMED, IN_LINE, USED)                                                                   \
    KIND void known_##NAMED(const oop_table *table, sought_records *keys, const int words) {                       \
        const uint64_t *entries = (const uint64_t *)table->entries;                                                \
        for (int j = 0; j < keys->m; j++) {                                                                        \
            const uint32_t id = IN_LINE(&entries[keys->lines[j]], keys->tags[j]);                                  \
            const uint64_t *record = table->records + (uint64_t)(id - (id > 0)) * (uint64_t)words;                 \
            FETCH(record);                                                                                         \
            FETCH(record + words - 1);                                                                             \
            keys->ids[j] = id;                                                                                     \
        }                                                                                                          \
    }                                                                                                              \
    KIND void skip_full_##NAMED(const oop_table *table, sought_records *keys, const uint8_t *rest, int left) {     \
        const uint64_t *entries = (const uint64_t *)table->entries, mask = (uint64_t)table->size - 1;              \
        for (int k = 0; k < left; k++) {                                                                           \
            const uint64_t line = keys->lines[rest[k]];                                                            \
            FETCH(&entries[(line + ((uint64_t)USED(&entries[line]) & PLACES)) & mask]);                            \
        }                                                                                                          \
    }                                                                                                              \
    /* One more than the id of a key, which is new if it is in none of the lines that the search passes; 0 if there  \
       is no room for it. */                                                                                       \
    KIND uint32_t put_##NAMED(oop_table *table, const sought_records *keys, int j, const int words) {              \
        uint64_t *entries = (uint64_t *)table->entries, line = keys->lines[j];                                     \
        const uint64_t mask = (uint64_t)table->size - 1;                                                           \
        const uint32_t tag = keys->tags[j];                                                                        \
        for (;; line = (line + PLACES) & mask) {                                                                   \
            const int used = USED(&entries[line]);                                                                 \
            if (IN_LINE(&entries[line], tag)) /* as a rule there is none */                                        \
                for (int k = 0; k < used; k++) {                                                                   \
                    const uint64_t entry = entries[line + (uint64_t)k];                                            \
                    if (entry >> 32 == tag && same_record(table, keys, j, (uint32_t)entry - 1, words))             \
                        return (uint32_t)entry;                                                                    \
                }                                                                                                  \
            if (used < PLACES) {                                                                                   \
                if (table->count >= table->most) return 0;                                                         \
                keep_record(table, keys, j, words);                                                                \
                entries[line + (uint64_t)used] = (uint64_t)tag << 32 | (uint64_t)table->count;                     \
                return (uint32_t)table->count;                                                                     \
            }                                                                                                      \
        }                                                                                                          \
    }                                                                                                              \
    KIND int map_##NAMED(oop_table *table, sought_records *keys, const int words, int64_t *ids, int64_t *done) {   \
        uint8_t rest[CHUNK], differs[CHUNK];                                                                       \
        int left = 0;                                                                                              \
        seek_records(table, keys, words, bits_of(table->size));                                                    \
        known_##NAMED(table, keys, words);                                                                         \
        for (int j = 0; j < keys->m; j++) {                                                                        \
            const uint32_t id = keys->ids[j];                                                                      \
            ids[j] = (int64_t)id - 1;                                                                              \
            differs[j] = (uint8_t)(!id | !same_record(table, keys, j, id - (id > 0), words));                      \
        }                                                                                                          \
        for (int j = 0; j < keys->m; j++) { /* no branch: which keys are known cannot be predicted */              \
            rest[left] = (uint8_t)j;                                                                               \
            left += differs[j];                                                                                    \
        }                                                                                                          \
        skip_full_##NAMED(table, keys, rest, left);                                                                \
        for (int k = 0; k < left; k++) {                                                                           \
            const uint32_t id = put_##NAMED(table, keys, rest[k], words);                                          \
            if (!id) {                                                                                             \
                *done = rest[k];                                                                                   \
                return OOP_FULL;                                                                                   \
            }                                                                                                      \
            ids[rest[k]] = (int64_t)id - 1;                                                                        \
        }                                                                                                          \
        *done = keys->m;                                                                                           \
        return OOP_OK;                                                                                             \
    }

EACH_WIDTH void keep_record(oop_table *table, const sought_records *keys, int j, const int words) {
    const int64_t id = table->count++;
    uint64_t *record = table->records + (uint64_t)id * (uint64_t)words;
    for (int w = 0; w < words; w++) record[w] = keys->words[j * words + w];
    if (keys->any_nulls)
        for (int c = 0; c < table->columns; c++)
            if (table->kept[c].valid) table->kept[c].valid[id] = !(keys->nulls[j] >> c & 1);
}

EACH_WIDTH uint32_t plain_in_line(const uint64_t *line, uint32_t tag) {
    uint32_t id = 0;
    for (int k = PLACES; k-- > 0;) id = line[k] >> 32 == tag ? (uint32_t)line[k] : id;
    return id;
}

EACH_WIDTH int plain_used(const uint64_t *line) {
    int used = 0;
    for (int k = 0; k < PLACES; k++) used += (uint32_t)line[k] != 0;
    return used;
}

LOOK_THROUGH(EACH_WIDTH, plain, plain_in_line, plain_used)

#if OOP_WIDE
#define WIDE_EACH WIDE_LINE static inline __attribute__((always_inline))

/* Tags are the odd halves of words. An empty place has no id, so it does not matter that its tag is one, too. */
WIDE_EACH uint32_t wide_in_line(const uint64_t *line, uint32_t tag) {
    const __m512i places = _mm512_loadu_si512(line);
    const __mmask16 found = _mm512_mask_cmpeq_epi32_mask(0xAAAA, places, _mm512_set1_epi32((int)tag));
    return (uint32_t)_mm_cvtsi128_si32(
        _mm512_castsi512_si128(_mm512_maskz_compress_epi32((__mmask16)(found >> 1), places)));
}

WIDE_EACH int wide_used(const uint64_t *line) {
    return __builtin_popcount(_mm512_mask_test_epi32_mask(0x5555, _mm512_loadu_si512(line), _mm512_set1_epi32(-1)));
}

LOOK_THROUGH(WIDE_EACH, wide, wide_in_line, wide_used)

WIDE_LINE static int map_wide_lines(oop_table *table, sought_records *keys, int64_t *ids, int64_t *done) {
    switch (table->record_words) { /* the compiler unrolls what it knows */
        case 2: return map_wide(table, keys, 2, ids, done);
        case 3: return map_wide(table, keys, 3, ids, done);
        default: return map_wide(table, keys, table->record_words, ids, done);
    }
}
#endif

static int map_records(oop_table *table, const oop_column *columns, const int64_t *rows, int64_t first, int m,
                       int64_t *ids, int64_t *done) {
    sought_records keys;
    write_records(table, columns, rows, first, m, &keys);
#if OOP_WIDE
    if (has_lines()) return map_wide_lines(table, &keys, ids, done);
#endif
    return map_plain(table, &keys, table->record_words, ids, done);
}

static void rehash_records(const oop_table *table, uint64_t *entries, int64_t new_size) {
    const uint64_t *old = (const uint64_t *)table->entries, mask = (uint64_t)new_size - 1;
    const int bits = bits_of(new_size);
    for (int64_t i = 0; i < table->size; i++) {
        if (!(uint32_t)old[i]) continue;
        uint64_t at = line_of((uint32_t)(old[i] >> 32), bits);
        while ((uint32_t)entries[at]) at = (at + 1) & mask;
        entries[at] = old[i];
    }
}

#endif
