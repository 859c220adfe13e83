#include "sessions.h"

#include "fetch.h"

/* Sessions to be dropped are fetched a chunk ahead. The sessions of rows are fetched a few rows ahead, and their heads
   twice as far: a chunk of both is more than the nearest cache holds, so it would be gone again before its use. */
#define CHUNK 256
#define AHEAD 12

/* Keys and free slots are checked before any of them is used. */
static int check_inputs(const int64_t *keys, int64_t n, int64_t size, const uint32_t *free, int64_t frees,
                        int64_t room) {
    uint64_t most = 0;
    for (int64_t i = 0; i < n; i++) most = (uint64_t)keys[i] > most ? (uint64_t)keys[i] : most;
    if (n && most >= (uint64_t)size) return OOP_ID_OUTSIDE;
    uint32_t least = UINT32_MAX, last = 0;
    for (int64_t i = frees - n; i < frees; i++) {
        least = free[i] < least ? free[i] : least;
        last = free[i] > last ? free[i] : last;
    }
    return n && (!least || last >= room) ? OOP_ROW_OUTSIDE : OOP_OK;
}

static inline void unlink_session(uint32_t *heads, oop_session *sessions, const oop_session *gone) {
    if (gone->newer)
        sessions[gone->newer].older = gone->older;
    else
        heads[gone->key] = gone->older;
    if (gone->older) sessions[gone->older].newer = gone->newer;
}

/* A row's session may have been absorbed by one that was absorbed in its turn. */
static inline uint32_t find_survivor(const oop_session *sessions, uint32_t slot) {
    while (sessions[slot].state & OOP_SESSION_ABSORBED) slot = sessions[slot].older;
    return slot;
}

static void resolve(const oop_session *sessions, int64_t n, oop_extended *out) {
    for (int64_t k = 0; k < out->merges; k++)
        out->survivors[k] = find_survivor(sessions, (uint32_t)out->absorbed[k]);
    if (out->merges)
        for (int64_t i = 0; i < n; i++) out->slots[i] = find_survivor(sessions, (uint32_t)out->slots[i]);
}

/* The search for a row begins at its key's newest session, or where the search for the row before it ended, if that row
   was later and of the same key. So rows of one key with falling times cost no search each. */
#define EXTEND(NAME, TYPE, FIELD)                                                                                  \
    int NAME(const int64_t *keys, const TYPE *times, int64_t n, TYPE gap, uint32_t *heads, int64_t size,           \
             oop_session *sessions, int64_t room, const uint32_t *free, int64_t frees, oop_extended *out) {        \
        int code = check_inputs(keys, n, size, free, frees, room);                                                 \
        if (code != OOP_OK) return code;                                                                           \
        uint32_t last = 0;                                                                                         \
        out->lowers = out->merges = out->steps = out->made = 0;                                                    \
        for (int64_t i = 0; i < n; i++) {                                                                          \
            if (i + 2 * AHEAD < n) FETCH_NEAR(&heads[keys[i + 2 * AHEAD]]);                                        \
            if (i + AHEAD < n) FETCH_NEAR(&sessions[heads[keys[i + AHEAD]]]);                                      \
            const TYPE t = times[i], end = t + gap;                                                                \
            const uint32_t key = (uint32_t)keys[i];                                                                \
            int on = last && keys[i] == keys[i - 1] && t <= times[i - 1];                                          \
            uint32_t at = on ? last : heads[key], newer = on ? sessions[last].newer : 0;                           \
            while (at && sessions[at].start.FIELD > end) {                                                         \
                newer = at;                                                                                        \
                at = sessions[at].older;                                                                           \
                out->steps++;                                                                                      \
            }                                                                                                      \
            oop_session *found = &sessions[at];                                                                    \
            if (!at || found->end.FIELD < t) { /* the row opens a session, between newer and at */                 \
                last = free[frees - ++out->made];                                                                  \
                found = &sessions[last];                                                                           \
                found->start.FIELD = t;                                                                            \
                found->end.FIELD = end;                                                                            \
                found->older = at;                                                                                 \
                found->newer = newer;                                                                              \
                found->key = key;                                                                                  \
                if (at) sessions[at].newer = last;                                                                 \
                *(newer ? &sessions[newer].older : &heads[key]) = last;                                            \
            } else {                                                                                               \
                last = at;                                                                                         \
                if (end > found->end.FIELD) found->end.FIELD = end;                                                \
                if (t < found->start.FIELD) {                                                                      \
                    oop_session *before = &sessions[found->older];                                                 \
                    uint32_t slot = found->older;                                                                  \
                    found->start.FIELD = t;                                                                        \
                    out->lowered[out->lowers++] = at;                                                              \
                    if (slot && before->end.FIELD >= t) { /* the row bridges both: the older is absorbed */        \
                        found->start = before->start; /* which is no later than t */                               \
                        unlink_session(heads, sessions, before);                                                   \
                        before->older = at;                                                                        \
                        before->state = OOP_SESSION_ABSORBED;                                                      \
                        out->absorbed[out->merges++] = slot;                                                       \
                    }                                                                                              \
                }                                                                                                  \
            }                                                                                                      \
            found->state = OOP_SESSION_OPEN | OOP_SESSION_CHANGED;                                                 \
            out->slots[i] = last;                                                                                  \
        }                                                                                                          \
        resolve(sessions, n, out);                                                                                 \
        return OOP_OK;                                                                                             \
    }

EXTEND(oop_extend_sessions, int64_t, whole)
EXTEND(oop_extend_sessions_float, double, real)

int oop_drop_sessions(const int64_t *slots, int64_t n, uint32_t *heads, oop_session *sessions, int64_t room,
                      int64_t *keys, oop_time *starts, oop_time *ends, int64_t *done) {
    for (*done = 0; *done < n;) {
        int64_t first = *done;
        int m = n - first < CHUNK ? (int)(n - first) : CHUNK;
        for (int j = 0; j < m; j++)
            if ((uint64_t)slots[first + j] < (uint64_t)room) FETCH(&sessions[slots[first + j]]);
        for (int j = 0; j < m; j++)
            if ((uint64_t)slots[first + j] < (uint64_t)room) FETCH(&heads[sessions[slots[first + j]].key]);
        for (int j = 0; j < m; j++, ++*done) {
            if ((uint64_t)slots[first + j] >= (uint64_t)room) return OOP_ROW_OUTSIDE;
            oop_session *gone = &sessions[slots[first + j]];
            if (!(gone->state & OOP_SESSION_OPEN)) return OOP_ROW_OUTSIDE;
            unlink_session(heads, sessions, gone);
            gone->state = 0;
            keys[*done] = gone->key;
            starts[*done] = gone->start;
            ends[*done] = gone->end;
        }
    }
    return OOP_OK;
}

#define UNTIL(NAME, TYPE, FIELD)                                                                                   \
    int NAME(const oop_session *sessions, int64_t room, TYPE last, int64_t *slots, int64_t *due, int64_t *left,    \
             TYPE *least) {                                                                                        \
        int64_t found = 0, others = 0;                                                                             \
        TYPE first = *least;                                                                                       \
        for (int64_t i = 1; i < room; i++) {                                                                       \
            const int open = sessions[i].state & OOP_SESSION_OPEN, ends = open & (sessions[i].end.FIELD <= last);  \
            slots[found] = i; /* overwritten by the next, unless it ends; no branch: ends are unpredictable */     \
            found += ends;                                                                                         \
            others += open & !ends;                                                                                \
            first = (open & !ends) && sessions[i].start.FIELD < first ? sessions[i].start.FIELD : first;           \
        }                                                                                                          \
        *due = found, *left = others, *least = first;                                                              \
        return OOP_OK;                                                                                             \
    }

UNTIL(oop_sessions_until, int64_t, whole)
UNTIL(oop_sessions_until_float, double, real)
