#include "programs.h"

#include "chunks.h"
#include "distinct.h"
#include "exchange.h"
#include "extending.h"
#include "expressions.h"
#include "guards.h"
#include "partition.h"
#include "rows.h"
#include "targets.h"
#include "windows.h"

static int window_step(const oop_step *step, oop_register *registers, int64_t n) {
    oop_register *last = &registers[step->out], *first = &registers[step->b];
    const oop_register *times = &registers[step->a];
    int64_t bad;
    if (times->valid) /* a row without a time is in no window */
        for (int64_t i = 0; i < n; i++)
            if (!times->valid[i]) return OOP_ODD;
    last->data = last->room;
    first->data = first->room;
    last->valid = first->valid = NULL;
    last->width = first->width = 8;
    int code = step->form ? oop_wid_ranges_float(times->data, n, step->f, step->g, step->h, step->k, first->data,
                                                 last->data, &bad)
                          : oop_wid_ranges_int(times->data, n, step->x, step->y, step->z, step->low, step->high,
                                               first->data, last->data, &bad);
    return code == OOP_OK ? OOP_OK : OOP_ODD;
}

/* The shard of each row, by the hash that decides it everywhere. */
static int shard_step(oop_run *run, const oop_step *step, const chunk *c) {
    const int64_t n = c->n;
    oop_column columns[OOP_KEYS];
    int32_t is_signed[OOP_KEYS];
    oop_register *out = &run->registers[step->out];
    for (int32_t k = 0; k < step->c; k++) {
        oop_register *key = &run->registers[step->a + k];
        is_signed[k] = (int32_t)(step->x >> k & 1);
        if (!key->width) { /* a word for each text */
            int code = key->codes ? OOP_OK : number_rows(run, c, key);
            if (code != OOP_OK) return code;
            columns[k] = (oop_column){key->own->words, NULL, NULL, n * 8, 8, 0};
            continue;
        }
        columns[k] = (oop_column){key->data, NULL, key->valid, n * key->width, key->width,
                                  (int32_t)(step->y >> k & 1)};
    }
    out->data = out->room;
    out->valid = NULL;
    out->width = 4;
    return oop_hash_partition(columns, is_signed, step->c, n, run->shards, out->data);
}

/* Steps on text, which has all rows of the chunk: the result has those that are left. */
static void text_step(const oop_step *step, const chunk *c, oop_register *out, const oop_register *a) {
    const int64_t *offsets = a->room;
    uint8_t *to = out->data = out->room;
    out->width = 1;
    out->valid = a->valid ? out->valid_room : NULL;
    for (int64_t i = 0; i < c->n; i++) {
        const int64_t row = c->all ? i : c->left[i];
        if (a->valid) out->valid_room[i] = a->valid[row];
        to[i] = step->op == OOP_TEXT_THERE ||
                (offsets[row + 1] - offsets[row] == step->x &&
                 !memcmp((const uint8_t *)a->data + offsets[row], step->text, (size_t)step->x));
    }
}

static int limit_step(const oop_step *step, const oop_register *a, int64_t n) {
    const double *values = a->data;
    int any = 0;
    if (a->valid)
        for (int64_t i = 0; i < n; i++) any |= a->valid[i] & (fabs(values[i]) > step->f);
    else
        for (int64_t i = 0; i < n; i++) any |= fabs(values[i]) > step->f;
    return any ? OOP_ODD : OOP_OK;
}

/* Do these values ascend, and begin with no lower one than was reached? The last one is what is reached then. */
static int ascend_step(oop_run *run, const oop_step *step, const oop_register *a, int64_t n) {
    const int64_t *whole = a->data;
    const double *real = a->data;
    int falls = 0;
    if (!n) return OOP_OK;
    if (a->valid)
        for (int64_t i = 0; i < n; i++)
            if (!a->valid[i]) return OOP_ODD;
    if (step->form) {
        falls = !(real[0] >= (run->has_reached ? run->reached_float : -INFINITY));
        for (int64_t i = 1; i < n; i++) falls |= !(real[i] >= real[i - 1]); /* true of NaN */
        if (falls) return OOP_ODD;
        run->reached_float = real[n - 1];
    } else {
        falls = run->has_reached && whole[0] < run->reached;
        for (int64_t i = 1; i < n; i++) falls |= whole[i] < whole[i - 1];
        if (falls) return OOP_ODD;
        run->reached = whole[n - 1];
    }
    run->has_reached = 1;
    return OOP_OK;
}

static int run_step(oop_run *run, const oop_step *step, chunk *c) {
    oop_register *out = &run->registers[step->out], *a = &run->registers[step->a], *b = &run->registers[step->b];
    const int64_t n = c->n;
    switch (step->op) {
        case OOP_LOAD:
            if (step->form >= OOP_TEXT) return load_text(run, c, step->a, step->form, out);
            load_column(c, step->a, step->form, out);
            return OOP_OK;
        case OOP_COMPACT: compact(c, a, out); return OOP_OK;
        case OOP_GUARD:
            if (run->ranks) return guard_ranked(run, c, a, step->form);
            return step->form ? guard_floats(run, c, a) : guard_whole(run, c, a);
        case OOP_FILTER:
            if (a->data != a->room) { /* it lies where nothing may be written */
                memcpy(out->room, a->data, (size_t)n);
                keep_rows(c, out->room, a->valid);
            } else {
                keep_rows(c, a->data, a->valid);
            }
            return OOP_OK;
        case OOP_MARK: run->counted[step->out] = n; return OOP_OK;
        case OOP_WINDOW: return window_step(step, run->registers, n);
        case OOP_LIMIT: return limit_step(step, a, n);
        case OOP_ASCEND: return ascend_step(run, step, a, n);
        case OOP_TEXT_EQUAL: case OOP_TEXT_THERE: text_step(step, c, out, a); return OOP_OK;
        case OOP_SHARD: return shard_step(run, step, c);
        default: break;
    }
    out->data = out->room;
    out->width = 8;
    switch (step->op) {
        case OOP_ADD: case OOP_SUBTRACT: case OOP_MULTIPLY: case OOP_FLOOR_DIVIDE: case OOP_MOD:
            return whole_step(step, out, a, b, n, c->wrong);
        case OOP_NEGATE: case OOP_ABS: case OOP_CHECK: return whole_step(step, out, a, NULL, n, c->wrong);
        case OOP_ADD_FLOAT: case OOP_SUBTRACT_FLOAT: case OOP_MULTIPLY_FLOAT: case OOP_DIVIDE_FLOAT:
            float_step(step, out, a, b, n);
            return OOP_OK;
        case OOP_LEAST_FLOAT: case OOP_GREATEST_FLOAT:
            float_step(step, out, a, b, n);
            nan_beside_null(out, a, b, n);
            return OOP_OK;
        case OOP_NEGATE_FLOAT: case OOP_ABS_FLOAT: case OOP_TO_FLOAT: case OOP_TO_FLOAT32:
            float_step(step, out, a, NULL, n);
            return OOP_OK;
        case OOP_DIVIDE: return divide_step(out, a, b, n, c->wrong);
        case OOP_LEAST: case OOP_GREATEST: extreme_step(step, out, a, b, n); return OOP_OK;
        case OOP_IF_ELSE:
            out->width = b->width;
            choose_step(out, a, b, &run->registers[step->c], n);
            return OOP_OK;
        case OOP_FILL_NULL:
            out->width = a->width;
            fill_step(out, a, b, n);
            return OOP_OK;
        default: break;
    }
    out->width = 1;
    switch (step->op) {
        case OOP_AND: case OOP_OR: logic_step(step, out, a, b, n); break;
        case OOP_NOT: case OOP_IS_NULL: case OOP_IS_VALID: case OOP_IS_NAN: test_step(step, out, a, n); break;
        default: compare_step(step, out, a, b, n);
    }
    return OOP_OK;
}

/* What the program does with rows that have passed all steps. */
static int end_chunk(oop_run *run, chunk *c) {
    if (run->shard_register >= 0) return send_rows(run, c);
    if (!run->kept) return run->sessions ? extend_rows(run, c) : take_rows(run, c);
    if (!run->distinct) return hand_out(run, c, NULL);
    int code = keep_new(run, c);
    return code == OOP_OK ? hand_out(run, c, c->kept_all ? NULL : c->kept) : code;
}

static int run_chunk(oop_run *run, chunk *c) {
    for (int32_t s = 0; s < run->step_count; s++) {
        int code = run_step(run, &run->steps[s], c);
        if (code != OOP_OK) return code;
    }
    return end_chunk(run, c);
}

/* What a chunk that is to begin again must find as it was. */
typedef struct {
    int64_t greatest, bound, promise, late_count, reached, text_used;
    double greatest_float, bound_float, reached_float;
    int32_t seen, bounded, has_reached;
} guarded;

static guarded guard_of(const oop_run *run) {
    return (guarded){run->greatest,       run->bound,       run->promise,       run->late_count, run->reached,
                     run->text_used,      run->greatest_float, run->bound_float, run->reached_float,
                     run->seen,           run->bounded,        run->has_reached};
}

static void set_guard(oop_run *run, const guarded *was) {
    run->greatest = was->greatest;
    run->bound = was->bound;
    run->promise = was->promise;
    run->late_count = was->late_count;
    run->greatest_float = was->greatest_float;
    run->bound_float = was->bound_float;
    run->seen = was->seen;
    run->bounded = was->bounded;
    run->reached = was->reached;
    run->text_used = was->text_used; /* the chunk copies the same bytes to the same place again */
    run->reached_float = was->reached_float;
    run->has_reached = was->has_reached;
    if (run->top_moved) {
        memcpy(run->top, run->top_before, (size_t)run->top_held_before * 8);
        run->top_held = run->top_held_before;
    }
}

void oop_skip_chunk(oop_run *run) {
    int64_t left = run->rows;
    run->done += left;
    while (run->batch < run->batch_count) {
        int64_t here = run->batches[run->batch].length - run->row;
        if (here > left) {
            run->row += left;
            break;
        }
        left -= here;
        run->batch++;
        run->row = 0;
    }
    run->rows = 0;
}

int oop_run_program(oop_run *run) {
    chunk c;
    uint8_t wrong[OOP_ROWS];
    c.left = run->scratch;
    c.kept = run->scratch + OOP_ROWS;
    c.wrong = wrong;
    for (;;) {
        find_pieces(run, &c);
        run->rows = c.rows;
        if (!c.rows) {
            if (run->end == INT64_MAX) pass_promises(run);
            return OOP_OK;
        }
        limit_texts(run);
        guarded was = guard_of(run);
        run->top_moved = 0;
        int code = run_chunk(run, &c);
        if (code != OOP_OK) {
            if (code != OOP_SUM_OUTSIDE && code != OOP_USER_FAILED) set_guard(run, &was);
            return code;
        }
        for (int32_t m = 0; m < run->mark_count; m++) run->counts[m] += run->counted[m];
        oop_skip_chunk(run);
    }
}

void oop_release_batches(struct ArrowArray *batches, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (batches[i].release) batches[i].release(&batches[i]);
}
