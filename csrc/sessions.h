/* Open sessions by key: chains of intervals, the newest first, over arrays that the caller owns. */
#ifndef OOP_SESSIONS_H
#define OOP_SESSIONS_H

#include <stdint.h>

#include "status.h"

typedef union {
    int64_t whole;
    double real;
} oop_time;

/* One session. Links are slots, 0 where there is none: slot 0 is never used. Sessions of a key never touch. */
typedef struct {
    oop_time start; /* its first row's time */
    oop_time end;   /* its last row's time, plus the gap */
    uint32_t older; /* the session before it in time; if it was absorbed, the session that took its rows */
    uint32_t newer;
    uint32_t key;
    uint32_t state;
} oop_session;

enum {
    OOP_SESSION_OPEN = 1,
    OOP_SESSION_CHANGED = 2, /* a row came since the caller last cleared this */
    OOP_SESSION_ABSORBED = 4
};

/* What became of the rows. */
typedef struct {
    int64_t *slots;     /* each row's session */
    int64_t *lowered;   /* sessions that begin earlier now; may repeat */
    int64_t *absorbed;  /* sessions that were bridged to a newer one … */
    int64_t *survivors; /* … and the sessions that have their rows in the end */
    int64_t lowers, merges, steps; /* how many; and how many sessions were looked at in vain */
    int64_t made;                  /* how many are new; they took free slots from the end on */
} oop_extended;

/* Puts each row into the session of its key that it is in reach of, else into a new one; a row may bridge two. A time
   is in reach of a session if it is no later than its end, and the time plus the gap is no earlier than its start.
   There must be a free slot for each row, and time + gap must not overflow. Consecutive rows of one key with falling
   times cost no search each. OOP_ID_OUTSIDE: a key is outside. OOP_ROW_OUTSIDE: a free slot is outside. After these
   failures nothing has been written. */
int oop_extend_sessions(const int64_t *keys, const int64_t *times, int64_t n, int64_t gap, uint32_t *heads,
                        int64_t size, oop_session *sessions, int64_t room, const uint32_t *free, int64_t frees,
                        oop_extended *out);
int oop_extend_sessions_float(const int64_t *keys, const double *times, int64_t n, double gap, uint32_t *heads,
                              int64_t size, oop_session *sessions, int64_t room, const uint32_t *free, int64_t frees,
                              oop_extended *out);

/* Takes open sessions out of their chains, and writes down their keys, starts and ends. OOP_ROW_OUTSIDE: one is not
   open; the *done sessions before it are out. */
int oop_drop_sessions(const int64_t *slots, int64_t n, uint32_t *heads, oop_session *sessions, int64_t room,
                      int64_t *keys, oop_time *starts, oop_time *ends, int64_t *done);

/* Finds the *due open sessions that end no later than last: slots gets them in order, and has room for all. *left are
   the other open sessions. *least becomes the least of their starts and of what it was. */
int oop_sessions_until(const oop_session *sessions, int64_t room, int64_t last, int64_t *slots, int64_t *due,
                       int64_t *left, int64_t *least);
int oop_sessions_until_float(const oop_session *sessions, int64_t room, double last, int64_t *slots, int64_t *due,
                             int64_t *left, double *least);

#endif
