/* Finds the oldest aggregate of a flush table without a visit to every slot, by a tree over the slots. A node has a
   lower bound of the windows of the aggregates below it. A new aggregate lowers the nodes above it at once. One that
   leaves raises none: a node is raised when a search finds nothing so old below it. So each aggregate that leaves costs
   a few nodes at most, however few slots of the table are taken. */
#ifndef OOP_OLDEST_H
#define OOP_OLDEST_H

#include "flush.h"

#define CHILDREN 16 /* as kernels/signatures/flush.py has it */

/* Lowers the nodes above a slot, of which the first is later than this window. */
static __attribute__((noinline)) void lower_nodes(const oop_flush *table, int64_t slot, int64_t wid) {
    for (int64_t level = 0; level < table->levels; level++) {
        slot /= CHILDREN;
        int64_t *least = &table->least[table->starts[level] + slot];
        if (*least <= wid) return;
        *least = wid;
    }
}

/* Notes that an aggregate of this window is in the slot. Mostly the node above it is early enough already. */
static inline void note_window(const oop_flush *table, int64_t slot, int64_t wid) {
    if (wid < table->least[slot / CHILDREN]) lower_nodes(table, slot, wid);
}

/* The first child of a node that is as old as the node says, or -1; *later is then the least of the children. */
static inline int64_t find_child(const oop_flush *table, int64_t level, int64_t node, int64_t wid, int64_t *later) {
    int64_t count = level ? table->starts[level] - table->starts[level - 1] : table->size;
    int64_t last = count - CHILDREN * node < CHILDREN ? count : CHILDREN * (node + 1);
    *later = INT64_MAX;
    for (int64_t child = CHILDREN * node; child < last; child++) {
        int64_t least;
        if (level)
            least = table->least[table->starts[level - 1] + child];
        else
            least = table->slots[child].place < 0 ? INT64_MAX : table->slots[child].wid;
        if (least == wid) return child;
        if (least < *later) *later = least;
    }
    return -1;
}

/* Can there be an aggregate of a window below the bound? The root, which is the last node, says so. */
static inline int may_be_old(const oop_flush *table) {
    return table->least[table->starts[table->levels] - 1] < table->bound;
}

/* The slot of the oldest aggregate, the first of several; -1 if none is of a window below the bound. */
static __attribute__((noinline)) int64_t find_oldest(const oop_flush *table) {
    int64_t level = table->levels - 1, node = 0;
    for (;;) {
        int64_t *least = &table->least[table->starts[level] + node], later;
        if (*least >= table->bound) return -1; /* only at the root: the search goes down to nodes that are as old */
        int64_t child = find_child(table, level, node, *least, &later);
        if (child < 0) { /* it has left: go on from the node above, which has another such child or is raised as well */
            *least = later;
            if (level < table->levels - 1) level++, node /= CHILDREN;
        } else if (level) {
            level--, node = child;
        } else {
            return child;
        }
    }
}

#endif
