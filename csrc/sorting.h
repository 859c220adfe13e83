/* Rows through the buffers of their groups, all rows of a group together. */
#ifndef OOP_SORTING_H
#define OOP_SORTING_H

#include <stdint.h>

#include "buffers.h"

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

#endif
