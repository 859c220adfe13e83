/* Rows that cross between the programs of several shards. Used by programs.c.

   Each program judges a part of the train, and sends its rows to the shards of their keys: what the end of the program
   reads of a row is appended to arrays, which belong to the sender. Then each program takes the rows of its own shard
   from all senders, in the order of the parts. */
#ifndef OOP_EXCHANGE_H
#define OOP_EXCHANGE_H

#include "append.h"
#include "chunks.h"
#include "guards.h"
#include "targets.h"

/* Appends what is there of a value, if any is null or one before it was. */
static void send_validity(oop_sent *to, const oop_register *from, int64_t first, int m, const int32_t *shard, int32_t s,
                          int64_t at, int count, int64_t spare) {
    if (from->valid) {
        if (!to->has_nulls) memset(to->valid, 1, (size_t)at);
        to->has_nulls = 1;
        append_rows(from->valid + first, 1, shard, m, s, to->valid + at, spare);
    } else if (to->has_nulls) {
        memset(to->valid + at, 1, (size_t)count);
    }
}

/* Text keys are sent as their numbers in this program's list. */
static int number_carried(oop_run *run, const chunk *c) {
    int code = OOP_OK;
    for (int32_t i = 0; code == OOP_OK && i < run->carried_count; i++) {
        oop_register *from = &run->registers[run->carried[i]];
        if (!from->width && !from->codes) code = number_rows(run, c, from);
    }
    return code;
}

static int send_rows(oop_run *run, const chunk *c) {
    int code = number_carried(run, c);
    if (code != OOP_OK) return code;
    const int32_t *shards = run->registers[run->shard_register].data;
    for (int64_t first = 0; first < c->n; first += APPENDED) {
        const int m = c->n - first < APPENDED ? (int)(c->n - first) : APPENDED;
        const int32_t *shard = shards + first;
        for (int32_t s = 0; s < run->shards; s++) {
            const int count = count_rows_of(shard, m, s);
            const int64_t at = run->sent_rows[s], spare = run->sent_room - at - count;
            if (spare < 0) return OOP_ROW_OUTSIDE; /* there is room for all rows of the part */
            for (int32_t i = 0; i < run->carried_count; i++) {
                const oop_register *from = &run->registers[run->carried[i]];
                oop_sent *to = &run->sent[s * run->carried_count + i];
                if (!from->width) {
                    append_rows(from->codes + first, 4, shard, m, s, (int32_t *)to->data + at, spare);
                    continue;
                }
                append_rows((const uint8_t *)from->data + first * from->width, from->width, shard, m, s,
                            (uint8_t *)to->data + at * from->width, spare);
                send_validity(to, from, first, m, shard, s, at, count, spare);
                to->width = from->width;
            }
            run->sent_rows[s] += count;
        }
    }
    return OOP_OK;
}

/* Lets the registers have rows that were sent. */
static void point_at_sent(oop_run *run, const oop_run *sender, int64_t first) {
    for (int32_t i = 0; i < run->carried_count; i++) {
        const oop_sent *from = &sender->sent[run->shard * run->carried_count + i];
        oop_register *to = &run->registers[run->carried[i]];
        if (to->own) {
            to->from = sender->registers[run->carried[i]].own;
            to->codes = (const int32_t *)from->data + first;
            continue;
        }
        to->width = from->width;
        to->data = (uint8_t *)from->data + first * from->width;
        to->valid = from->has_nulls ? from->valid + first : NULL;
    }
}

int oop_take_sent(oop_run *run, oop_run *const *senders) {
    chunk c;
    for (; run->sender < run->shards; run->sender++, run->taken = 0) {
        run->generation++; /* numbers are those of another list */
        const oop_run *sender = senders[run->sender];
        const int64_t rows = sender->sent_rows[run->shard];
        while (run->taken < rows) {
            const int64_t left = rows - run->taken;
            c.n = c.rows = left < run->take_most ? left : run->take_most;
            c.all = 1;
            point_at_sent(run, sender, run->taken);
            int code = take_rows(run, &c);
            if (code != OOP_OK) return code;
            run->taken += c.n;
        }
    }
    return OOP_OK;
}

/* Takes note of the greatest time of rows that another program judges. */
static void pass_times(oop_run *run, const oop_register *times, int64_t n, int is_float) {
    const uint8_t *there = times->valid;
    if (is_float) {
        const double *t = times->data;
        for (int64_t i = 0; i < n; i++)
            if ((!there || there[i]) && fabs(t[i]) <= DBL_MAX && (!run->seen || t[i] > run->greatest_float)) {
                run->greatest_float = t[i];
                run->seen = 1;
            }
        return;
    }
    const int64_t *t = times->data;
    if (!there && n) {
        int64_t least, most;
        find_limits(t, n, &least, &most);
        if (!run->seen || most > run->greatest) run->greatest = most;
        run->seen = 1;
        return;
    }
    for (int64_t i = 0; i < n; i++)
        if (there[i] && (!run->seen || t[i] > run->greatest)) {
            run->greatest = t[i];
            run->seen = 1;
        }
}

static const oop_step *find_step(const oop_run *run, int32_t op, int32_t out) {
    for (int32_t s = 0; s < run->step_count; s++)
        if (run->steps[s].op == op && (op != OOP_LOAD || run->steps[s].out == out)) return &run->steps[s];
    return NULL;
}

void oop_begin_train(oop_run *run) {
    run->batch_count = run->batch = run->row = run->done = run->rows = 0;
    run->promise = run->late_count = 0;
    forget_texts(run);
    if (run->shard_register < 0) return;
    for (int32_t s = 0; s < run->shards; s++) run->sent_rows[s] = 0;
    for (int32_t i = 0; i < run->shards * run->carried_count; i++) run->sent[i].has_nulls = 0;
    run->sender = run->taken = 0;
    run->take_most = OOP_ROWS;
}

void oop_pass_rows(oop_run *run, int64_t rows) {
    chunk c;
    const oop_step *guard = find_step(run, OOP_GUARD, 0), *load = guard ? find_step(run, OOP_LOAD, guard->a) : NULL;
    const int64_t end = run->end;
    run->end = rows;
    while (run->done < rows) {
        find_pieces(run, &c);
        if (!c.rows) break;
        if (load) {
            oop_register *times = &run->registers[load->out];
            load_column(&c, load->a, load->form, times);
            pass_times(run, times, c.n, guard->form);
        }
        run->rows = c.rows;
        oop_skip_chunk(run);
    }
    while (run->promise < run->promises && run->places[run->promise] < rows) take_promise(run);
    run->end = end;
}

#endif
