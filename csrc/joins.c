#include "joins.h"

#include "fetch.h"
#include "hash.h"

/* Rows are taken in chunks: what all rows of a chunk will touch is fetched before the first is worked on. */
#define CHUNK 256
#define AHEAD 16 /* rows that are fetched before they are read */
#define NO_ROW ((uint32_t)OOP_NO_ROW)

/* How far a hash is shifted to give a head, less one: `head_of` shifts in two steps, because a shift by all 64 bits is
   not defined. */
static int shift_of(int64_t size) {
    int bits = 0;
    while (((int64_t)1 << bits) < size) bits++;
    return 63 - bits;
}

static inline uint64_t head_of(const oop_join_table *table, uint64_t word, int shift) {
    return scatter(fold_multiply(word ^ table->seed, table->factor)) >> 1 >> shift;
}

static inline int has_row(const oop_join_table *table, int64_t place) {
    return (uint64_t)place < (uint64_t)table->room && table->rows[place + 1].newer != NO_ROW;
}

int oop_join_clear(oop_join_table *table, int64_t from) {
    for (int64_t place = from; place < table->room; place++) table->rows[place + 1].newer = NO_ROW;
    return OOP_OK;
}

static inline void push_row(oop_join_table *table, uint64_t head, int64_t place) {
    oop_join_row *row = &table->rows[place + 1];
    row->older = table->heads[head];
    row->newer = 0;
    table->rows[row->older].newer = (uint32_t)(place + 1); /* if there is none, of rows[0], which nobody reads */
    table->heads[head] = (uint32_t)(place + 1);
}

int oop_join_insert(oop_join_table *table, const int64_t *places, const uint64_t *words, const void *times, int64_t n,
                    int64_t *done) {
    const int shift = shift_of(table->size);
    uint64_t heads[CHUNK];
    for (*done = 0; *done < n;) {
        int64_t first = *done;
        int m = n - first < CHUNK ? (int)(n - first) : CHUNK;
        for (int j = 0; j < m; j++) {
            heads[j] = head_of(table, words[first + j], shift);
            FETCH(&table->heads[heads[j]]);
            if ((uint64_t)places[first + j] < (uint64_t)table->room) FETCH(&table->rows[places[first + j] + 1]);
        }
        for (int j = 0; j < m; j++) FETCH(&table->rows[table->heads[heads[j]]]);
        for (int j = 0; j < m; j++, ++*done) {
            int64_t place = places[first + j];
            if ((uint64_t)place >= (uint64_t)table->room || has_row(table, place)) return OOP_ROW_OUTSIDE;
            table->rows[place + 1].word = words[first + j];
            memcpy(&table->rows[place + 1].time, (const char *)times + 8 * (first + j), 8);
            push_row(table, heads[j], place);
        }
    }
    return OOP_OK;
}

/* The link that leads to a row: of its newer neighbour, or its head. Both are computed, so that no branch must be
   predicted. */
static inline uint32_t *link_to(const oop_join_table *table, const oop_join_row *row, int shift) {
    uint32_t *head = &table->heads[head_of(table, row->word, shift)], *newer = &table->rows[row->newer].older;
    return row->newer ? newer : head;
}

int oop_join_remove(oop_join_table *table, const int64_t *places, int64_t n, int64_t *done) {
    const int shift = shift_of(table->size);
    for (*done = 0; *done < n;) {
        int64_t first = *done;
        int m = n - first < CHUNK ? (int)(n - first) : CHUNK;
        for (int j = 0; j < m; j++)
            if ((uint64_t)places[first + j] < (uint64_t)table->room) FETCH(&table->rows[places[first + j] + 1]);
        for (int j = 0; j < m; j++) { /* fetches a row's neighbours, or its head */
            if (!has_row(table, places[first + j])) continue;
            const oop_join_row *row = &table->rows[places[first + j] + 1];
            FETCH(&table->rows[row->older]);
            FETCH(link_to(table, row, shift));
        }
        for (int j = 0; j < m; j++, ++*done) {
            int64_t place = places[first + j];
            if (!has_row(table, place)) return OOP_ROW_OUTSIDE;
            oop_join_row *row = &table->rows[place + 1];
            table->rows[row->older].newer = row->newer;
            *link_to(table, row, shift) = row->older;
            row->newer = NO_ROW;
        }
    }
    return OOP_OK;
}

/* Moves some neighbouring chains, in rounds: a round takes one row of each chain, from the newest on, and puts it at the
   end of its new chain. Meanwhile a new chain is a ring: its head is its last row, which is followed by the first. */
static void split_chains(oop_join_table *table, const uint32_t *old, int m, int shift) {
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
            oop_join_row *row = &table->rows[now];
            uint32_t *head = &table->heads[head_of(table, row->word, shift)];
            const uint32_t older = row->older, last = *head, first = table->rows[last].older;
            FETCH(&table->rows[older]);
            row->newer = last;
            row->older = last ? first : now;
            table->rows[last].older = now; /* if there is none, of rows[0], which nobody reads */
            *head = now;
            at[left] = older; /* overwritten by the next, unless the chain goes on */
            left += older != 0;
        }
        active = left;
    }
}

int oop_join_relink(oop_join_table *table, const uint32_t *old, int64_t old_size) {
    const int shift = shift_of(table->size);
    const int64_t times = table->size / old_size;
    table->rows[0].older = 0;
    for (int64_t chain = 0; chain < old_size; chain += CHUNK) {
        const int m = (int)(old_size - chain < CHUNK ? old_size - chain : CHUNK);
        for (int j = 0; j < CHUNK && chain + CHUNK + j < old_size; j++) FETCH(&table->rows[old[chain + CHUNK + j]]);
        split_chains(table, old + chain, m, shift);
        for (int64_t head = chain * times; head < (chain + m) * times; head++) { /* opens the rings */
            oop_join_row *last = &table->rows[table->heads[head]];
            table->heads[head] = table->heads[head] ? last->older : 0;
            last->older = 0;
        }
    }
    return OOP_OK;
}

int oop_join_read(const oop_join_table *table, const int64_t *places, int64_t n, uint64_t *words, void *times) {
    for (int64_t i = 0; i < n; i++) {
        if (i + AHEAD < n && (uint64_t)places[i + AHEAD] < (uint64_t)table->room) FETCH(&table->rows[places[i + AHEAD] + 1]);
        if (!has_row(table, places[i])) return OOP_ROW_OUTSIDE;
        const oop_join_row *row = &table->rows[places[i] + 1];
        words[i] = row->word;
        memcpy((char *)times + 8 * i, &row->time, 8);
    }
    return OOP_OK;
}

/* A probing row: its word, and the first time that it meets, with how far the last one is from there; of floats, its own
   time. */
typedef struct {
    uint64_t word;
    union {
        int64_t whole;
        double real;
    } time;
    uint64_t width;
} seeker;

/* The probing rows of a chunk. */
typedef struct {
    seeker rows[CHUNK];
    uint32_t chains[CHUNK]; /* all bits, or none of a row that meets no time at all */
    const oop_float_reach *reach; /* NULL: times are whole */
} probing;

/* Does this row meet that one? There is no branch, because the answer cannot be predicted. */
static inline int meets(const seeker *own, const oop_float_reach *reach, const oop_join_row *row) {
    int same = row->word == own->word;
    if (!reach) return same & ((uint64_t)row->time.whole - (uint64_t)own->time.whole <= own->width);
    double apart = row->time.real - own->time.real;
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
    own->time.whole = first;
    own->width = (uint64_t)last - (uint64_t)first;
    return any & (first <= last);
}

/* Finds the pairs of a chunk in rounds: a round looks at one row of each chain, from the newest on, and fetches the
   next rows of the chains that go on. Returns how many pairs there are, in the order of the probing rows. Returns -1 if
   there are more than OOP_ROUND_PAIRS: then chains are long, and are followed one by one. Compiled once for whole times
   and once for floats. */
static inline __attribute__((always_inline)) int probe_rounds(const oop_join_row *rows, const probing *chunk,
                                                              const oop_float_reach *reach, const uint32_t *heads,
                                                              int m, int64_t begin, int64_t *mine, int64_t *theirs) {
    /* a probing row in the high half, and in the low one where its chain goes on */
    uint64_t at[CHUNK + 1], met[OOP_ROUND_PAIRS + CHUNK + 1];
    int starts[CHUNK + 1] = {0}, active = 0, pairs = 0;
    for (int j = 0; j < m; j++) {
        at[active] = (uint64_t)j << 32 | heads[j];
        active += heads[j] != 0;
    }
    while (active) {
        int left = 0;
        for (int k = 0; k < active; k++) {
            const uint64_t now = at[k], j = now >> 32;
            const oop_join_row *row = &rows[(uint32_t)now];
            const uint64_t older = row->older;
            FETCH(&rows[older]);
            met[pairs] = now; /* overwritten by the next, unless they met */
            pairs += meets(&chunk->rows[j], reach, row);
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
static int probe_chains(const oop_join_table *table, const probing *chunk, const uint32_t *heads, int m, int64_t begin,
                        int64_t *mine, int64_t *theirs, int64_t room, int64_t *found, int64_t *done) {
    for (int j = 0; j < m; j++) {
        int64_t pairs = *found;
        const oop_join_row *row;
        for (uint32_t at = heads[j]; at; at = row->older) {
            row = &table->rows[at];
            if (!meets(&chunk->rows[j], chunk->reach, row)) continue;
            if (pairs == room) return OOP_FULL;
            mine[pairs] = begin + j;
            theirs[pairs++] = (int64_t)at - 1;
        }
        *found = pairs;
        *done = begin + j + 1;
    }
    return OOP_OK;
}

static int probe_chunk(const oop_join_table *table, const probing *chunk, int m, int64_t begin, int64_t *mine,
                       int64_t *theirs, int64_t room, int64_t *found, int64_t *done) {
    const int shift = shift_of(table->size);
    uint32_t heads[CHUNK];
    uint64_t places[CHUNK];
    for (int j = 0; j < m; j++) {
        places[j] = head_of(table, chunk->rows[j].word, shift);
        FETCH(&table->heads[places[j]]);
    }
    for (int j = 0; j < m; j++) {
        heads[j] = table->heads[places[j]] & chunk->chains[j];
        FETCH(&table->rows[heads[j]]);
    }
    if (room - *found >= OOP_ROUND_PAIRS) {
        int64_t *my_room = mine + *found, *their_room = theirs + *found;
        int pairs = chunk->reach ? probe_rounds(table->rows, chunk, chunk->reach, heads, m, begin, my_room, their_room)
                                 : probe_rounds(table->rows, chunk, NULL, heads, m, begin, my_room, their_room);
        if (pairs >= 0) {
            *found += pairs;
            *done = begin + m;
            return OOP_OK;
        }
    }
    return probe_chains(table, chunk, heads, m, begin, mine, theirs, room, found, done);
}

int oop_join_probe(const oop_join_table *table, const uint64_t *words, const int64_t *times, int64_t n,
                   const oop_reach *reach, int64_t *mine, int64_t *theirs, int64_t room, int64_t *found,
                   int64_t *done) {
    probing chunk;
    int code = OOP_OK;
    chunk.reach = NULL;
    while (*done < n && code == OOP_OK) {
        int64_t begin = *done;
        int m = n - begin < CHUNK ? (int)(n - begin) : CHUNK;
        for (int j = 0; j < m; j++) {
            chunk.rows[j].word = words[begin + j];
            chunk.chains[j] = find_span(reach, times[begin + j], &chunk.rows[j]) ? UINT32_MAX : 0;
        }
        code = probe_chunk(table, &chunk, m, begin, mine, theirs, room, found, done);
    }
    return code;
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
        for (int j = 0; j < m; j++) {
            chunk.rows[j].word = words[begin + j];
            chunk.rows[j].time.real = times[begin + j];
            chunk.chains[j] = UINT32_MAX;
        }
        code = probe_chunk(table, &chunk, m, begin, mine, theirs, room, found, done);
    }
    return code;
}
