#include "joins.h"

#include "fetch.h"
#include "join_probes.h"
#include "join_rows.h"

#define AHEAD 16 /* rows that are fetched before they are read */
#define SPAN (INT64_C(1) << 31) /* times further apart than this are not made narrow */

/* Does the function for narrow rows, or the one for wide rows. */
#define BY_WIDTH(FUNCTION, ...) (table->narrow ? FUNCTION(table, 1, __VA_ARGS__) : FUNCTION(table, 0, __VA_ARGS__))

EACH int clear_rows(oop_join_table *table, int narrow, int64_t from) {
    for (int64_t place = from; place < table->room; place++) row_at(table, narrow, (uint64_t)place + 1)->newer = NO_ROW;
    return OOP_OK;
}

int oop_join_clear(oop_join_table *table, int64_t from) { return BY_WIDTH(clear_rows, from); }

static inline uint64_t bits_at(const void *times, int64_t i) {
    uint64_t bits;
    memcpy(&bits, (const char *)times + 8 * i, 8);
    return bits;
}

EACH int insert_rows(oop_join_table *table, int narrow, const int64_t *places, const uint64_t *words, const void *times,
                     int64_t n, int64_t *done) {
    const int shift = shift_of(table->size);
    const uint64_t base = (uint64_t)table->base;
    uint64_t heads[CHUNK];
    for (*done = 0; *done < n;) {
        int64_t first = *done;
        int m = n - first < CHUNK ? (int)(n - first) : CHUNK;
        uint64_t bits = 0;
        for (int j = 0; j < m && narrow; j++) bits |= words[first + j] | (bits_at(times, first + j) - base);
        if (bits >> 32) return OOP_TOO_WIDE;
        for (int j = 0; j < m; j++) {
            heads[j] = head_of(table, words[first + j], shift);
            FETCH(&table->heads[heads[j]]);
            uint64_t place = (uint64_t)places[first + j];
            if (place < (uint64_t)table->room) FETCH(row_at(table, narrow, place + 1));
        }
        for (int j = 0; j < m; j++) FETCH(row_at(table, narrow, table->heads[heads[j]]));
        for (int j = 0; j < m; j++, ++*done) {
            int64_t place = places[first + j];
            if ((uint64_t)place >= (uint64_t)table->room || has_row(table, narrow, place)) return OOP_ROW_OUTSIDE;
            uint32_t at = (uint32_t)(place + 1);
            write_row(row_at(table, narrow, at), narrow, base, words[first + j], bits_at(times, first + j));
            push_row(table, narrow, &table->heads[heads[j]], at);
        }
    }
    return OOP_OK;
}

int oop_join_insert(oop_join_table *table, const int64_t *places, const uint64_t *words, const void *times, int64_t n,
                    int64_t *done) {
    return BY_WIDTH(insert_rows, places, words, times, n, done);
}

int oop_join_rebase(oop_join_table *table, const int64_t *times, int64_t n) {
    int64_t least = INT64_MAX, greatest = INT64_MIN;
    for (int64_t i = 0; i < n; i++) {
        least = times[i] < least ? times[i] : least;
        greatest = times[i] > greatest ? times[i] : greatest;
    }
    for (int64_t place = 0; place < table->room; place++) {
        if (!has_row(table, 1, place)) continue;
        int64_t time = (int64_t)time_of(row_at(table, 1, (uint64_t)place + 1), 1, (uint64_t)table->base);
        least = time < least ? time : least;
        greatest = time > greatest ? time : greatest;
    }
    if (least > greatest || least < INT64_MIN + SPAN / 2 || (uint64_t)greatest - (uint64_t)least > SPAN)
        return OOP_TOO_WIDE;
    const int64_t base = least - SPAN / 2;
    for (int64_t place = 0; place < table->room; place++)
        if (has_row(table, 1, place))
            ((oop_narrow_row *)row_at(table, 1, (uint64_t)place + 1))->time +=
                (uint32_t)((uint64_t)table->base - (uint64_t)base);
    table->base = base;
    return OOP_OK;
}

int oop_join_widen(oop_join_table *table, void *rows) {
    oop_wide_row *wide = rows;
    for (int64_t at = 0; at <= table->room; at++) {
        const oop_join_links *row = row_at(table, 1, (uint64_t)at);
        wide[at].links = *row;
        wide[at].word = word_of(row, 1);
        wide[at].time = time_of(row, 1, (uint64_t)table->base);
    }
    table->rows = rows;
    table->narrow = 0;
    return OOP_OK;
}

EACH int remove_rows(oop_join_table *table, int narrow, const int64_t *places, int64_t n, int64_t *done) {
    const int shift = shift_of(table->size);
    uint32_t *heads[CHUNK];
    for (*done = 0; *done < n;) {
        int64_t first = *done;
        int m = n - first < CHUNK ? (int)(n - first) : CHUNK;
        for (int j = 0; j < m; j++) {
            uint64_t place = (uint64_t)places[first + j];
            if (place < (uint64_t)table->room) FETCH(row_at(table, narrow, place + 1));
        }
        for (int j = 0; j < m; j++) { /* fetches a row's neighbours, or its head */
            if (!has_row(table, narrow, places[first + j])) continue;
            const oop_join_links *row = row_at(table, narrow, (uint64_t)places[first + j] + 1);
            FETCH(row_at(table, narrow, row->older));
            heads[j] = &table->heads[head_of(table, word_of(row, narrow), shift)];
            FETCH(link_to(table, narrow, row, heads[j]));
        }
        for (int j = 0; j < m; j++, ++*done) {
            int64_t place = places[first + j];
            if (!has_row(table, narrow, place)) return OOP_ROW_OUTSIDE;
            oop_join_links *row = row_at(table, narrow, (uint64_t)place + 1);
            row_at(table, narrow, row->older)->newer = row->newer;
            *link_to(table, narrow, row, heads[j]) = row->older;
            row->newer = NO_ROW;
        }
    }
    return OOP_OK;
}

int oop_join_remove(oop_join_table *table, const int64_t *places, int64_t n, int64_t *done) {
    return BY_WIDTH(remove_rows, places, n, done);
}

/* Moves some neighbouring chains, in rounds: a round takes one row of each chain, from the newest on, and puts it at
   the end of its new chain. Meanwhile a new chain is a ring: its head is its last row, which is followed by the
   first. */
EACH void split_chains(oop_join_table *table, int narrow, const uint32_t *old, int m, int shift) {
    uint32_t at[CHUNK + 1];
    int active = 0;
    for (int j = 0; j < m; j++) {
        at[active] = old[j];
        active += old[j] != 0;
    }
    while (active) {
        int left = 0;
        for (int k = 0; k < active; k++) {
            const uint32_t now = at[k];
            oop_join_links *row = row_at(table, narrow, now);
            uint32_t *head = &table->heads[head_of(table, word_of(row, narrow), shift)];
            const uint32_t older = row->older, last = *head, first = row_at(table, narrow, last)->older;
            FETCH(row_at(table, narrow, older));
            row->newer = last;
            row->older = last ? first : now;
            row_at(table, narrow, last)->older = now; /* if there is none, of row 0, which nobody reads */
            *head = now;
            at[left] = older; /* overwritten by the next, unless the chain goes on */
            left += older != 0;
        }
        active = left;
    }
}

EACH int relink_rows(oop_join_table *table, int narrow, const uint32_t *old, int64_t old_size) {
    const int shift = shift_of(table->size);
    const int64_t times = table->size / old_size;
    row_at(table, narrow, 0)->older = 0;
    for (int64_t chain = 0; chain < old_size; chain += CHUNK) {
        const int m = (int)(old_size - chain < CHUNK ? old_size - chain : CHUNK);
        for (int j = 0; j < CHUNK && chain + CHUNK + j < old_size; j++)
            FETCH(row_at(table, narrow, old[chain + CHUNK + j]));
        split_chains(table, narrow, old + chain, m, shift);
        for (int64_t head = chain * times; head < (chain + m) * times; head++) { /* opens the rings */
            oop_join_links *last = row_at(table, narrow, table->heads[head]);
            table->heads[head] = table->heads[head] ? last->older : 0;
            last->older = 0;
        }
    }
    return OOP_OK;
}

int oop_join_relink(oop_join_table *table, const uint32_t *old, int64_t old_size) {
    return BY_WIDTH(relink_rows, old, old_size);
}

EACH int read_rows(const oop_join_table *table, int narrow, const int64_t *places, int64_t n, uint64_t *words,
                   void *times) {
    for (int64_t i = 0; i < n; i++) {
        if (i + AHEAD < n && (uint64_t)places[i + AHEAD] < (uint64_t)table->room)
            FETCH(row_at(table, narrow, (uint64_t)places[i + AHEAD] + 1));
        if (!has_row(table, narrow, places[i])) return OOP_ROW_OUTSIDE;
        const oop_join_links *row = row_at(table, narrow, (uint64_t)places[i] + 1);
        const uint64_t time = time_of(row, narrow, (uint64_t)table->base);
        words[i] = word_of(row, narrow);
        memcpy((char *)times + 8 * i, &time, 8);
    }
    return OOP_OK;
}

int oop_join_read(const oop_join_table *table, const int64_t *places, int64_t n, uint64_t *words, void *times) {
    return BY_WIDTH(read_rows, places, n, words, times);
}

int oop_join_probe(const oop_join_table *table, const uint64_t *words, const int64_t *times, int64_t n,
                   const oop_reach *reach, int64_t *mine, int64_t *theirs, int64_t room, int64_t *found,
                   int64_t *done) {
    return BY_WIDTH(probe_whole, words, times, n, reach, mine, theirs, room, found, done);
}

int oop_join_probe_float(const oop_join_table *table, const uint64_t *words, const double *times, int64_t n,
                         const oop_float_reach *reach, int64_t *mine, int64_t *theirs, int64_t room, int64_t *found,
                         int64_t *done) {
    probing chunk;
    int code = OOP_OK;
    chunk.reach = reach;
    while (*done < n && code == OOP_OK) {
        int64_t begin = *done;
        int m = n - begin < CHUNK ? (int)(n - begin) : CHUNK;
        chunk.words = words + begin;
        for (int j = 0; j < m; j++) {
            chunk.rows[j].word = words[begin + j];
            memcpy(&chunk.rows[j].time, &times[begin + j], 8);
            chunk.spans.chains[j] = UINT32_MAX;
        }
        code = probe_chunk(table, 0, &chunk, reach, m, begin, mine, theirs, room, found, done);
    }
    return code;
}
