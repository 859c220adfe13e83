/* Rows of one side of a join by key: chains of rows whose keys have the same head, over arrays that the caller owns. */
#ifndef OOP_JOINS_H
#define OOP_JOINS_H

#include <stdint.h>

#include "status.h"

/* How a row is linked. Links are one more than the place of a row, 0 where there is none. */
typedef struct {
    uint32_t older; /* the next older row of its chain */
    uint32_t newer; /* the next newer row of its chain; OOP_NO_ROW in a place without a row */
} oop_join_links;

/* A row in a table whose rows are wide. */
typedef struct {
    oop_join_links links;
    uint64_t word; /* stands for its key */
    uint64_t time; /* a whole number, or the bits of a float */
} oop_wide_row;

/* A row in a table whose rows are narrow: all words are numbers below 2^32, and so are the times from the base on. More
   of them fit a line of the cache. */
typedef struct {
    oop_join_links links;
    uint32_t word;
    uint32_t time;
} oop_narrow_row;

enum {
    OOP_NO_ROW = -1,
    OOP_ROUND_PAIRS = 1024 /* with room for so many pairs, those of a chunk of rows are found in rounds */
};

typedef struct {
    uint32_t *heads; /* the newest row of each chain */
    void *rows;      /* the row of place p is rows[p + 1]; rows[0] belongs to no place */
    int64_t size;    /* of heads, a power of two */
    int64_t room;    /* places */
    uint64_t seed;   /* both secret, so that nobody can choose keys that meet in one chain */
    uint64_t factor; /* odd */
    int32_t narrow;  /* are the rows narrow? */
    int64_t base;    /* of their times */
} oop_join_table;

/* Which rows a probing row of time t meets: those of time s with low <= s - t <= high. */
typedef struct {
    int64_t low, high; /* the least and greatest int64: no end */
} oop_reach;

typedef struct {
    double low, high;
    int32_t low_open, high_open;
} oop_float_reach;

/* Makes the places from `from` on places without a row. */
int oop_join_clear(oop_join_table *table, int64_t from);

/* Inserts rows into places that have none; the *done rows before a failure are in. OOP_ROW_OUTSIDE: a place is outside
   the room, or has a row. OOP_TOO_WIDE: what comes next does not fit narrow rows. Times are read as 8 bytes each. */
int oop_join_insert(oop_join_table *table, const int64_t *places, const uint64_t *words, const void *times, int64_t n,
                    int64_t *done);

/* Moves the base of narrow rows, so that rows of these times fit as well as those that are held. OOP_TOO_WIDE: there is
   none that leaves some room on both sides. */
int oop_join_rebase(oop_join_table *table, const int64_t *times, int64_t n);

/* Makes narrow rows wide, in other memory. */
int oop_join_widen(oop_join_table *table, void *rows);

/* Removes the rows in these places. OOP_ROW_OUTSIDE: a place has none; the *done rows before it are out. */
int oop_join_remove(oop_join_table *table, const int64_t *places, int64_t n, int64_t *done);

/* Moves all chains from the old heads to the ones that the table has now, which are zero. */
int oop_join_relink(oop_join_table *table, const uint32_t *old, int64_t old_size);

/* Reads the words and times of the rows in these places. OOP_ROW_OUTSIDE: a place has none. */
int oop_join_read(const oop_join_table *table, const int64_t *places, int64_t n, uint64_t *words, void *times);

/* Finds pairs (mine, theirs) of probing rows from *done on with the places of the rows that they meet, the newest
   first. Then there are *found pairs, and *done is the first row that was not taken. OOP_FULL: its pairs found no
   room. */
int oop_join_probe(const oop_join_table *table, const uint64_t *words, const int64_t *times, int64_t n,
                   const oop_reach *reach, int64_t *mine, int64_t *theirs, int64_t room, int64_t *found, int64_t *done);
int oop_join_probe_float(const oop_join_table *table, const uint64_t *words, const double *times, int64_t n,
                         const oop_float_reach *reach, int64_t *mine, int64_t *theirs, int64_t room, int64_t *found,
                         int64_t *done);

#endif
