/* The greatest rows of each group, as many as the slack says: these are what Aurora's BSort holds back (Aurora paper,
   section 5.2.2), and they tell how far out of order a row is. The caller owns all arrays. */
#ifndef OOP_BUFFERS_H
#define OOP_BUFFERS_H

#include <stdint.h>

#include "status.h"

/* A row that is held. */
typedef struct {
    uint64_t key;  /* its value, as an unsigned number */
    int64_t place; /* greater for every row that comes, so that of equal values the first to come leaves first */
} oop_waiting;

/* The rows of a group: a heap with the least on top. */
typedef struct {
    int64_t start;
    uint32_t held;
    uint32_t room;
    uint32_t coming; /* used while rows are counted, and 0 afterwards */
    uint32_t sorted; /* do the rows ascend? */
} oop_buffer;

typedef struct {
    oop_waiting *rows;
    int64_t room; /* rows for which there is memory */
    int64_t used; /* rows of memory that buffers have, or have left behind */
    oop_buffer *buffers;
    int64_t size;   /* groups */
    int64_t most;   /* rows that a buffer holds, below 2**31 + 1 */
    int64_t places; /* the next row's place */
} oop_buffers;

enum {
    OOP_INTS = 0,
    OOP_FLOATS_NAN_LAST = 1, /* NaN is greater than every number */
    OOP_FLOATS_NAN_FIRST = 2 /* NaN is less than every number, so that it bounds nothing */
};

/* How many rows are about to come. */
typedef struct {
    int64_t groups;  /* groups that get rows */
    int64_t held;    /* rows that these groups hold already */
    int64_t widest;  /* the most rows that one of them will hold */
    int64_t longest; /* the most rows that come to one of them */
    int64_t room;    /* rows for which there must be memory */
} oop_coming;

/* Reserves room in the buffers for n rows of these groups; without ids all are of group 0. touched has room for n
   groups. OOP_FULL: there is no memory for coming->room rows. After this or OOP_ID_OUTSIDE, no buffer has changed. */
int oop_reserve_rows(oop_buffers *all, const int64_t *ids, int64_t n, int64_t *touched, oop_coming *coming);

/* Rows that come, and where results go. */
typedef struct {
    const int64_t *ids; /* or NULL */
    const void *values; /* 8 bytes each */
    int64_t n;
    int64_t kind;   /* of the values */
    uint64_t *keys; /* room for n */
    int64_t *left;  /* NULL, or room for n: the places of rows that leave, one for each that finds its buffer full */
    int64_t gone;   /* how many these are */
    void *bounds;   /* NULL, or room for n: the least of a group's rows before each row, if its buffer is full; else
                       the least value of the type */
} oop_arriving;

/* Pushes rows through their buffers one by one. OOP_FULL: room was not reserved for a row, and the rows before it are
   in. OOP_ID_OUTSIDE: nothing has changed. */
int oop_push_rows(oop_buffers *all, oop_arriving *rows);

/* Memory and numbers for sorting many rows. */
typedef struct {
    int64_t chunk;   /* rows that are sorted together at most, below 2**31 */
    int64_t widest;  /* as in oop_coming */
    int64_t *parted; /* room for n: rows by group; NULL without ids */
    const int64_t *touched;
    int64_t groups; /* as in oop_coming: the groups that have rows */
    uint64_t *words, *spare, *part; /* room for chunk + 1 each */
    uint32_t *ranks;                /* room for chunk + 1 */
    oop_waiting *merged;            /* room for chunk + widest */
    uint64_t *present;              /* a bit for each row of merged, and a word more */
} oop_sorting;

/* Does what oop_push_rows does, but takes all rows of a group together, and sorts them if they are many compared to
   those that the group holds. OOP_FULL: room was not reserved, and some rows may be in. OOP_ID_OUTSIDE: an id is
   outside, or the touched groups are not those of the rows; nothing has changed. */
int oop_sort_rows(oop_buffers *all, oop_arriving *rows, oop_sorting *with);

/* Lists the *count rows that are held, group by group, ascending: their groups, places and values. Each array is NULL
   or has room for all. A NaN that is less than every number is left out. */
int oop_list_rows(oop_buffers *all, int64_t *ids, int64_t *places, void *values, int64_t kind, int64_t *count);

/* For each of count groups, the least row if its buffer is full; else the least value of the type. OOP_ID_OUTSIDE: a
   group is not below the number of groups. */
int oop_take_bounds(const oop_buffers *all, const int64_t *groups, int64_t count, int64_t kind, void *bounds);

/* Numbers the places of the rows that are held anew, from 0 on. kept gets their *count old places, in order. present
   has room for a bit for every old place, before for a number for every 64 of them. OOP_ROW_OUTSIDE: a row has a place
   that was never given. */
int oop_compact_rows(oop_buffers *all, uint64_t *present, int64_t *before, int64_t *kept, int64_t *count);

#endif
