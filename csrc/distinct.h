/* What a dedup does with rows at the end of a program: their keys go into the tables of their slices, and of each key
   that is new there the first row goes on. Used by programs.c. */
#ifndef OOP_DISTINCT_H
#define OOP_DISTINCT_H

#include "targets.h"

/* New keys get the next ids in the order of their rows. A chunk that began again finds keys that it mapped before, so
   what is new is told by how many keys there were before the chunk. */
static int keep_new(oop_run *run, chunk *c) {
    uint8_t passes[OOP_ROWS];
    int64_t *room;
    parting p;
    c->kept_all = 1;
    if (!c->n) return OOP_OK;
    int code = map_rows(run, c, &p, &room);
    if (code != OOP_OK) return code;
    for (int64_t i = 0; i < p.count; i++) {
        const part *one = &p.parts[i];
        oop_target *target = &run->targets[one->target];
        int64_t next = target->known;
        for (int64_t at = one->start; at < one->end; at++) {
            const int is_new = p.ids[at] == next;
            passes[p.order ? p.order[at] : at] = (uint8_t)is_new;
            next += is_new;
        }
        target->known = next;
        target->rows += one->end - one->start;
    }
    keep_rows(c, passes, NULL);
    return OOP_OK;
}

#endif
