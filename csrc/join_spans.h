/* What probing rows look for in a table with narrow rows: words and times in 32 bits, so that few instructions tell
   whether a row is met. Used by join_probes.h. */
#ifndef OOP_JOIN_SPANS_H
#define OOP_JOIN_SPANS_H

#include "join_rows.h"
#include "wide.h"

#define NEAR_TIME (INT64_C(1) << 59) /* sums and differences of times below this cannot overflow, nor with reaches */
#define FAR_REACH (INT64_C(1) << 61) /* leads from any such time beyond all of them */

/* The spans of a chunk: a row of the table is met if it has the word, and its time, from the base on, is at most
   `widths` after `firsts`. A row that can meet none has no chain to follow: `chains` is 0 for it, and else all bits. */
typedef struct {
    uint32_t words[CHUNK], firsts[CHUNK], widths[CHUNK], chains[CHUNK];
} narrow_spans;

/* Fills in the spans of m rows whose times are near, for a reach and a base that are near too. */
WIDE_CLONES static void find_near_spans(const uint64_t *words, const int64_t *times, int m, int64_t low, int64_t high,
                                        narrow_spans *spans) {
    for (int j = 0; j < m; j++) {
        const int64_t first = times[j] + low, last = times[j] + high;
        const int none = (first > last) | (last < 0) | (first > UINT32_MAX) | (words[j] > UINT32_MAX);
        const int64_t from = first > 0 ? first : 0, to = last < UINT32_MAX ? last : UINT32_MAX;
        spans->words[j] = (uint32_t)words[j];
        spans->firsts[j] = (uint32_t)from;
        spans->widths[j] = (uint32_t)(to - from);
        spans->chains[j] = none ? 0 : UINT32_MAX;
    }
}

/* The same for any times, one by one. */
static void find_far_spans(const uint64_t *words, const int64_t *times, int m, const oop_reach *reach, int64_t base,
                           narrow_spans *spans) {
    for (int j = 0; j < m; j++) {
        const __int128 time = (__int128)times[j] - base;
        const __int128 first = reach->low == INT64_MIN ? 0 : time + reach->low;
        const __int128 last = reach->high == INT64_MAX ? UINT32_MAX : time + reach->high;
        const int none = first > last || last < 0 || first > UINT32_MAX || words[j] > UINT32_MAX;
        const __int128 from = first > 0 ? first : 0, to = last < UINT32_MAX ? last : UINT32_MAX;
        spans->words[j] = (uint32_t)words[j];
        spans->firsts[j] = (uint32_t)from;
        spans->widths[j] = (uint32_t)(to - from);
        spans->chains[j] = none ? 0 : UINT32_MAX;
    }
}

static inline int is_near(int64_t time) { return time > -NEAR_TIME && time < NEAR_TIME; }

static inline int64_t near_reach(int64_t end) {
    return end < -FAR_REACH ? -FAR_REACH : end > FAR_REACH ? FAR_REACH : end;
}

static void find_narrow_spans(const oop_join_table *table, const uint64_t *words, const int64_t *times, int m,
                              const oop_reach *reach, narrow_spans *spans) {
    int64_t least, greatest;
    find_limits(times, m, &least, &greatest);
    if (is_near(least) && is_near(greatest) && is_near(table->base)) {
        const int64_t low = near_reach(reach->low) - table->base, high = near_reach(reach->high) - table->base;
        find_near_spans(words, times, m, low, high, spans);
    } else {
        find_far_spans(words, times, m, reach, table->base, spans);
    }
}

EACH int meets_narrow(const narrow_spans *spans, uint64_t j, const oop_narrow_row *row) {
    return (row->word == spans->words[j]) & (row->time - spans->firsts[j] <= spans->widths[j]);
}

#endif
