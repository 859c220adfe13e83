/* Texts as keys of a table: like map_hashed, for texts that were hashed before. Used by groups.c. */
#ifndef OOP_TEXT_KEYS_H
#define OOP_TEXT_KEYS_H

#include "hashed.h"
#include "short_text.h"

/* Is it the text of this group? Of a short one, the batch that it came in need not be read again. */
static inline int same_text(const oop_kept *kept, const oop_text *text, int64_t id) {
    const int absent = text->length < 0;
    if (absent != (kept->valid && !kept->valid[id])) return 0;
    if (absent) return 1;
    const int64_t at = kept->offsets[id];
    if (kept->offsets[id + 1] - at != text->length) return 0;
    const uint8_t *own = (const uint8_t *)kept->data + at;
    if (text->length > OOP_TEXT_SHORT) return same_bytes(own, text->bytes, (size_t)text->length);
    uint64_t first, last;
    read_short(own, text->length, &first, &last);
    return first == text->first && last == text->last;
}

/* Compares texts with those of the groups that their hashes have led to, and returns how many are left. */
static int verify_texts(const oop_kept *kept, const oop_text *texts, const uint32_t *numbers, int m, const int64_t *ids,
                        uint8_t *rest, int left) {
    if (left == m) return left;
    for (int j = 0; j < m; j++) FETCH(&kept->offsets[ids[j] < 0 ? 0 : ids[j]]);
    for (int j = 0; j < m; j++) FETCH((const uint8_t *)kept->data + kept->offsets[ids[j] < 0 ? 0 : ids[j]]);
    left = 0;
    for (int j = 0; j < m; j++)
        if (ids[j] < 0 || !same_text(kept, &texts[numbers[j]], ids[j])) rest[left++] = (uint8_t)j;
    return left;
}

/* Keeps a text as the next key. */
static int keep_text(oop_table *table, const oop_text *text, int64_t *needed) {
    const oop_kept *kept = &table->kept[0];
    const int64_t id = table->count, at = kept->offsets[id], length = text->length < 0 ? 0 : text->length;
    if (id >= table->most) return OOP_FULL;
    if (length > kept->bytes - at) {
        *needed = length;
        return OOP_FULL_BYTES;
    }
    if (kept->valid) kept->valid[id] = text->length >= 0;
    if (length) memcpy((uint8_t *)kept->data + at, text->bytes, (size_t)length);
    kept->offsets[id + 1] = at + length;
    table->count++;
    return OOP_OK;
}

int oop_map_texts(oop_table *table, const oop_text *texts, const uint32_t *numbers, int32_t m, int64_t *ids,
                  int64_t *length) {
    sought keys;
    uint8_t rest[CHUNK];
    const oop_kept *kept = &table->kept[0];
    oop_entry *entries = table->entries;
    const uint64_t mask = (uint64_t)table->size - 1;
    const int shift = shift_of(table->size);
    keys.m = m;
    for (int j = 0; j < m; j++) {
        const oop_text *text = &texts[numbers[j]];
        if (text->length < 0 && !kept->valid) return OOP_NO_NULLS;
        keys.words[j] = text->hash;
        keys.places[j] = first_place(scatter(text->hash), shift);
        FETCH(&entries[keys.places[j]]);
    }
    int left = find_at_once(table, &keys, 0, NULL, shift, ids, rest);
    left = verify_texts(kept, texts, numbers, m, ids, rest, left);
    for (int k = 0; k < left; k++) {
        const int j = rest[k];
        const oop_text *text = &texts[numbers[j]];
        uint64_t at = keys.places[j];
        while (entries[at].id && (entries[at].tag != text->hash || !same_text(kept, text, (int64_t)entries[at].id - 1)))
            at = (at + 1) & mask;
        if (!entries[at].id) {
            int code = keep_text(table, text, length);
            if (code != OOP_OK) return code;
            entries[at] = (oop_entry){text->hash, (uint32_t)table->count, 0};
        }
        ids[j] = (int64_t)entries[at].id - 1;
    }
    return OOP_OK;
}

#endif
