/* Rows of one side of a join by key: chains of rows with the same place, over arrays that the caller owns. */
#ifndef OOP_JOINS_H
#define OOP_JOINS_H

#include <stdint.h>

#include "status.h"

/* One row. Links are one more than the place of a row, 0 where there is none. */
typedef struct {
    uint64_t word; /* stands for its key */
    union {
        int64_t whole;
        double real;
    } time;
    uint32_t older; /* the row before it in its chain */
    uint32_t newer; /* the row behind it; in a place without a row OOP_NO_ROW */
} oop_join_row;

enum {
    OOP_NO_ROW = -1,
    OOP_ROUND_PAIRS = 1024 /* with room for so many pairs, those of a chunk of rows are found in rounds */
};

typedef struct {
    uint32_t *heads; /* the newest row of each chain */
    oop_join_row *rows; /* one more than there are places: the row of place p is rows[p + 1], and rows[0] is nobody's */
    int64_t size;    /* of heads, a power of two */
    int64_t room;    /* places */
    uint64_t seed;   /* both secret, so that nobody can choose keys that meet in one chain */
    uint64_t factor; /* odd */
} oop_join_table;

/* Which rows a probing row of time t meets: those of time s with low <= s - t <= high. */
typedef struct {
    int64_t low, high; /* the least and greatest int64: no end */
} oop_reach;

typedef struct {
    double low, high;
    int32_t low_open, high_open;
} oop_float_reach;

/* Say of the places from `from` on that they have no row. */
int oop_join_clear(oop_join_table *table, int64_t from);

/* Rows into places that have none. OOP_ROW_OUTSIDE if a place is outside the room, or has a row: those before it are in,
   *done of them. Times are read as 8 bytes each. */
int oop_join_insert(oop_join_table *table, const int64_t *places, const uint64_t *words, const void *times, int64_t n,
                    int64_t *done);

/* Rows out of their places. OOP_ROW_OUTSIDE if a place has none: those before it are out, *done of them. */
int oop_join_remove(oop_join_table *table, const int64_t *places, int64_t n, int64_t *done);

/* Chains from the old heads to those that the table has now, zeroed. */
int oop_join_relink(oop_join_table *table, const uint32_t *old, int64_t old_size);

/* The words and times of rows; OOP_ROW_OUTSIDE if a place has none. */
int oop_join_read(const oop_join_table *table, const int64_t *places, int64_t n, uint64_t *words, void *times);

/* Pairs (mine, theirs) of probing rows from *done on with the places of the rows that they meet, the newest first. *done
   is the first row that was not taken: OOP_FULL if its pairs found no room. *found pairs are there. */
int oop_join_probe(const oop_join_table *table, const uint64_t *words, const int64_t *times, int64_t n,
                   const oop_reach *reach, int64_t *mine, int64_t *theirs, int64_t room, int64_t *found, int64_t *done);
int oop_join_probe_float(const oop_join_table *table, const uint64_t *words, const double *times, int64_t n,
                         const oop_float_reach *reach, int64_t *mine, int64_t *theirs, int64_t room, int64_t *found,
                         int64_t *done);

#endif
