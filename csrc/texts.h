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

#define NULL_MARK 0xA0761D6478BD642Fu /* as in lines.h */
#define HASHES 0x7FFFFFFF             /* as in oop.kernels.steps */
#define PLAIN_CHUNKS 64               /* after so many it is tried again whether texts come back */
#define TEXT_ROOM ((int64_t)1 << 20)  /* bytes of text that came in small batches, which a list may point to */

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
    run->when++;
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
        own->word = shard_word(list, text->length < 0 ? NULL_HASH : hash_polynomial(text->bytes, text->length, powers));
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

static inline int is_text(const oop_text *own, const oop_text *text) {
    if (own->first != text->first || own->last != text->last || own->length != text->length) return 0;
    return text->length <= OOP_TEXT_SHORT || !memcmp(own->bytes, text->bytes, (size_t)text->length);
}

/* The number of a text, which is a new one if it is not found. */
static inline int64_t number_text(oop_texts *list, const oop_text *text, uint64_t *powers) {
    const uint64_t mask = OOP_TEXT_PLACES - 1;
    uint64_t at = scatter(text->hash) >> 32 & mask;
    for (; list->places[at]; at = (at + 1) & mask)
        if (is_text(&list->texts[list->places[at] - 1], text)) return list->places[at] - 1;
    if (list->kept < OOP_TEXT_MOST) {
        list->kept++;
        list->places[at] = (uint32_t)list->count + 1;
    }
    return add_text(list, text, powers);
}

/* Gives the rows that are left the numbers of their texts. */
static int number_rows(oop_run *run, const chunk *c, oop_register *text) {
    oop_texts *list = text->own;
    const uint8_t *data = text->data;
    const int64_t *offsets = text->room, known = list->count;
    uint64_t powers[POWERS] = {0};
    if (list->room - known < c->n) {
        run->needed = known + c->n;
        run->column = (int32_t)(list - run->lists);
        return OOP_TEXTS_FULL;
    }
    for (int64_t i = 0; i < c->n; i++) {
        const int64_t row = c->all ? i : c->left[i], start = offsets[row], end = offsets[row + 1];
        int64_t number = list->null;
        if (text->valid && !text->valid[row]) {
            if (number < 0) number = add_null(list, powers);
        } else {
            if (start < 0 || start > end || end > text->bytes) return OOP_BYTES_OUTSIDE;
            const oop_text found = read_text(list, data + start, end - start);
            number = list->plain ? add_text(list, &found, powers) : number_text(list, &found, powers);
        }
        list->codes[i] = (int32_t)number;
        if (list->words) list->words[i] = list->texts[number].word;
    }
    if (list->plain) {
        if (!--list->plain) clear_places(list);
    } else if (list->kept == OOP_TEXT_MOST && 2 * (list->count - known) > c->n) {
        list->plain = PLAIN_CHUNKS;
    }
    text->codes = list->codes;
    text->from = list;
    return OOP_OK;
}

/* Gives the rows of a part the ids that their texts have in a table; `rows` NULL: all rows. What a table is asked for is
   kept in mind, unless hardly any text comes back. */
static int map_numbers(oop_run *run, const oop_register *text, oop_table *table, uint64_t when, const int64_t *rows,
                       int64_t n, int64_t *ids) {
    const oop_texts *list = text->from;
    oop_text_memo *memos = text->own->memos;
    const uint32_t stride = (uint32_t)(when % OOP_TARGETS) * (OOP_TEXT_MEMOS / 4);
    uint32_t numbers[OOP_TEXTS_AT_ONCE];
    int64_t found[OOP_TEXTS_AT_ONCE];
    int16_t places[OOP_TEXTS_AT_ONCE];
    int m = 0;
    for (int64_t i = 0; i <= n; i++) {
        if (m == OOP_TEXTS_AT_ONCE || (i == n && m)) {
            int code = oop_map_texts(table, list->texts, numbers, m, found, &run->length);
            if (code != OOP_OK) return code;
            for (int j = 0; j < m; j++) {
                ids[places[j]] = found[j];
                memos[(numbers[j] + stride) % OOP_TEXT_MEMOS] = (oop_text_memo){when, numbers[j], (uint32_t)found[j]};
            }
            m = 0;
        }
        if (i == n) break;
        const uint32_t number = (uint32_t)text->codes[rows ? rows[i] : i];
        const oop_text_memo *memo = &memos[(number + stride) % OOP_TEXT_MEMOS];
        ids[i] = memo->code;
        numbers[m] = number;
        places[m] = (int16_t)i;
        m += memo->when != when || memo->number != number;
    }
    return OOP_OK;
}

#endif
