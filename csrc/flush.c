#include "flush.h"

#include "fetch.h"
#include "hash.h"
#include "oldest.h"

#define CHUNK 128 /* rows whose slots are fetched ahead */
#define EMPTY (-1)
/* All functions that a row needs are inlined into the loop, because only there the discipline is a constant. */
#define INLINED static inline __attribute__((always_inline))

/* A table at work: a copy of it, whose numbers stay in registers whatever is written elsewhere; and the places that
   leave. Functions that are not inlined get the table itself, and read only what does not change as rows come. */
typedef struct {
    oop_flush table;
    const oop_flush *self;
    int32_t notes; /* does it note windows, for slow-flush? */
    int64_t *out;
    int64_t gone;
} working;

INLINED working start_work(const oop_flush *table, int64_t *out) {
    return (working){*table, table, table->least != NULL, out, 0};
}

INLINED uint64_t tag_of(const uint64_t *key, int64_t width) {
    uint64_t tag = key[0];
    for (int64_t i = 1; i < width; i++) tag = mix_word(tag) ^ key[i];
    return tag;
}

INLINED int is_old(const oop_slot *slot, int64_t bound) { return slot->place != EMPTY && slot->wid < bound; }

/* Is the slot's aggregate in this window? There is no branch, because the answer can hardly be predicted. */
INLINED int is_in(const oop_slot *slot, int64_t wid) { return (slot->place != EMPTY) & (slot->wid == wid); }

INLINED int is_same(const oop_flush *table, const oop_slot *slot, uint64_t tag, const uint64_t *key, int64_t wid) {
    if (slot->tag != tag || slot->wid != wid || slot->place == EMPTY) return 0;
    const uint64_t *kept = table->words + slot->place * table->width;
    for (int64_t i = 0; table->width > 1 && i < table->width; i++)
        if (kept[i] != key[i]) return 0;
    return 1;
}

INLINED void let_go(working *at, oop_slot *slot) {
    if (slot->place == EMPTY) return;
    at->out[at->gone++] = slot->place;
    slot->place = EMPTY;
}

INLINED int64_t install(working *at, oop_slot *slot, uint64_t tag, const uint64_t *key, int64_t wid) {
    oop_flush *table = &at->table;
    int64_t place = table->unused[--table->free];
    *slot = (oop_slot){tag, wid, place};
    for (int64_t i = 0; i < table->width; i++) table->words[place * table->width + i] = key[i];
    table->wids[place] = wid;
    if (at->notes) note_window(at->self, slot - table->slots, wid);
    return place;
}

/* SlowFlush of figure 7: visits one slot. */
INLINED void slow_flush(working *at) {
    oop_slot *slot = &at->table.slots[at->table.hand++];
    at->table.to_visit--;
    if (is_old(slot, at->table.current)) let_go(at, slot);
}

/* Lets go all old aggregates. They are in the slots from the hand on: those before it have been visited. */
INLINED void flush_old(working *at) {
    while (at->table.to_visit) slow_flush(at);
}

/* Slow-flush out of order (section 6): every i rows the oldest aggregate leaves, if it is old, so that one window after
   the other is complete. */
INLINED void slow_flush_every(working *at) {
    oop_flush *table = &at->table;
    if (++table->since < table->every) return;
    table->since = 0;
    if (!may_be_old(at->self)) return;
    int64_t oldest = find_oldest(at->self);
    if (oldest >= 0) let_go(at, &table->slots[oldest]);
}

/* The slot for a row whose aggregate is not in the table, with next_slot: its own, or the one behind it. */
INLINED oop_slot *choose_slot(const oop_flush *table, oop_slot *slot, oop_slot *behind) {
    if (table->in_order) /* footnote 1 */
        return is_in(slot, table->current) && !is_in(behind, table->current) ? behind : slot;
    if (slot->place == EMPTY || behind->place == EMPTY) return slot->place == EMPTY ? slot : behind;
    return behind->wid < slot->wid ? behind : slot; /* the older one goes */
}

/* ProcessTuple of figure 7. Out of order an aggregate that is in the way goes out alone, because no order must be
   kept. */
INLINED int64_t push_row(working *at, oop_slot *slot, const uint64_t *key, int64_t wid) {
    oop_flush *table = &at->table;
    if (table->in_order) {
        if (wid > table->current) { /* the start of a new window */
            flush_old(at);
            table->current = wid;
            table->hand = 0;
            table->to_visit = table->size;
        }
        if (table->to_visit) slow_flush(at);
    } else if (at->notes) {
        slow_flush_every(at);
    }
    uint64_t tag = tag_of(key, table->width);
    if (is_same(table, slot, tag, key, wid)) return slot->place;
    if (table->next_slot) {
        oop_slot *behind = slot + 1 < table->slots + table->size ? slot + 1 : table->slots;
        if (is_same(table, behind, tag, key, wid)) return behind->place;
        slot = choose_slot(table, slot, behind);
    }
    int collided = is_in(slot, wid);
    table->collided += collided;
    if (table->in_order && table->to_visit && collided) flush_old(at); /* to keep order */
    let_go(at, slot);
    return install(at, slot, tag, key, wid);
}

/* Rows, and where the place of each goes. */
typedef struct {
    const int32_t *slots;
    const uint64_t *words;
    const int64_t *wids;
    int64_t n;
    int64_t *ids;
} arriving;

INLINED void push_rows(working *at, const arriving *rows, int32_t in_order, int32_t next_slot, int32_t notes,
                       int64_t width) {
    oop_flush *table = &at->table;
    table->in_order = in_order;
    table->next_slot = next_slot;
    at->notes = notes;
    table->width = width;
    for (int64_t from = 0; from < rows->n; from += CHUNK) {
        int64_t end = rows->n - from < CHUNK ? rows->n : from + CHUNK;
        for (int64_t i = from; i < end; i++) FETCH(&table->slots[rows->slots[i]]);
        for (int64_t i = from; i < end; i++)
            rows->ids[i] = push_row(at, &table->slots[rows->slots[i]], rows->words + i * width, rows->wids[i]);
    }
}

INLINED void push_width(working *at, const arriving *rows, int64_t width) {
    if (at->table.in_order && at->table.next_slot)
        push_rows(at, rows, 1, 1, 0, width);
    else if (at->table.in_order)
        push_rows(at, rows, 1, 0, 0, width);
    else if (at->notes && at->table.next_slot)
        push_rows(at, rows, 0, 1, 1, width);
    else if (at->notes)
        push_rows(at, rows, 0, 0, 1, width);
    else if (at->table.next_slot)
        push_rows(at, rows, 0, 1, 0, width);
    else
        push_rows(at, rows, 0, 0, 0, width);
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
    const arriving rows = {slots, words, wids, n, ids};
    working at = start_work(table, out);
    if (table->width == 1)
        push_width(&at, &rows, 1);
    else
        push_width(&at, &rows, table->width);
    *table = at.table;
    *gone = at.gone;
    return OOP_OK;
}

/* Lets go aggregates, and looks only at slots below nodes that are old enough. A node whose slots have all been looked
   at then has the least window that is left there. */
static void flush_nodes(working *at, int64_t below, int32_t all, int64_t first, int64_t last) {
    const oop_flush *table = at->self;
    for (int64_t i = first, end; i < last; i = end) {
        int64_t *least = &table->least[i / CHILDREN], begin = i - i % CHILDREN, later = INT64_MAX;
        int64_t next = begin + CHILDREN < table->size ? begin + CHILDREN : table->size;
        end = next < last ? next : last;
        if (!all && *least >= below) continue;
        for (int64_t j = i; j < end; j++) {
            oop_slot *slot = &table->slots[j];
            if (all || slot->wid < below)
                let_go(at, slot);
            else if (slot->place != EMPTY && slot->wid < later)
                later = slot->wid;
        }
        if (i == begin && end == next) *least = later;
    }
}

int oop_flush_below(oop_flush *table, int64_t below, int32_t all, int64_t first, int64_t last, int64_t *out,
                    int64_t *gone) {
    working at = start_work(table, out);
    *gone = 0;
    if (first < 0 || first > last || last > table->size) return OOP_ID_OUTSIDE;
    if (table->in_order)
        for (int64_t i = first; i < last; i++)
            if (is_old(&table->slots[i], table->current) && (all || table->slots[i].wid < below))
                let_go(&at, &table->slots[i]);
    if (at.notes)
        flush_nodes(&at, below, all, first, last);
    else
        for (int64_t i = first; i < last; i++)
            if (all || table->slots[i].wid < below) let_go(&at, &table->slots[i]);
    *gone = at.gone;
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
    working at = start_work(table, NULL);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t *key = words + i * table->width;
        ids[i] = install(&at, &table->slots[slots[i]], tag_of(key, table->width), key, wids[i]);
    }
    *table = at.table;
    return OOP_OK;
}
