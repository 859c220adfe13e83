/* What sessions do with rows at the end of a program: each row goes into an open session of its key, or opens one, and
   changes the aggregates of that session. Used by programs.c. */
#ifndef OOP_EXTENDING_H
#define OOP_EXTENDING_H

#include "sessions.h"
#include "targets.h"

/* All rows are of one slice, whose table has the keys. A row that bridges two sessions leaves the aggregates of the older
   one where they are: the caller merges them when the train has ended, so until then nobody gets that slot. */
static int extend_rows(oop_run *run, const chunk *c) {
    oop_open_sessions *open = run->sessions;
    const int64_t n = c->n;
    int64_t *room, survivors[OOP_ROWS], slots[OOP_ROWS];
    parting p;
    if (!n) return OOP_OK;
    int code = map_rows(run, c, &p, &room);
    if (code != OOP_OK) return code;
    oop_target *target = &run->targets[p.parts[0].target];
    const int64_t left = open->list_room - (open->lowers > open->merges ? open->lowers : open->merges);
    if (open->frees < n || open->head_room < target->keys->count || left < n) return OOP_SESSIONS_FULL;
    oop_extended out = {.slots = slots, .lowered = open->lowered + open->lowers,
                        .absorbed = open->absorbed + open->merges, .survivors = survivors};
    const void *times = run->registers[open->times].data;
    code = open->is_float
               ? oop_extend_sessions_float(p.ids, times, n, open->gap_float, open->heads, open->head_room,
                                           open->records, open->room, open->free, open->frees, &out)
               : oop_extend_sessions(p.ids, times, n, open->gap, open->heads, open->head_room, open->records,
                                     open->room, open->free, open->frees, &out);
    if (code != OOP_OK) return code;
    open->frees -= out.made;
    open->lowers += out.lowers;
    open->merges += out.merges;
    open->steps += out.steps;
    open->rows += n;
    for (int32_t u = 0; code == OOP_OK && u < run->update_count; u++)
        code = update_part(run, &run->updates[u], target, open->room, slots, NULL, n, room);
    target->rows += n;
    return code;
}

#endif
