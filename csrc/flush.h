/* The low-level half of two-level aggregation: a table of a fixed size, in which an aggregate that is in the way goes
   out (OOP paper, section 6 and figure 7). The caller owns all memory. */
#ifndef OOP_FLUSH_H
#define OOP_FLUSH_H

#include <stdint.h>

#include "status.h"

/* What is in a slot. */
typedef struct {
    uint64_t tag;  /* the key, where it is one word; else a hash of it */
    int64_t wid;
    int64_t place; /* -1: empty */
} oop_slot;

typedef struct {
    oop_slot *slots;
    uint64_t *words; /* by place: width words of the key */
    int64_t *wids;   /* by place */
    int64_t *unused; /* places that are free; the last is taken first */
    int64_t *least;  /* see oldest.h: nodes, level by level from the slots up; NULL unless `every` needs them */
    const int64_t *starts; /* where each level begins in it, and its end */
    int64_t levels;
    int64_t size;
    int64_t width;
    int64_t places; /* room of words, wids and unused */
    int64_t free;   /* how many are unused */
    int64_t bound;     /* out of order: aggregates of windows below it are old */
    int64_t current;   /* in order: the window of the last row; aggregates of windows before it are old */
    int64_t hand;      /* in order, figure 7's flush_pos: the next slot to be visited */
    int64_t to_visit;  /* in order: slots that may still hold something old; 0: flush_finished */
    int64_t since;     /* out of order: rows since an aggregate was last let go */
    int64_t collided;  /* how many aggregates made way for one of their own window */
    int64_t every;     /* out of order: one old aggregate leaves every so many rows (i); 0: lazy-flush */
    int32_t in_order;  /* figure 7 */
    int32_t next_slot; /* footnote 1 */
} oop_flush;

/* Pushes rows in this order; ids[i] is the place of row i. out gets the *gone places that leave, and has room for all
   places. OOP_FULL: fewer than n places are free. OOP_ID_OUTSIDE: a slot is not below the size. OOP_NOT_SORTED: the
   table is in order, and windows go back. In all of these cases the table is as it was. */
int oop_push_flush(oop_flush *table, const int32_t *slots, const uint64_t *words, const int64_t *wids, int64_t n,
                   int64_t *ids, int64_t *out, int64_t *gone);

/* Lets go the aggregates of windows below the bound (all: of all windows) in the slots from first up to last, in order
   the old ones first. OOP_ID_OUTSIDE: there are no such slots. */
int oop_flush_below(oop_flush *table, int64_t below, int32_t all, int64_t first, int64_t last, int64_t *out,
                    int64_t *gone);

/* Gives back places that have left. OOP_FULL: more than are in use. OOP_ID_OUTSIDE: a place is not below the number of
   places. */
int oop_free_places(oop_flush *table, const int64_t *places, int64_t n);

/* Puts an aggregate into each of these slots, which must be empty; ids[i] is its place. */
int oop_restore_slots(oop_flush *table, const int32_t *slots, const uint64_t *words, const int64_t *wids, int64_t n,
                      int64_t *ids);

#endif
