/* What becomes of rows where a program ends before any state, or at a dedup: they are handed out. Used by programs.c.

   Columns that are as the batches have them are taken from there by the caller, who is told which rows came through.
   Only columns that the program has computed are written here. */
#ifndef OOP_ROWS_H
#define OOP_ROWS_H

#include "chunks.h"

/* As long as all rows of the train have come through, their numbers need not be written. */
static void note_rows(oop_run *run, const chunk *c) {
    const int64_t at = run->kept_count;
    if (run->whole && (!c->all || c->first != at)) {
        for (int64_t i = 0; i < at; i++) run->kept[i] = i;
        run->whole = 0;
    }
    if (run->whole) return;
    if (c->all)
        for (int64_t i = 0; i < c->n; i++) run->kept[at + i] = c->first + i;
    else
        for (int64_t i = 0; i < c->n; i++) run->kept[at + i] = c->first + c->left[i];
}

/* `rows` says which rows of the registers have come through; NULL: all. */
static int hand_out(oop_run *run, const chunk *c, const int64_t *rows) {
    const int64_t at = run->kept_count, n = c->n;
    note_rows(run, c);
    for (int32_t o = 0; o < run->output_count; o++) {
        oop_output *out = &run->outputs[o];
        const oop_register *from = &run->registers[out->number];
        void *to = (uint8_t *)out->data + at * from->width;
        if (rows)
            gather(from->data, from->width, rows, n, to);
        else
            memcpy(to, from->data, (size_t)(n * from->width));
        if (from->valid) {
            if (!out->has_nulls) memset(out->valid, 1, (size_t)at);
            out->has_nulls = 1;
            if (rows)
                gather(from->valid, 1, rows, n, out->valid + at);
            else
                memcpy(out->valid + at, from->valid, (size_t)n);
        } else if (out->has_nulls) {
            memset(out->valid + at, 1, (size_t)n);
        }
    }
    run->kept_count += n;
    return OOP_OK;
}

#endif
