/* Probing the rows of a join's table: pairs of probing rows, a chunk at a time, with the rows that they meet. Used by
   joins.c. */
#ifndef OOP_JOIN_PROBES_H
#define OOP_JOIN_PROBES_H

#include "fetch.h"
#include "join_rows.h"
#include "join_spans.h"

/* A row that probes a table with wide rows: its word, and the first time that it meets, with how far the last one is
   from there; of floats, its own time. */
typedef struct {
    uint64_t word, time, width;
} seeker;

/* The probing rows of a chunk, of a table with wide rows, or with narrow ones. */
typedef struct {
    const uint64_t *words;
    seeker rows[CHUNK];
    narrow_spans spans; /* `chains` are also those of wide rows */
    const oop_float_reach *reach; /* NULL: times are whole */
} probing;

static inline double as_real(uint64_t bits) {
    double real;
    memcpy(&real, &bits, 8);
    return real;
}

/* Does this row meet that one? There is no branch, because the answer cannot be predicted. */
EACH int meets(const probing *chunk, uint64_t j, const oop_float_reach *reach, int narrow, const oop_join_links *row) {
    if (narrow) return meets_narrow(&chunk->spans, j, (const oop_narrow_row *)row);
    const seeker *own = &chunk->rows[j];
    int same = word_of(row, 0) == own->word;
    uint64_t time = time_of(row, 0, 0);
    if (!reach) return same & (time - own->time <= own->width);
    double apart = as_real(time) - as_real(own->time);
    int from = reach->low_open ? apart > reach->low : apart >= reach->low;
    int to = reach->high_open ? apart < reach->high : apart <= reach->high;
    return same & from & to;
}

/* Fills in the times that a row of time t meets. Returns whether there are any: a reach may lead beyond all times. */
static inline int find_span(const oop_reach *reach, int64_t t, seeker *own) {
    int64_t first = INT64_MIN, last = INT64_MAX;
    int any = 1;
    if (reach->low != INT64_MIN && __builtin_add_overflow(t, reach->low, &first)) {
        any &= reach->low < 0;
        first = INT64_MIN;
    }
    if (reach->high != INT64_MAX && __builtin_add_overflow(t, reach->high, &last)) {
        any &= reach->high > 0;
        last = INT64_MAX;
    }
    own->time = (uint64_t)first;
    own->width = (uint64_t)last - (uint64_t)first;
    return any & (first <= last);
}

/* Finds the pairs of a chunk in rounds: a round looks at one row of each chain, from the newest on, and fetches the
   next rows of the chains that go on. Returns how many pairs there are, in the order of the probing rows. Returns -1 if
   there are more than OOP_ROUND_PAIRS: then chains are long, and are followed one by one. */
EACH int probe_rounds(const oop_join_table *table, int narrow, const probing *chunk, const oop_float_reach *reach,
                      const uint32_t *heads, int m, int64_t begin, int64_t *mine, int64_t *theirs) {
    /* a probing row in the high half, and in the low one where its chain goes on */
    uint64_t at[CHUNK + 1], met[OOP_ROUND_PAIRS + CHUNK + 1];
    const oop_join_table own = *table; /* which no store below can change, as the compiler must see */
    int starts[CHUNK + 1] = {0}, active = 0, pairs = 0;
    for (int j = 0; j < m; j++) {
        at[active] = (uint64_t)j << 32 | heads[j];
        active += heads[j] != 0;
    }
    while (active) {
        int left = 0;
        for (int k = 0; k < active; k++) {
            const uint64_t now = at[k], j = now >> 32;
            const oop_join_links *row = row_at(&own, narrow, (uint32_t)now);
            const uint64_t older = row->older;
            FETCH_NEAR(row_at(&own, narrow, older));
            met[pairs] = now; /* overwritten by the next, unless they met */
            pairs += meets(chunk, j, reach, narrow, row);
            at[left] = j << 32 | older; /* likewise, unless the chain goes on */
            left += older != 0;
        }
        if (pairs > OOP_ROUND_PAIRS) return -1;
        active = left;
    }
    for (int k = 0; k < pairs; k++) starts[(met[k] >> 32) + 1]++;
    for (int j = 0; j < m; j++) starts[j + 1] += starts[j];
    for (int k = 0; k < pairs; k++) {
        const uint64_t j = met[k] >> 32;
        mine[starts[j]] = begin + (int64_t)j;
        theirs[starts[j]++] = (int64_t)(uint32_t)met[k] - 1;
    }
    return pairs;
}

/* Finds the pairs of a chunk one chain after the other, up to the row whose pairs find no room. */
EACH int probe_chains(const oop_join_table *table, int narrow, const probing *chunk, const uint32_t *heads, int m,
                      int64_t begin, int64_t *mine, int64_t *theirs, int64_t room, int64_t *found, int64_t *done) {
    for (int j = 0; j < m; j++) {
        int64_t pairs = *found;
        const oop_join_links *row;
        for (uint32_t at = heads[j]; at; at = row->older) {
            row = row_at(table, narrow, at);
            if (!meets(chunk, (uint64_t)j, chunk->reach, narrow, row)) continue;
            if (pairs == room) return OOP_FULL;
            mine[pairs] = begin + j;
            theirs[pairs++] = (int64_t)at - 1;
        }
        *found = pairs;
        *done = begin + j + 1;
    }
    return OOP_OK;
}

/* `reach` is that of the chunk, by which it is compiled for whole times and for floats. */
EACH int probe_chunk(const oop_join_table *table, int narrow, const probing *chunk, const oop_float_reach *reach, int m,
                     int64_t begin, int64_t *mine, int64_t *theirs, int64_t room, int64_t *found, int64_t *done) {
    const int shift = shift_of(table->size);
    uint32_t heads[CHUNK];
    uint64_t places[CHUNK];
    for (int j = 0; j < m; j++) {
        places[j] = head_of(table, chunk->words[j], shift);
        FETCH(&table->heads[places[j]]);
    }
    for (int j = 0; j < m; j++) {
        heads[j] = table->heads[places[j]] & chunk->spans.chains[j];
        FETCH(row_at(table, narrow, heads[j]));
    }
    if (room - *found >= OOP_ROUND_PAIRS) {
        int64_t *my_room = mine + *found, *their_room = theirs + *found;
        int pairs = probe_rounds(table, narrow, chunk, reach, heads, m, begin, my_room, their_room);
        if (pairs >= 0) {
            *found += pairs;
            *done = begin + m;
            return OOP_OK;
        }
    }
    return probe_chains(table, narrow, chunk, heads, m, begin, mine, theirs, room, found, done);
}

EACH int probe_whole(const oop_join_table *table, int narrow, const uint64_t *words, const int64_t *times, int64_t n,
                     const oop_reach *reach, int64_t *mine, int64_t *theirs, int64_t room, int64_t *found,
                     int64_t *done) {
    probing chunk;
    int code = OOP_OK;
    chunk.reach = NULL;
    while (*done < n && code == OOP_OK) {
        int64_t begin = *done;
        int m = n - begin < CHUNK ? (int)(n - begin) : CHUNK;
        chunk.words = words + begin;
        if (narrow) {
            find_narrow_spans(table, words + begin, times + begin, m, reach, &chunk.spans);
        } else {
            for (int j = 0; j < m; j++) {
                chunk.rows[j].word = words[begin + j];
                chunk.spans.chains[j] = find_span(reach, times[begin + j], &chunk.rows[j]) ? UINT32_MAX : 0;
            }
        }
        code = probe_chunk(table, narrow, &chunk, NULL, m, begin, mine, theirs, room, found, done);
    }
    return code;
}

#endif
