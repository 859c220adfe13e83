/* The guard of a source: which rows are below what the rows before them imply, or what the data has promised. Used by
   programs.c; see oop.operators.source.guard. */
#ifndef OOP_GUARDS_H
#define OOP_GUARDS_H

#include <float.h>
#include <math.h>

#include "chunks.h"
#include "ranks.h"

/* From which row of the chunk on the next promise of the train counts; `rows` if no more in this chunk. */
static int64_t next_place(const oop_run *run, const chunk *c) {
    if (run->promise >= run->promises) return c->rows;
    int64_t place = run->places[run->promise] - c->first;
    return place < c->rows ? (place < 0 ? 0 : place) : c->rows;
}

static void take_promise(oop_run *run) {
    int64_t next = run->promise++;
    if (run->bounds) {
        int64_t bound = run->bounds[next];
        if (!run->bounded || bound > run->bound) run->bound = bound;
    } else {
        double bound = run->bounds_float[next];
        if (!run->bounded || bound > run->bound_float) run->bound_float = bound;
    }
    run->bounded = 1;
}

/* Takes the promises that stand behind the last row. */
static void pass_promises(oop_run *run) {
    while (run->promise < run->promises) take_promise(run);
}

static inline int64_t less_slack(int64_t time, int64_t slack) {
    return time < INT64_MIN + slack ? INT64_MIN : time - slack;
}

#define NOTE_LATE(ROW, BITS)                              \
    do {                                                  \
        run->late[run->late_count] = c->first + (ROW);    \
        run->broken[run->late_count++] = (BITS);          \
        on_time[ROW] = 0;                                 \
        any = 1;                                          \
    } while (0)

/* Rows are judged up to each promise in turn; most chunks have none, and no late row, which their least and greatest
   time tell. */
static int guard_whole(oop_run *run, chunk *c, const oop_register *times) {
    const int64_t *t = times->data, n = c->n;
    uint8_t *on_time = c->wrong;
    int any = 0;
    if (times->valid) return OOP_ODD;
    memset(on_time, 1, (size_t)n);
    for (int64_t from = 0, to; from < n; from = to) {
        int64_t least, most;
        while (next_place(run, c) <= from) take_promise(run);
        to = next_place(run, c);
        find_limits(t + from, to - from, &least, &most);
        int64_t highest = run->seen ? run->greatest : INT64_MIN, top = most > highest ? most : highest;
        int judged = run->slack >= 0;
        if ((judged && least < less_slack(top, run->slack)) || (run->bounded && least < run->bound)) {
            if (run->late_room - run->late_count < to - from) return OOP_LATE_FULL;
            for (int64_t i = from; i < to; i++) {
                int64_t bound = judged ? less_slack(highest, run->slack) : INT64_MIN;
                if (run->bounded && run->bound > bound) bound = run->bound;
                if (t[i] < bound) NOTE_LATE(i, bound);
                highest = t[i] > highest ? t[i] : highest;
            }
        }
        run->greatest = top;
        run->seen = 1;
    }
    c->kept_all = 1;
    if (any) keep_rows(c, on_time, NULL);
    return OOP_OK;
}

static inline int64_t bits_of(double value) {
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static int guard_floats(oop_run *run, chunk *c, const oop_register *times) {
    const double *t = times->data;
    const int64_t n = c->n;
    uint8_t *on_time = c->wrong;
    int any = 0, finite = 1;
    if (times->valid) return OOP_ODD;
    for (int64_t i = 0; i < n; i++) finite &= fabs(t[i]) <= DBL_MAX;
    if (!finite) return OOP_ODD;
    memset(on_time, 1, (size_t)n);
    if (run->late_room - run->late_count < n) return OOP_LATE_FULL;
    double highest = run->seen ? run->greatest_float : -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        while (next_place(run, c) <= i) take_promise(run);
        double bound = run->slack >= 0 ? highest - run->slack_float : -INFINITY;
        if (run->bounded && run->bound_float > bound) bound = run->bound_float;
        if (t[i] < bound) NOTE_LATE(i, bits_of(bound));
        highest = t[i] > highest ? t[i] : highest;
    }
    run->greatest_float = highest;
    run->seen = 1;
    c->kept_all = 1;
    if (any) keep_rows(c, on_time, NULL);
    return OOP_OK;
}

/* Slack by rows: late is what is below the greatest time of that rank before it. */
static int guard_ranked(oop_run *run, chunk *c, const oop_register *times, int floats) {
    const int64_t n = c->n;
    int64_t *bounds = run->scratch + 2 * OOP_ROWS, any = 0;
    const double *real = times->data;
    const int64_t *whole = times->data;
    uint8_t *on_time = c->wrong;
    int finite = 1;
    if (times->valid) return OOP_ODD;
    if (floats)
        for (int64_t i = 0; i < n; i++) finite &= fabs(real[i]) <= DBL_MAX;
    if (!finite) return OOP_ODD;
    memcpy(run->top_before, run->top, (size_t)run->top_held * 8);
    run->top_held_before = run->top_held;
    run->top_moved = 1;
    if (floats)
        push_ranked_double(real, n, run->ranks - 1, run->top, &run->top_held, (double *)bounds);
    else
        push_ranked_int64_t(whole, n, run->ranks - 1, run->top, &run->top_held, bounds);
    for (int64_t i = 0; i < n; i++) {
        on_time[i] = floats ? !(real[i] < ((double *)bounds)[i]) : whole[i] >= bounds[i];
        any += !on_time[i];
    }
    if (run->late_room - run->late_count < any) return OOP_LATE_FULL;
    for (int64_t i = 0; any && i < n; i++)
        if (!on_time[i]) {
            run->late[run->late_count] = c->first + i;
            run->broken[run->late_count++] = bounds[i];
        }
    c->kept_all = 1;
    if (any) keep_rows(c, on_time, NULL);
    return OOP_OK;
}

#endif
