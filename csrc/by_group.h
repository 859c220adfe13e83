/* Rows that go into the groups of their ids: used by the sources of all aggregates. */
#ifndef OOP_BY_GROUP_H
#define OOP_BY_GROUP_H

#include <stdint.h>

#include "fetch.h"
#include "status.h"

/* Lines of the cache that are fetched at a time: more would not come any sooner. */
#define FETCHED 256
#define FEW 4096 /* groups whose state is in the cache anyway */

static inline int outside(const int64_t *ids, int64_t from, int64_t to, int64_t size) {
    uint64_t most = 0;
    for (int64_t i = from; i < to; i++) most = (uint64_t)ids[i] > most ? (uint64_t)ids[i] : most;
    return most >= (uint64_t)size && to > from;
}

/* BODY for every row i that counts, with its group g. Two loops, so that rows without nulls pay nothing for them.
   Ids are checked a chunk at a time, while they are in the cache anyway, before any of them is used. Then ASK fetches
   the state of a group, which lies in LINES lines of the cache. */
#define FOR_ROWS(COUNTS, LINES, ASK, BODY)                                     \
    for (int64_t from = 0; from < n; from += FETCHED / LINES) {                \
        int64_t to = n - from < FETCHED / LINES ? n : from + FETCHED / LINES;  \
        if (outside(ids, from, to, size)) return OOP_ID_OUTSIDE;               \
        if (size > FEW)                                                        \
            for (int64_t i = from; i < to; i++) {                              \
                int64_t g = ids[i];                                            \
                ASK                                                            \
            }                                                                  \
        if (COUNTS) {                                                          \
            for (int64_t i = from; i < to; i++)                                \
                if ((COUNTS)[i]) {                                             \
                    int64_t g = ids[i];                                        \
                    BODY                                                       \
                }                                                              \
        } else {                                                               \
            for (int64_t i = from; i < to; i++) {                              \
                int64_t g = ids[i];                                            \
                BODY                                                           \
            }                                                                  \
        }                                                                      \
    }

/* Fetch state that has an array for each word. */
#define ASK_COUNT FETCH(&counts[g]);
#define ASK_TWO(words) FETCH(&words[g]); FETCH(&counts[g]);

#endif
