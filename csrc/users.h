/* Users' loops (oop.kernels.user): an aggregate that a user wrote, compiled to a function of C, takes the rows of a part.
   Used by targets.h. */
#ifndef OOP_USERS_H
#define OOP_USERS_H

#include <string.h>

#include "programs.h"

/* Notes the row that a user's function refused, with its group and its values, so that the caller can ask it again. */
static void note_failed(oop_run *run, const oop_update *update, int64_t group, int64_t row, const void *a,
                        const void *b) {
    run->failed = update;
    run->failed_group = group;
    run->failed_values[0] = run->failed_values[1] = 0;
    if (a)
        memcpy(&run->failed_values[0], (const uint8_t *)a + row * run->registers[update->value].width,
               (size_t)run->registers[update->value].width);
    if (b)
        memcpy(&run->failed_values[1], (const uint8_t *)b + row * run->registers[update->by].width,
               (size_t)run->registers[update->by].width);
}

/* A row counts where none of its values is null. */
static int call_user(oop_run *run, const oop_update *update, const int64_t *ids, const void *a,
                     const uint8_t *a_there, const void *b, const uint8_t *b_there, int64_t n, int64_t size,
                     void *const *arrays) {
    uint8_t both[OOP_ROWS];
    const uint8_t *there = a_there ? a_there : b_there;
    int64_t row = 0;
    if (a_there && b_there) {
        for (int64_t i = 0; i < n; i++) both[i] = a_there[i] & b_there[i];
        there = both;
    }
    if (!update->loop(ids, there, there ? n : 0, n, size, arrays, a, b, &row)) return OOP_OK;
    note_failed(run, update, ids[row], row, a, b);
    return OOP_USER_FAILED;
}

#endif
