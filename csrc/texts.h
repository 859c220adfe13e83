/* Key columns that are text: rows get the numbers of their texts, and those become codes of the tables of targets. Used
   by targets.h and exchange.h.

   A text is hashed and compared once for each row, in the list of the program that reads it. Only numbers cross to other
   shards, and a target's table is asked once for most texts. */
#ifndef OOP_TEXTS_H
#define OOP_TEXTS_H

#include <string.h>

#include "chunks.h"
#include "polynomial.h"
#include "short_text.h"

#define HASHES 0x7FFFFFFF /* as in oop.kernels.steps */
#define PLAIN_CHUNKS 256 /* after so many it is tried again whether texts come back */
#define FEW_NEW 8        /* one text in so many may be new before it is faster not to look for them */
#define TEXT_ROOM ((int64_t)1 << 20) /* bytes of text copied (chunks of several batches), beyond which lists begin anew */

static void clear_places(oop_texts *list) {
    if (list->kept) memset(list->places, 0, OOP_TEXT_PLACES * sizeof *list->places);
    list->kept = 0;
    list->null = -1;
}

/* Forgets all texts, before the memory that they are in is given back. */
static void forget_texts(oop_run *run) {
    for (int32_t i = 0; i < run->list_count; i++) {
        clear_places(&run->lists[i]);
        run->lists[i].count = 0;
    }
    run->text_used = 0;
    run->generation++;
}

/* Before a chunk: are there too many texts? Those of rows that were sent must stay. */
static void limit_texts(oop_run *run) {
    if (run->shard_register >= 0 && run->list_count) return;
    int full = !run->list_count || run->text_used > TEXT_ROOM;
    for (int32_t i = 0; i < run->list_count; i++) full |= run->lists[i].room - run->lists[i].count < OOP_ROWS;
    if (full) forget_texts(run);
}

static inline uint64_t shard_word(const oop_texts *list, uint64_t word) {
    return list->is_hashed ? (uint64_t)(int64_t)scale_hash(add_word(0, word), HASHES) : word;
}

/* Appends a text, for which there is room, and returns its number. */
static inline int64_t add_text(oop_texts *list, const oop_text *text, uint64_t *powers) {
    oop_text *own = &list->texts[list->count];
    *own = *text;
    if (list->words) {
        if (!powers[0]) fill_powers(powers);
        own->word = shard_word(list, text->length < 0 ? NULL_MARK : hash_polynomial(text->bytes, text->length, powers));
    }
    return list->count++;
}

static int64_t add_null(oop_texts *list, uint64_t *powers) {
    const uint64_t hash = fold_multiply(list->seed ^ NULL_MARK, list->factor);
    return list->null = add_text(list, &(oop_text){0, 0, NULL, -1, hash, 0}, powers);
}

static inline oop_text read_text(const oop_texts *list, const uint8_t *bytes, int64_t length) {
    oop_text text = {0, 0, bytes, length, 0, 0};
    if (length <= OOP_TEXT_SHORT) { /* what hash_bytes would find */
        read_short(bytes, length, &text.first, &text.last);
        text.hash = fold_multiply(text.first ^ list->factor, text.last ^ list->seed ^ (uint64_t)length);
    } else {
        text.hash = text.first = hash_bytes(bytes, (size_t)length, list->seed, list->factor);
    }
    return text;
}

static inline int differs(const oop_text *own, uint64_t first, uint64_t last, int64_t length) {
    return ((own->first ^ first) | (own->last ^ last) | (uint64_t)(own->length ^ length)) != 0;
}

static inline int is_text(const oop_text *own, const oop_text *text) {
    if (differs(own, text->first, text->last, text->length)) return 0;
    return text->length <= OOP_TEXT_SHORT || !memcmp(own->bytes, text->bytes, (size_t)text->length);
}

static inline uint64_t first_of(uint64_t hash) { return scatter(hash) >> 32 & (OOP_TEXT_PLACES - 1); }

/* The number of a text, which is a new one if it is not found. `at` is where the search begins. */
static int64_t seek_text(oop_texts *list, const oop_text *text, uint64_t at, uint64_t *powers) {
    if (list->plain) return add_text(list, text, powers);
    for (; list->places[at]; at = (at + 1) % OOP_TEXT_PLACES)
        if (is_text(&list->texts[list->places[at] - 1], text)) return list->places[at] - 1;
    if (list->kept < OOP_TEXT_MOST) {
        list->kept++;
        list->places[at] = (uint32_t)list->count + 1;
    }
    return add_text(list, text, powers);
}

/* Do the offsets of all rows lie within the data, in order? */
static int are_inside(const oop_register *text, int64_t rows) {
    const int64_t *offsets = text->room;
    int wrong = offsets[0] < 0 || offsets[rows] > text->bytes;
    for (int64_t i = 0; i < rows; i++) wrong |= offsets[i] > offsets[i + 1];
    return !wrong;
}

/* Gives rows the numbers of their texts; `left` NULL: all rows. Most texts are short, and found where they are looked for
   first. */
static void number_some(oop_texts *list, const oop_register *text, const int64_t *left, int64_t n) {
    const uint8_t *data = text->data, *valid = text->valid;
    const int64_t *offsets = text->room;
    const uint64_t seed = list->seed, factor = list->factor;
    uint64_t powers[POWERS] = {0};
    for (int64_t i = 0; i < n; i++) {
        const int64_t row = left ? left[i] : i, length = offsets[row + 1] - offsets[row];
        const uint8_t *bytes = data + offsets[row];
        int64_t number;
        if (valid && !valid[row]) {
            number = list->null < 0 ? add_null(list, powers) : list->null;
        } else if (length >= 8 && length <= OOP_TEXT_SHORT) {
            const uint64_t first = read_8(bytes), last = read_8(bytes + length - 8);
            const uint64_t hash = fold_multiply(first ^ factor, last ^ seed ^ (uint64_t)length), at = first_of(hash);
            number = (int64_t)list->places[at] - 1;
            if (number < 0 || differs(&list->texts[number], first, last, length)) {
                const oop_text found = {first, last, bytes, length, hash, 0};
                number = seek_text(list, &found, at, powers);
            }
        } else {
            const oop_text found = read_text(list, bytes, length);
            number = seek_text(list, &found, first_of(found.hash), powers);
        }
        list->codes[i] = (int32_t)number;
    }
    if (list->words)
        for (int64_t i = 0; i < n; i++) list->words[i] = list->texts[list->codes[i]].word;
}

/* Gives the rows that are left the numbers of their texts. If these hardly come back, and stay in this program, they get
   none, and are mapped where they lie. */
static int number_rows(oop_run *run, const chunk *c, oop_register *text) {
    oop_texts *list = text->own;
    const int64_t known = list->count;
    if (list->plain && run->shard_register < 0) {
        if (!--list->plain) clear_places(list);
        return OOP_OK;
    }
    if (list->room - known < c->n) {
        run->needed = known + c->n;
        run->column = (int32_t)(list - run->lists);
        return OOP_TEXTS_FULL;
    }
    if (!are_inside(text, c->rows)) return OOP_BYTES_OUTSIDE;
    number_some(list, text, c->all ? NULL : c->left, c->n);
    if (list->plain) {
        if (!--list->plain) clear_places(list);
    } else if (list->kept == OOP_TEXT_MOST && FEW_NEW * (list->count - known) > c->n) {
        list->plain = PLAIN_CHUNKS;
    }
    text->codes = list->codes;
    text->from = list;
    return OOP_OK;
}

/* Gives at most OOP_TEXTS_AT_ONCE rows the codes that their texts have in a table, or, if a text is the only key, the ids
   of its groups. What a table was asked for is remembered. */
static inline __attribute__((always_inline)) int map_some(oop_run *run, const oop_register *text, oop_table *table,
                                                          uint64_t whose, const int64_t *rows, int64_t first, int m,
                                                          int64_t *ids, int32_t *codes) {
    const oop_texts *list = text->from;
    oop_text_memo *memos = text->own->memos;
    const uint32_t stride = (uint32_t)(whose % OOP_TARGETS) * (OOP_TEXT_MEMOS / 4);
    uint32_t numbers[OOP_TEXTS_AT_ONCE];
    int64_t found[OOP_TEXTS_AT_ONCE];
    uint8_t places[OOP_TEXTS_AT_ONCE];
    const int all = list->plain != 0; /* then nothing is worth remembering */
    int left = 0;
    for (int j = 0; j < m; j++) {
        const int64_t row = rows ? rows[first + j] : first + j;
        const uint32_t number = (uint32_t)text->codes[row];
        numbers[left] = number;
        places[left] = (uint8_t)j;
        if (all) {
            left++;
            continue;
        }
        const oop_text_memo *memo = &memos[(number + stride) % OOP_TEXT_MEMOS];
        if (codes)
            codes[row] = (int32_t)memo->code;
        else
            ids[first + j] = memo->code;
        left += (memo->whose != whose) | (memo->number != number);
    }
    if (!left) return OOP_OK;
    int code = oop_map_texts(table, list->texts, numbers, left, found, &run->length);
    if (code != OOP_OK) return code;
    for (int k = 0; k < left; k++) {
        const int64_t at = first + places[k];
        if (codes)
            codes[rows ? rows[at] : at] = (int32_t)found[k];
        else
            ids[at] = found[k];
        if (!all) memos[(numbers[k] + stride) % OOP_TEXT_MEMOS] = (oop_text_memo){whose, numbers[k], (uint32_t)found[k]};
    }
    return OOP_OK;
}

/* As map_some, for any number of rows; `rows` NULL: all. `codes` go to the rows' places, and `ids` side by side; one of
   them is NULL. */
static int map_numbers(oop_run *run, const oop_register *text, oop_table *table, uint64_t whose, const int64_t *rows,
                       int64_t n, int64_t *ids, int32_t *codes) {
    int code = OOP_OK;
    for (int64_t first = 0; code == OOP_OK && first < n; first += OOP_TEXTS_AT_ONCE) {
        const int m = n - first < OOP_TEXTS_AT_ONCE ? (int)(n - first) : OOP_TEXTS_AT_ONCE;
        if (!codes)
            code = map_some(run, text, table, whose, rows, first, m, ids, NULL);
        else if (rows)
            code = map_some(run, text, table, whose, rows, first, m, NULL, codes);
        else
            code = map_some(run, text, table, whose, NULL, first, m, NULL, codes);
    }
    return code;
}

/* Maps texts that have no numbers. The rows of the chunk that are left have these places among `rows`; NULL: all. */
static int map_plain(oop_run *run, const chunk *c, const oop_register *text, oop_table *table, const int64_t *rows,
                     int64_t n, int64_t *ids, int32_t *codes) {
    const oop_column column = {text->data, text->room, text->valid, text->bytes, 0, 0};
    int64_t *inside = run->scratch + 9 * OOP_ROWS, done;
    int32_t full;
    if (column.valid && !table->kept[0].valid) return OOP_NO_NULLS;
    for (int64_t i = 0; !c->all && i < n; i++) inside[i] = c->left[rows ? rows[i] : i];
    const int64_t *chosen = c->all ? rows : inside;
    int code = oop_map_keys(table, &column, chosen, n, c->rows, ids, &done, &full);
    if (code == OOP_FULL_BYTES) {
        const int64_t *offsets = text->room, row = chosen ? chosen[done] : done;
        run->length = offsets[row + 1] - offsets[row];
    }
    for (int64_t i = 0; code == OOP_OK && codes && i < n; i++) codes[rows ? rows[i] : i] = (int32_t)ids[i];
    return code;
}

#endif
