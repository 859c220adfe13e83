#include "joins.h"

#include "fetch.h"
#include "hash.h"

/* Rows are taken in chunks: what all of them will touch is on its way into the cache before the first is worked on. */
#define CHUNK 256
#define DEPTH 4 /* rows of a chain that are fetched beforehand */
#define NO_ROW ((uint32_t)OOP_NO_ROW)

/* How far a hash is shifted to give a head; one less than would do, for a shift by all 64 bits is not defined. */
static int shift_of(int64_t size) {
    int bits = 0;
    while (((int64_t)1 << bits) < size) bits++;
    return 63 - bits;
}

static inline uint64_t head_of(const oop_join_table *table, uint64_t word, int shift) {
    return scatter(fold_multiply(word ^ table->seed, table->factor)) >> 1 >> shift;
}

static inline int has_row(const oop_join_table *table, int64_t place) {
    return (uint64_t)place < (uint64_t)table->room && table->rows[place].newer != NO_ROW;
}

int oop_join_clear(oop_join_table *table, int64_t from) {
    for (int64_t place = from; place < table->room; place++) table->rows[place].newer = NO_ROW;
    return OOP_OK;
}

static inline void push_row(oop_join_table *table, uint64_t head, int64_t place) {
    oop_join_row *row = &table->rows[place];
    row->next = table->heads[head];
    row->newer = 0;
    if (row->next) table->rows[row->next - 1].newer = (uint32_t)(place + 1);
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
            if ((uint64_t)places[first + j] < (uint64_t)table->room) FETCH(&table->rows[places[first + j]]);
        }
        for (int j = 0; j < m; j++) {
            uint32_t next = table->heads[heads[j]];
            if (next) FETCH(&table->rows[next - 1]);
        }
        for (int j = 0; j < m; j++, ++*done) {
            int64_t place = places[first + j];
            if ((uint64_t)place >= (uint64_t)table->room || has_row(table, place)) return OOP_ROW_OUTSIDE;
            table->rows[place].word = words[first + j];
            memcpy(&table->rows[place].time, (const char *)times + 8 * (first + j), 8);
            push_row(table, heads[j], place);
        }
    }
    return OOP_OK;
}

int oop_join_remove(oop_join_table *table, const int64_t *places, int64_t n, int64_t *done) {
    const int shift = shift_of(table->size);
    for (*done = 0; *done < n;) {
        int64_t first = *done;
        int m = n - first < CHUNK ? (int)(n - first) : CHUNK;
        for (int j = 0; j < m; j++)
            if ((uint64_t)places[first + j] < (uint64_t)table->room) FETCH(&table->rows[places[first + j]]);
        for (int j = 0; j < m; j++) { /* its neighbours, or its head */
            if (!has_row(table, places[first + j])) continue;
            const oop_join_row *row = &table->rows[places[first + j]];
            if (row->next) FETCH(&table->rows[row->next - 1]);
            if (row->newer)
                FETCH(&table->rows[row->newer - 1]);
            else
                FETCH(&table->heads[head_of(table, row->word, shift)]);
        }
        for (int j = 0; j < m; j++, ++*done) {
            int64_t place = places[first + j];
            if (!has_row(table, place)) return OOP_ROW_OUTSIDE;
            oop_join_row *row = &table->rows[place];
            if (row->next) table->rows[row->next - 1].newer = row->newer;
            if (row->newer)
                table->rows[row->newer - 1].next = row->next;
            else
                table->heads[head_of(table, row->word, shift)] = row->next;
            row->newer = NO_ROW;
        }
    }
    return OOP_OK;
}

int oop_join_relink(oop_join_table *table, const uint32_t *old, int64_t old_size) {
    const int shift = shift_of(table->size);
    for (int64_t chain = 0; chain < old_size; chain++) {
        uint32_t at = old[chain];
        if (!at) continue;
        while (table->rows[at - 1].next) at = table->rows[at - 1].next;
        while (at) { /* from the oldest on, so that rows with the same word keep their order */
            uint32_t newer = table->rows[at - 1].newer;
            push_row(table, head_of(table, table->rows[at - 1].word, shift), (int64_t)at - 1);
            at = newer;
        }
    }
    return OOP_OK;
}

int oop_join_read(const oop_join_table *table, const int64_t *places, int64_t n, uint64_t *words, void *times) {
    for (int64_t i = 0; i < n; i++) {
        if (!has_row(table, places[i])) return OOP_ROW_OUTSIDE;
        const oop_join_row *row = &table->rows[places[i]];
        words[i] = row->word;
        memcpy((char *)times + 8 * i, &row->time, 8);
    }
    return OOP_OK;
}

/* The times from *first to *last that a row of time t meets; 0 if there are none. */
static inline int find_span(const oop_reach *reach, int64_t t, int64_t *first, int64_t *last) {
    *first = INT64_MIN;
    *last = INT64_MAX;
    if (reach->low != INT64_MIN && __builtin_add_overflow(t, reach->low, first)) {
        if (reach->low > 0) return 0;
        *first = INT64_MIN;
    }
    if (reach->high != INT64_MAX && __builtin_add_overflow(t, reach->high, last)) {
        if (reach->high < 0) return 0;
        *last = INT64_MAX;
    }
    return *first <= *last;
}

static inline int meets_real(const oop_float_reach *reach, double t, double s) {
    double apart = s - t;
    int from = reach->low_open ? apart > reach->low : apart >= reach->low;
    int to = reach->high_open ? apart < reach->high : apart <= reach->high;
    return from & to;
}

/* Heads to the rows that they lead to. Down a chain each row waits for the one before it, but the chains of a chunk do not
   wait for each other: the first rows of all are fetched, then the second ones, and so on. */
static inline void fetch_chains(const oop_join_table *table, uint64_t *heads, int m) {
    uint32_t at[CHUNK];
    for (int j = 0; j < m; j++) {
        at[j] = table->heads[heads[j]];
        heads[j] = at[j];
        if (at[j]) FETCH(&table->rows[at[j] - 1]);
    }
    for (int depth = 1; depth < DEPTH; depth++)
        for (int j = 0; j < m; j++) {
            if (!at[j]) continue;
            at[j] = table->rows[at[j] - 1].next;
            if (at[j]) FETCH(&table->rows[at[j] - 1]);
        }
}

/* The loop of both kinds of times. SPAN says whether probing row i may meet any, MEETS whether it meets `row`. */
#define PROBE(SPAN, MEETS)                                                            \
    const int shift = shift_of(table->size);                                          \
    uint64_t heads[CHUNK];                                                            \
    int64_t pairs = *found;                                                           \
    for (int64_t begin = *done; begin < n; begin += CHUNK) {                          \
        int m = n - begin < CHUNK ? (int)(n - begin) : CHUNK;                         \
        for (int j = 0; j < m; j++) {                                                 \
            heads[j] = head_of(table, words[begin + j], shift);                       \
            FETCH(&table->heads[heads[j]]);                                           \
        }                                                                             \
        fetch_chains(table, heads, m);                                                \
        for (int j = 0; j < m; j++) {                                                 \
            int64_t i = begin + j, before = pairs;                                    \
            if (!heads[j] || !(SPAN)) continue;                                       \
            const oop_join_row *row;                                                  \
            for (uint32_t at = (uint32_t)heads[j]; at; at = row->next) {              \
                row = &table->rows[at - 1];                                           \
                mine[pairs] = i; /* written over by the next, unless they meet */     \
                theirs[pairs] = (int64_t)at - 1;                                      \
                pairs += (row->word == words[i]) & (MEETS);                           \
                if (pairs > room) {                                                   \
                    *found = before;                                                  \
                    *done = i;                                                        \
                    return OOP_FULL;                                                  \
                }                                                                     \
            }                                                                         \
        }                                                                             \
    }                                                                                 \
    *found = pairs;                                                                   \
    *done = n;                                                                        \
    return OOP_OK;

int oop_join_probe(const oop_join_table *table, const uint64_t *words, const int64_t *times, int64_t n,
                   const oop_reach *reach, int64_t *mine, int64_t *theirs, int64_t room, int64_t *found,
                   int64_t *done) {
    int64_t first = 0, last = 0;
    PROBE(find_span(reach, times[i], &first, &last), (row->time.whole >= first) & (row->time.whole <= last))
}

int oop_join_probe_float(const oop_join_table *table, const uint64_t *words, const double *times, int64_t n,
                         const oop_float_reach *reach, int64_t *mine, int64_t *theirs, int64_t room, int64_t *found,
                         int64_t *done) {
    PROBE(1, meets_real(reach, times[i], row->time.real))
}
