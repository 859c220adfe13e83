/* Open sessions by key: chains of intervals, the newest first, over arrays that the caller owns. */
#ifndef OOP_SESSIONS_H
#define OOP_SESSIONS_H

#include <stdint.h>

#include "status.h"

typedef union {
    int64_t whole;
    double real;
} oop_time;

/* One session. Links are slots, 0 where there is none: slot 0 is nobody's. Sessions of a key never touch. */
typedef struct {
    oop_time start; /* its first row's time */
    oop_time end;   /* its last row's, and the gap */
    uint32_t older; /* the one before it in time; of one that was absorbed the one that has its rows now */
    uint32_t newer;
    uint32_t key;
    uint32_t state;
} oop_session;

enum {
    OOP_SESSION_OPEN = 1,
    OOP_SESSION_CHANGED = 2, /* since who saves it last looked */
    OOP_SESSION_ABSORBED = 4
};

/* What became of the rows. */
typedef struct {
    int64_t *slots;     /* of each row its session */
    int64_t *lowered;   /* sessions that begin earlier now; may repeat */
    int64_t *absorbed;  /* sessions that were bridged to a newer one … */
    int64_t *survivors; /* … and what has their rows in the end */
    int64_t lowers, merges, steps; /* how many; and how many sessions were looked at in vain */
    int64_t made;                  /* new sessions: the last so many of the free slots, the last first */
} oop_extended;

/* Each row into the session of its key that it is in reach of, else into a new one; a row may bridge two. A time is in
   reach of a session if it is no later than its end, and the time and the gap no earlier than its start. There must be a
   free slot for each row, and time + gap must not overflow. Rows of one key one after the other with falling times cost
   no search each. OOP_ID_OUTSIDE or OOP_ROW_OUTSIDE, before anything is written: a key or a free slot is outside. */
int oop_extend_sessions(const int64_t *keys, const int64_t *times, int64_t n, int64_t gap, uint32_t *heads,
                        int64_t size, oop_session *sessions, int64_t room, const uint32_t *free, int64_t frees,
                        oop_extended *out);
int oop_extend_sessions_float(const int64_t *keys, const double *times, int64_t n, double gap, uint32_t *heads,
                              int64_t size, oop_session *sessions, int64_t room, const uint32_t *free, int64_t frees,
                              oop_extended *out);

/* Open sessions out of their chains. OOP_ROW_OUTSIDE if one is not open: those before it are out, *done of them. */
int oop_drop_sessions(const int64_t *slots, int64_t n, uint32_t *heads, oop_session *sessions, int64_t room,
                      int64_t *done);

/* The open sessions that end no later than last, in order, and how many are due so; there is room for all. How many are
   left, and the least of their starts and what *least said. */
int oop_sessions_until(const oop_session *sessions, int64_t room, int64_t last, int64_t *slots, int64_t *due,
                       int64_t *left, int64_t *least);
int oop_sessions_until_float(const oop_session *sessions, int64_t room, double last, int64_t *slots, int64_t *due,
                             int64_t *left, double *least);

#endif
