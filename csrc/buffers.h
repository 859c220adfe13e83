/* The greatest rows of each group, as many as a slack: what Aurora's BSort holds back (section 5.2.2 of its paper), and
   what tells how far out of order a row is. Over arrays that the caller owns. */
#ifndef OOP_BUFFERS_H
#define OOP_BUFFERS_H

#include <stdint.h>

#include "status.h"

/* A row that is held. */
typedef struct {
    uint64_t key;  /* its value, as an unsigned number */
    int64_t place; /* grows with every row that comes: of equal values the first to come is the first to leave */
} oop_waiting;

/* The rows of a group: a heap with the least on top. */
typedef struct {
    int64_t start;
    uint32_t held;
    uint32_t room;
    uint32_t coming; /* used while rows are counted, and 0 afterwards */
    uint32_t sorted; /* do they ascend, too? */
} oop_buffer;

typedef struct {
    oop_waiting *rows;
    int64_t room; /* rows that there is memory for */
    int64_t used; /* and those that buffers have, or have left behind */
    oop_buffer *buffers;
    int64_t size;   /* groups */
    int64_t most;   /* rows that a buffer holds, below 2**31 + 1 */
    int64_t places; /* the next row's place */
} oop_buffers;

enum {
    OOP_INTS = 0,
    OOP_FLOATS_NAN_LAST = 1, /* NaN is greater than every number */
    OOP_FLOATS_NAN_FIRST = 2 /* or less, so that it holds nobody back */
};

/* What is about to come. */
typedef struct {
    int64_t groups;  /* that have rows */
    int64_t held;    /* rows that these groups hold already */
    int64_t widest;  /* the most rows that one of them will hold */
    int64_t longest; /* the most rows that come to one of them */
    int64_t room;    /* rows that there must be memory for */
} oop_coming;

/* Room in the buffers for n rows of these groups; without ids all are of group 0. touched has room for n groups.
   OOP_ID_OUTSIDE, or OOP_FULL if there is no memory for coming->room rows: then nothing has changed. */
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

/* Rows through their buffers one by one. Room must be reserved: OOP_FULL if it is not, or OOP_ID_OUTSIDE; then rows
   before the one that fails are in. */
int oop_push_rows(oop_buffers *all, oop_arriving *rows);

/* What a sort of many rows takes. */
typedef struct {
    int64_t chunk;   /* rows that are sorted together at most, below 2**31 */
    int64_t widest;  /* as in oop_coming */
    int64_t *parted; /* room for n: rows by group; NULL without ids */
    const int64_t *touched;
    int64_t groups; /* as in oop_coming: the groups that have rows */
    uint64_t *words, *spare, *part; /* room for chunk + 1 each */
    uint32_t *ranks;                /* and here */
    oop_waiting *merged;            /* room for chunk + widest */
    uint64_t *present;              /* a bit for each of these, and a word more */
} oop_sorting;

/* What oop_push_rows does, with all rows of a group together, and sorted where they are many compared to those that
   the group holds. Room must be reserved, and the touched groups be those of the rows: OOP_FULL or OOP_ID_OUTSIDE if
   not. After OOP_FULL some rows may be in. */
int oop_sort_rows(oop_buffers *all, oop_arriving *rows, oop_sorting *with);

/* Rows that are held, group by group, ascending, *count of them: their groups, places and values; each may be NULL.
   There is room for all. A NaN that is less than every number is not told. */
int oop_list_rows(oop_buffers *all, int64_t *ids, int64_t *places, void *values, int64_t kind, int64_t *count);

/* The least row of each of these groups, count of them, whose buffer is full; else the least value of the type.
   OOP_ID_OUTSIDE: one has not come. */
int oop_take_bounds(const oop_buffers *all, const int64_t *groups, int64_t count, int64_t kind, void *bounds);

/* Numbers places anew, from 0 on: kept has room for those that are held, in order; present has room for a bit for every
   place before, before for a number for every 64. *count are held. OOP_ROW_OUTSIDE: a place is none of those. */
int oop_compact_rows(oop_buffers *all, uint64_t *present, int64_t *before, int64_t *kept, int64_t *count);

#endif
