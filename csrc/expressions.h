/* The steps of expressions: whole columns in, a whole column out, with nulls as SQL has them. Used by programs.c.

   Whole numbers are computed in 64 bits, and a step knows the range of its result's type. What is outside of it, and a
   division by zero, makes the chunk odd: the caller's own way then says what is wrong. What lies under a null counts
   for nothing. */
#ifndef OOP_EXPRESSIONS_H
#define OOP_EXPRESSIONS_H

#include <math.h>
#include <string.h>

#include "programs.h"
#include "wide.h"

/* The rows in which both operands are there: one of their arrays, a new one in the room of `out`, or NULL for all. */
static inline uint8_t *both_valid(const oop_register *a, const oop_register *b, oop_register *out, int64_t n) {
    if (!a->valid) return b->valid;
    if (!b->valid) return a->valid;
    for (int64_t i = 0; i < n; i++) out->valid_room[i] = a->valid[i] & b->valid[i];
    return out->valid_room;
}

/* Is `wrong` 1 in a row that is there? */
static inline int any_wrong(const uint8_t *wrong, const uint8_t *valid, int64_t n) {
    int any = 0;
    if (valid)
        for (int64_t i = 0; i < n; i++) any |= wrong[i] & valid[i];
    else
        for (int64_t i = 0; i < n; i++) any |= wrong[i];
    return any;
}

static inline int64_t floor_quotient(int64_t a, int64_t b) {
    int64_t quotient = a / b;
    return quotient - (a % b != 0 && (a < 0) != (b < 0));
}

static inline int64_t floor_rest(int64_t a, int64_t b) {
    int64_t rest = a % b;
    return rest && (rest < 0) != (b < 0) ? rest + b : rest;
}

#define CHECKED(VALUE, WRONG)                                              \
    for (int64_t i = 0; i < n; i++) {                                      \
        int64_t value;                                                     \
        int off = WRONG;                                                   \
        value = off ? 0 : (VALUE);                                         \
        wrong[i] = (uint8_t)(off | (value < step->x) | (value > step->y)); \
        to[i] = value;                                                     \
    }                                                                      \
    break;

/* Sums, differences and products wrap, and tell that they have by __builtin_…_overflow. */
#define OVERFLOWING(FUNCTION)                                              \
    for (int64_t i = 0; i < n; i++) {                                      \
        int64_t value;                                                     \
        int off = FUNCTION(p[i], q[i], &value);                            \
        wrong[i] = (uint8_t)(off | (value < step->x) | (value > step->y)); \
        to[i] = value;                                                     \
    }                                                                      \
    break;

static int whole_step(const oop_step *step, oop_register *out, const oop_register *a, const oop_register *b, int64_t n,
                      uint8_t *wrong) {
    const int64_t *p = a->data, *q = b ? b->data : NULL;
    int64_t *to = out->room;
    out->valid = b ? both_valid(a, b, out, n) : a->valid;
    switch (step->op) {
        case OOP_ADD: OVERFLOWING(__builtin_add_overflow)
        case OOP_SUBTRACT: OVERFLOWING(__builtin_sub_overflow)
        case OOP_MULTIPLY: OVERFLOWING(__builtin_mul_overflow)
        case OOP_FLOOR_DIVIDE: CHECKED(floor_quotient(p[i], q[i]), q[i] == 0 || (q[i] == -1 && p[i] == INT64_MIN))
        case OOP_MOD: CHECKED(q[i] == -1 ? 0 : floor_rest(p[i], q[i]), q[i] == 0)
        case OOP_NEGATE: CHECKED(-p[i], p[i] == INT64_MIN)
        case OOP_ABS: CHECKED(p[i] < 0 ? -p[i] : p[i], p[i] == INT64_MIN)
        default: CHECKED(p[i], 0) /* OOP_CHECK */
    }
    return any_wrong(wrong, out->valid, n) ? OOP_ODD : OOP_OK;
}

#define FLOATS(VALUE)                                    \
    for (int64_t i = 0; i < n; i++) to[i] = (VALUE);     \
    break;

static void float_step(const oop_step *step, oop_register *out, const oop_register *a, const oop_register *b,
                       int64_t n) {
    const double *p = a->data, *q = b ? b->data : NULL;
    const int64_t *whole = a->data;
    double *to = out->room;
    out->valid = b ? both_valid(a, b, out, n) : a->valid;
    switch (step->op) {
        case OOP_ADD_FLOAT: FLOATS(p[i] + q[i])
        case OOP_SUBTRACT_FLOAT: FLOATS(p[i] - q[i])
        case OOP_MULTIPLY_FLOAT: FLOATS(p[i] * q[i])
        case OOP_DIVIDE_FLOAT: FLOATS(p[i] / q[i])
        case OOP_NEGATE_FLOAT: FLOATS(-p[i])
        case OOP_ABS_FLOAT: FLOATS(fabs(p[i]))
        case OOP_TO_FLOAT32: FLOATS((double)(float)p[i])
        case OOP_LEAST_FLOAT: FLOATS(p[i] != p[i] || q[i] != q[i] ? NAN : fmin(p[i], q[i]))
        case OOP_GREATEST_FLOAT: FLOATS(p[i] != p[i] || q[i] != q[i] ? NAN : fmax(p[i], q[i]))
        default: FLOATS((double)whole[i]) /* OOP_TO_FLOAT */
    }
}

/* The least or greatest of two floats is null if one of them is, unless the other is NaN. */
static void nan_beside_null(oop_register *out, const oop_register *a, const oop_register *b, int64_t n) {
    const double *p = a->data, *q = b->data;
    if (!a->valid && !b->valid) return;
    for (int64_t i = 0; i < n; i++) {
        const int there = !a->valid || a->valid[i], here = !b->valid || b->valid[i];
        out->valid_room[i] = (uint8_t)((there & here) | (there & (p[i] != p[i])) | (here & (q[i] != q[i])));
    }
    out->valid = out->valid_room;
}

static int divide_step(oop_register *out, const oop_register *a, const oop_register *b, int64_t n, uint8_t *wrong) {
    const double *p = a->data, *q = b->data;
    double *to = out->room;
    out->valid = both_valid(a, b, out, n);
    for (int64_t i = 0; i < n; i++) {
        to[i] = p[i] / q[i];
        wrong[i] = q[i] == 0;
    }
    return any_wrong(wrong, out->valid, n) ? OOP_ODD : OOP_OK;
}

#define COMPARED(TYPE, OPERATOR)                                             \
    {                                                                        \
        const TYPE *p = a->data, *q = b->data;                               \
        for (int64_t i = 0; i < n; i++) to[i] = (uint8_t)(p[i] OPERATOR q[i]); \
    }                                                                        \
    break;

WIDE_CLONES static void compare_loop(int op, const oop_register *a, const oop_register *b, uint8_t *to, int64_t n) {
    switch (op) {
        case OOP_LESS: COMPARED(int64_t, <)
        case OOP_LESS_EQUAL: COMPARED(int64_t, <=)
        case OOP_EQUAL: COMPARED(int64_t, ==)
        case OOP_NOT_EQUAL: COMPARED(int64_t, !=)
        case OOP_LESS_FLOAT: COMPARED(double, <)
        case OOP_LESS_EQUAL_FLOAT: COMPARED(double, <=)
        case OOP_EQUAL_FLOAT: COMPARED(double, ==)
        default: COMPARED(double, !=)
    }
}

static void compare_step(const oop_step *step, oop_register *out, const oop_register *a, const oop_register *b,
                         int64_t n) {
    out->valid = both_valid(a, b, out, n);
    compare_loop(step->op, a, b, out->room, n);
}

/* Kleene's: false and null is false, true or null is true. */
static void logic_step(const oop_step *step, oop_register *out, const oop_register *a, const oop_register *b,
                       int64_t n) {
    const uint8_t *p = a->data, *q = b->data;
    uint8_t *to = out->room;
    const int is_or = step->op == OOP_OR;
    if (!a->valid && !b->valid) {
        if (is_or)
            for (int64_t i = 0; i < n; i++) to[i] = p[i] | q[i];
        else
            for (int64_t i = 0; i < n; i++) to[i] = p[i] & q[i];
        out->valid = NULL;
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        uint8_t there = a->valid ? a->valid[i] : 1, here = b->valid ? b->valid[i] : 1;
        uint8_t left = p[i], right = q[i];
        /* known to be the value that decides, on either side */
        uint8_t decided = (there & (left == is_or)) | (here & (right == is_or));
        to[i] = (uint8_t)(decided ? is_or : !is_or);
        out->valid_room[i] = decided | (there & here);
    }
    out->valid = out->valid_room;
}

static void test_step(const oop_step *step, oop_register *out, const oop_register *a, int64_t n) {
    uint8_t *to = out->room;
    out->valid = NULL;
    if (step->op == OOP_NOT) {
        const uint8_t *p = a->data;
        for (int64_t i = 0; i < n; i++) to[i] = !p[i];
        out->valid = a->valid;
    } else if (step->op == OOP_IS_NAN) {
        const double *p = a->data;
        for (int64_t i = 0; i < n; i++) to[i] = p[i] != p[i];
        out->valid = a->valid;
    } else {
        const uint8_t null = step->op == OOP_IS_NULL;
        if (a->valid)
            for (int64_t i = 0; i < n; i++) to[i] = a->valid[i] ^ null;
        else
            memset(to, !null, (size_t)n);
    }
}

static void extreme_step(const oop_step *step, oop_register *out, const oop_register *a, const oop_register *b,
                         int64_t n) {
    const int64_t *p = a->data, *q = b->data;
    int64_t *to = out->room;
    out->valid = both_valid(a, b, out, n);
    if (step->op == OOP_LEAST)
        for (int64_t i = 0; i < n; i++) to[i] = p[i] < q[i] ? p[i] : q[i];
    else
        for (int64_t i = 0; i < n; i++) to[i] = p[i] > q[i] ? p[i] : q[i];
}

/* One of two values by a condition; the values have the same width, of 1 byte or of 8. */
static void choose_step(oop_register *out, const oop_register *condition, const oop_register *a, const oop_register *b,
                        int64_t n) {
    const uint8_t *when = condition->data;
    if (a->width == 1) {
        const uint8_t *p = a->data, *q = b->data;
        uint8_t *to = out->room;
        for (int64_t i = 0; i < n; i++) to[i] = when[i] ? p[i] : q[i];
    } else {
        const int64_t *p = a->data, *q = b->data;
        int64_t *to = out->room;
        for (int64_t i = 0; i < n; i++) to[i] = when[i] ? p[i] : q[i];
    }
    out->valid = NULL;
    if (!condition->valid && !a->valid && !b->valid) return;
    for (int64_t i = 0; i < n; i++) {
        uint8_t left = a->valid ? a->valid[i] : 1, right = b->valid ? b->valid[i] : 1;
        out->valid_room[i] = (uint8_t)((condition->valid ? condition->valid[i] : 1) & (when[i] ? left : right));
    }
    out->valid = out->valid_room;
}

/* A value, or another where it is null. */
static void fill_step(oop_register *out, const oop_register *a, const oop_register *b, int64_t n) {
    const oop_register known = {.data = a->valid, .width = 1};
    if (!a->valid) {
        out->data = a->data;
        out->valid = NULL;
        return;
    }
    oop_register plain = *a;
    plain.valid = NULL;
    choose_step(out, &known, &plain, b, n);
}

#endif
