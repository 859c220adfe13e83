#include "flush.h"

#include "column.h"
#include "fetch.h"
#include "hash.h"

#define CHUNK 128
#define EMPTY (-1)

static inline uint64_t tag_of(const uint64_t *key, int64_t width) {
    uint64_t tag = key[0];
    for (int64_t i = 1; i < width; i++) tag = mix_word(tag) ^ key[i];
    return tag;
}

static inline int is_old(const oop_slot *slot, int64_t bound) { return slot->place != EMPTY && slot->wid < bound; }

static inline int is_new(const oop_flush *table, const oop_slot *slot) {
    return slot->place != EMPTY && slot->wid == table->current;
}

static inline int is_same(const oop_flush *table, const oop_slot *slot, uint64_t tag, const uint64_t *key, int64_t wid) {
    if (slot->tag != tag || slot->wid != wid || slot->place == EMPTY) return 0;
    const uint64_t *kept = table->words + slot->place * table->width;
    for (int64_t i = 0; table->width > 1 && i < table->width; i++)
        if (kept[i] != key[i]) return 0;
    return 1;
}

static inline void let_go(oop_slot *slot, int64_t *out, int64_t *gone) {
    if (slot->place == EMPTY) return;
    out[(*gone)++] = slot->place;
    slot->place = EMPTY;
}

static inline int64_t install(oop_flush *table, oop_slot *slot, uint64_t tag, const uint64_t *key, int64_t wid) {
    int64_t place = table->unused[--table->free];
    *slot = (oop_slot){tag, wid, place};
    for (int64_t i = 0; i < table->width; i++) table->words[place * table->width + i] = key[i];
    table->wids[place] = wid;
    return place;
}

/* SlowFlush of figure 7: one slot. */
static inline void slow_flush(oop_flush *table, int64_t *out, int64_t *gone) {
    oop_slot *slot = &table->slots[table->hand++];
    table->to_visit--;
    if (is_old(slot, table->current)) let_go(slot, out, gone);
}

/* All that is old: it is behind the hand. */
static void flush_old(oop_flush *table, int64_t *out, int64_t *gone) {
    while (table->to_visit) slow_flush(table, out, gone);
}

/* Out of order: one old aggregate with every so many rows. As many slots are visited for it, at most. */
static void slow_flush_every(oop_flush *table, int64_t *out, int64_t *gone) {
    if (++table->since < table->every) return;
    table->since = 0;
    int64_t most = table->every < table->to_visit ? table->every : table->to_visit;
    for (int64_t i = 0; i < most; i++) {
        oop_slot *slot = &table->slots[table->hand++];
        if (table->hand == table->size) table->hand = 0;
        table->to_visit--;
        if (is_old(slot, table->bound)) {
            let_go(slot, out, gone);
            return;
        }
    }
}

/* Where the aggregate of a row is, or is to be: its slot or the one behind it. */
static inline oop_slot *find_slot(const oop_flush *table, int64_t at, uint64_t tag, const uint64_t *key, int64_t wid) {
    oop_slot *slot = &table->slots[at];
    if (!table->next_slot || is_same(table, slot, tag, key, wid)) return slot;
    oop_slot *behind = at + 1 < table->size ? slot + 1 : table->slots;
    if (is_same(table, behind, tag, key, wid)) return behind;
    if (table->in_order) return is_new(table, slot) && !is_new(table, behind) ? behind : slot; /* footnote 1 */
    if (slot->place == EMPTY || behind->place == EMPTY) return slot->place == EMPTY ? slot : behind;
    return behind->wid < slot->wid ? behind : slot; /* the older one goes */
}

/* ProcessTuple of figure 7. */
static inline int64_t push_in_order(oop_flush *table, int64_t at, const uint64_t *key, int64_t wid, int64_t *out,
                                    int64_t *gone) {
    if (wid > table->current) { /* the start of a new window */
        flush_old(table, out, gone);
        table->current = wid;
        table->hand = 0;
        table->to_visit = table->size;
    }
    if (table->to_visit) slow_flush(table, out, gone);
    uint64_t tag = tag_of(key, table->width);
    oop_slot *slot = find_slot(table, at, tag, key, wid);
    if (is_same(table, slot, tag, key, wid)) return slot->place;
    if (is_new(table, slot)) { /* order is kept: all that is old goes out first */
        flush_old(table, out, gone);
        table->collided++;
    }
    let_go(slot, out, gone);
    return install(table, slot, tag, key, wid);
}

/* Out of order: whatever is in the way goes out, for nothing has to be kept in order. */
static inline int64_t push_any(oop_flush *table, int64_t at, const uint64_t *key, int64_t wid, int64_t *out,
                               int64_t *gone) {
    if (table->every) slow_flush_every(table, out, gone);
    uint64_t tag = tag_of(key, table->width);
    oop_slot *slot = find_slot(table, at, tag, key, wid);
    if (is_same(table, slot, tag, key, wid)) return slot->place;
    table->collided += slot->place != EMPTY && slot->wid == wid;
    let_go(slot, out, gone);
    return install(table, slot, tag, key, wid);
}

static int check_rows(const oop_flush *table, const int32_t *slots, const int64_t *wids, int64_t n) {
    int outside = 0, back = 0;
    for (int64_t i = 0; i < n; i++) outside |= (uint64_t)(int64_t)slots[i] >= (uint64_t)table->size;
    if (outside) return OOP_ID_OUTSIDE;
    if (table->free < n) return OOP_FULL;
    if (!table->in_order || !n) return OOP_OK;
    for (int64_t i = 1; i < n; i++) back |= wids[i] < wids[i - 1];
    return back || wids[0] < table->current ? OOP_NOT_SORTED : OOP_OK;
}

int oop_push_flush(oop_flush *table, const int32_t *slots, const uint64_t *words, const int64_t *wids, int64_t n,
                   int64_t *ids, int64_t *out, int64_t *gone) {
    *gone = 0;
    int code = check_rows(table, slots, wids, n);
    if (code != OOP_OK) return code;
    const int64_t width = table->width;
    for (int64_t from = 0; from < n; from += CHUNK) {
        int64_t end = n - from < CHUNK ? n : from + CHUNK;
        for (int64_t i = from; i < end; i++) FETCH(&table->slots[slots[i]]);
        for (int64_t i = from; i < end; i++)
            ids[i] = table->in_order ? push_in_order(table, slots[i], words + i * width, wids[i], out, gone)
                                     : push_any(table, slots[i], words + i * width, wids[i], out, gone);
    }
    return OOP_OK;
}

int oop_flush_below(oop_flush *table, int64_t below, int32_t all, int64_t *out, int64_t *gone) {
    *gone = 0;
    if (table->in_order)
        for (int64_t i = 0; i < table->size; i++)
            if (is_old(&table->slots[i], table->current) && (all || table->slots[i].wid < below))
                let_go(&table->slots[i], out, gone);
    for (int64_t i = 0; i < table->size; i++)
        if (all || table->slots[i].wid < below) let_go(&table->slots[i], out, gone);
    return OOP_OK;
}

int oop_free_places(oop_flush *table, const int64_t *places, int64_t n) {
    if (n > table->places - table->free) return OOP_FULL;
    for (int64_t i = 0; i < n; i++)
        if ((uint64_t)places[i] >= (uint64_t)table->places) return OOP_ID_OUTSIDE;
    for (int64_t i = 0; i < n; i++) table->unused[table->free++] = places[i];
    return OOP_OK;
}

int oop_restore_slots(oop_flush *table, const int32_t *slots, const uint64_t *words, const int64_t *wids, int64_t n,
                      int64_t *ids) {
    for (int64_t i = 0; i < n; i++)
        if ((uint64_t)(int64_t)slots[i] >= (uint64_t)table->size) return OOP_ID_OUTSIDE;
    if (table->free < n) return OOP_FULL;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t *key = words + i * table->width;
        ids[i] = install(table, &table->slots[slots[i]], tag_of(key, table->width), key, wids[i]);
    }
    return OOP_OK;
}

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
