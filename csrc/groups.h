/* Keys to dense ids: open addressing over tables whose memory the caller owns. */
#ifndef OOP_GROUPS_H
#define OOP_GROUPS_H

#include <stdint.h>

#include "coded.h"
#include "status.h"

/* One place of the table. Where a key fits a word, the tag is the key itself and a look-up touches nothing else. */
typedef struct {
    uint64_t tag;   /* the key, or its hash */
    uint32_t id;    /* one more than the group's id; 0: empty */
    uint32_t nulls; /* where the tag is the key: a bit for each column that is null */
} oop_entry;

/* One key column of the rows. */
typedef struct {
    const void *data;
    const int64_t *offsets; /* of bytes: row i is data[offsets[i]..offsets[i + 1]) */
    const uint8_t *valid;   /* NULL: no row is null */
    int64_t bytes;          /* of bytes: how many there are in data */
    int32_t width;          /* 1, 2, 4 or 8 bytes; 0: bytes of any length */
    int32_t is_float;       /* -0.0 is 0.0, and every NaN the same one */
} oop_column;

/* One key column of the groups, by id. */
typedef struct {
    void *data;
    int64_t *offsets; /* of bytes: room + 1 of them, the first one 0 */
    uint8_t *valid;   /* NULL until rows come with a valid for this column */
    int64_t bytes;    /* room of data, of bytes only */
    int32_t width;
} oop_kept;

typedef struct {
    oop_entry *entries;
    oop_kept *kept;
    int64_t size;    /* places, a power of two */
    int64_t count;   /* groups so far */
    int64_t most;    /* groups that may be held before entries or kept must grow */
    uint64_t seed;   /* both secret, so that nobody can choose keys that meet in one place */
    uint64_t factor; /* odd */
    int32_t columns;
    int32_t packed; /* do all columns together fit a word? */
    uint64_t *records;    /* NULL, or the keys by row: kept has where the values of the first one are (see records.h) */
    int32_t record_words; /* of a record */
} oop_table;

/* ids[i] = the id of row rows[i] (of row i, if rows is NULL); new keys get the next ids. Rows have numbers below limit.
   *done is how many rows were mapped: with OOP_OK, all; with OOP_FULL (there are more groups than table->most) or
   OOP_FULL_BYTES (*column says which column lacks room), those before the row that found no room. The caller makes room
   and goes on from there. */
int oop_map_keys(oop_table *table, const oop_column *columns, const int64_t *rows, int64_t n, int64_t limit,
                 int64_t *ids, int64_t *done, int32_t *column);

/* The keys of n rows in a word each, for tables whose keys fit one; nulls has a bit for each column. The result is
   whether nulls was filled: where it was not, no key is null. Of count columns, all have a width. */
int oop_pack_keys(const oop_column *columns, int32_t count, int64_t n, uint64_t *words, uint32_t *nulls);

/* Like oop_map_keys, for packed keys; absent is NULL if no key is null. With OOP_FULL nothing is known of the ids: the
   caller makes room and begins anew, which gives keys that were mapped the same ids again. */
int oop_map_packed(oop_table *table, const uint64_t *packed, const uint32_t *absent, const int64_t *rows, int64_t n,
                   int64_t *ids);

/* Like oop_map_keys, for those with these numbers among some texts, of which at most OOP_TEXTS_AT_ONCE are looked for.
   The table has one key column, of bytes. With OOP_FULL_BYTES *length is that of the text that found no room; with
   OOP_NO_NULLS there is no room for a null. After a failure the caller begins anew, as with oop_map_packed. */
int oop_map_texts(oop_table *table, const oop_text *texts, const uint32_t *numbers, int32_t m, int64_t *ids,
                  int64_t *length);

/* Copies all entries to a new array of new_size places, a power of two; what it had before does not matter. The table's
   size and entries stay as they are; the caller changes them. */
int oop_rehash(const oop_table *table, oop_entry *entries, int64_t new_size);

#endif
