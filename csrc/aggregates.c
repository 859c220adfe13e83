#include "aggregates.h"

#include <math.h>
#include <stddef.h>

#include "fetch.h"

/* Lines of the cache that are fetched at a time: more would not come any sooner. */
#define FETCHED 256
#define FEW 4096 /* groups that are near anyway */

#define LOW_BITS 0xFFFFFFFF
#define HIGH_LIMIT ((int64_t)1 << 61)

static int outside(const int64_t *ids, int64_t from, int64_t to, int64_t size) {
    uint64_t most = 0;
    for (int64_t i = from; i < to; i++) most = (uint64_t)ids[i] > most ? (uint64_t)ids[i] : most;
    return most >= (uint64_t)size && to > from;
}

/* BODY for every row i that counts, with its group g. Two loops, so that rows without nulls pay nothing for them.
   Ids are checked a chunk at a time, while they are in the cache anyway, before any of them is used; then ASK fetches
   what is kept of a group, which lies in so many lines. */
#define FOR_ROWS(COUNTS, LINES, ASK, BODY)                                     \
    for (int64_t from = 0; from < n; from += FETCHED / LINES) {                \
        int64_t to = n - from < FETCHED / LINES ? n : from + FETCHED / LINES;  \
        if (outside(ids, from, to, size)) return OOP_ID_OUTSIDE;               \
        if (size > FEW)                                                        \
            for (int64_t i = from; i < to; i++) {                              \
                int64_t g = ids[i];                                            \
                ASK                                                            \
            }                                                                  \
        if (COUNTS) {                                                          \
            for (int64_t i = from; i < to; i++)                                \
                if ((COUNTS)[i]) {                                             \
                    int64_t g = ids[i];                                        \
                    BODY                                                       \
                }                                                              \
        } else {                                                               \
            for (int64_t i = from; i < to; i++) {                              \
                int64_t g = ids[i];                                            \
                BODY                                                           \
            }                                                                  \
        }                                                                      \
    }

/* What is kept in arrays of its own for each word. */
#define ASK_COUNT FETCH(&counts[g]);
#define ASK_TWO(words) FETCH(&words[g]); FETCH(&counts[g]);
#define ASK_WIDE FETCH(&hi[g]); FETCH(&lo[g]); FETCH(&counts[g]);

int oop_add_count(const int64_t *ids, const uint8_t *valid, int64_t n, int64_t size, int64_t *counts) {
    FOR_ROWS(valid, 1, ASK_COUNT, counts[g]++;)
    return OOP_OK;
}

int oop_merge_count(const int64_t *ids, const int64_t *counts_in, int64_t n, int64_t size, int64_t *counts) {
    FOR_ROWS(counts_in, 1, ASK_COUNT, counts[g] += counts_in[i];)
    return OOP_OK;
}

/* Every group that was touched is within the limit. Only rows that came near it make this a second pass.
   The hi of one group is width words after that of the group before. */
static int check_sums(const int64_t *ids, int64_t n, const int64_t *hi, int64_t width) {
    for (int64_t i = 0; i < n; i++)
        if (hi[width * ids[i]] > HIGH_LIMIT || hi[width * ids[i]] < -HIGH_LIMIT) return OOP_SUM_OUTSIDE;
    return OOP_OK;
}

#define ADD_WIDE(HIGH, LOW)                                     \
    int64_t low = lo[g] + (LOW);                                \
    int64_t high = hi[g] + (HIGH) + (low >> 32);                \
    lo[g] = low & LOW_BITS;                                     \
    hi[g] = high;                                               \
    far |= high > HIGH_LIMIT || high < -HIGH_LIMIT;

int oop_add_sum_int(const int64_t *ids, const int64_t *values, const uint8_t *valid, int64_t n, int64_t size,
                    int64_t *hi, int64_t *lo, int64_t *counts) {
    int far = 0;
    FOR_ROWS(valid, 3, ASK_WIDE, ADD_WIDE(values[i] >> 32, values[i] & LOW_BITS) counts[g]++;)
    return far ? check_sums(ids, n, hi, 1) : OOP_OK;
}

int oop_add_sum_uint(const int64_t *ids, const uint64_t *values, const uint8_t *valid, int64_t n, int64_t size,
                     int64_t *hi, int64_t *lo, int64_t *counts) {
    int far = 0;
    FOR_ROWS(valid, 3, ASK_WIDE, ADD_WIDE((int64_t)(values[i] >> 32), (int64_t)(values[i] & LOW_BITS)) counts[g]++;)
    return far ? check_sums(ids, n, hi, 1) : OOP_OK;
}

int oop_merge_sum_int(const int64_t *ids, const int64_t *hi_in, const int64_t *lo_in, const int64_t *counts_in,
                      int64_t n, int64_t size, int64_t *hi, int64_t *lo, int64_t *counts) {
    int far = 0;
    FOR_ROWS(counts_in, 3, ASK_WIDE, ADD_WIDE(hi_in[i], lo_in[i]) counts[g] += counts_in[i];)
    return far ? check_sums(ids, n, hi, 1) : OOP_OK;
}

int oop_join_words(const int64_t *hi, const int64_t *lo, int64_t n, uint64_t *out) {
    for (int64_t i = 0; i < n; i++) out[i] = (uint64_t)hi[i] << 32 | (uint64_t)lo[i];
    return OOP_OK;
}

int oop_add_sum_float(const int64_t *ids, const double *values, const uint8_t *valid, int64_t n, int64_t size,
                      double *sums, int64_t *counts) {
    FOR_ROWS(valid, 2, ASK_TWO(sums), sums[g] += values[i]; counts[g]++;)
    return OOP_OK;
}

int oop_merge_sum_float(const int64_t *ids, const double *sums_in, const int64_t *counts_in, int64_t n, int64_t size,
                        double *sums, int64_t *counts) {
    FOR_ROWS(counts_in, 2, ASK_TWO(sums), sums[g] += sums_in[i]; counts[g] += counts_in[i];)
    return OOP_OK;
}

#define LESS(a, b) ((a) < (b))
#define GREATER(a, b) ((a) > (b))
/* A NaN that is held gives way to any number; one that comes never replaces a number. */
#define LESS_FLOAT(a, b) ((a) < (b) || isnan(b))
#define GREATER_FLOAT(a, b) ((a) > (b) || isnan(a))

/* Two passes over the choice of rows: plain values with their validity, or partials with their counts. */
#define TAKE(NAME, TYPE, BETTER)                                                                               \
    int NAME(const int64_t *ids, const TYPE *values, const uint8_t *valid, const int64_t *counts_in, int64_t n, \
             int64_t size, TYPE *out, int64_t *counts) {                                                       \
        if (counts_in) {                                                                                       \
            FOR_ROWS(counts_in, 2, ASK_TWO(out),                                                               \
                     if (!counts[g] || BETTER(values[i], out[g])) out[g] = values[i];                          \
                     counts[g] += counts_in[i];)                                                               \
        } else {                                                                                               \
            FOR_ROWS(valid, 2, ASK_TWO(out), if (!counts[g] || BETTER(values[i], out[g])) out[g] = values[i];  \
                     counts[g]++;)                                                                             \
        }                                                                                                      \
        return OOP_OK;                                                                                         \
    }

TAKE(oop_take_min_int, int64_t, LESS)
TAKE(oop_take_max_int, int64_t, GREATER)
TAKE(oop_take_min_uint, uint64_t, LESS)
TAKE(oop_take_max_uint, uint64_t, GREATER)
TAKE(oop_take_min_float, double, LESS_FLOAT)
TAKE(oop_take_max_float, double, GREATER_FLOAT)

static int counts_here(const int64_t *counts_in, const uint8_t *valid, int64_t i) {
    return counts_in ? counts_in[i] > 0 : !valid || valid[i];
}

int oop_merge_moments(const int64_t *ids, const int64_t *counts_in, const double *means_in, const double *m2_in,
                      const uint8_t *valid, int64_t n, int64_t size, double *scratch, int64_t *touched,
                      int64_t *counts, double *means, double *m2) {
    double *total = scratch, *mean = scratch + size, *moved = scratch + 2 * size, *spread = scratch + 3 * size;
    int64_t found = 0;
    if (outside(ids, 0, n, size)) return OOP_ID_OUTSIDE;
    /* What is there already is one more partial of each group. */
#define FOR_PARTS(BODY)                                                       \
    for (int64_t k = 0; k < found; k++) {                                     \
        int64_t g = touched[k];                                               \
        double part = (double)counts[g], centre = means[g], within = m2[g];   \
        (void)centre, (void)within;                                           \
        if (part > 0) { BODY }                                                \
    }                                                                         \
    for (int64_t i = 0; i < n; i++) {                                         \
        if (!counts_here(counts_in, valid, i)) continue;                      \
        int64_t g = ids[i];                                                   \
        double part = counts_in ? (double)counts_in[i] : 1.0;                 \
        double centre = means_in[i], within = m2_in ? m2_in[i] : 0.0;         \
        (void)centre, (void)within;                                           \
        BODY                                                                  \
    }
    for (int64_t i = 0; i < n; i++) {
        if (!counts_here(counts_in, valid, i)) continue;
        int64_t g = ids[i];
        if (total[g] == 0) touched[found++] = g;
        total[g] += counts_in ? (double)counts_in[i] : 1.0;
    }
    for (int64_t k = 0; k < found; k++) total[touched[k]] += (double)counts[touched[k]];
    /* Weights before the sum, so that large values do not overflow; then the rounding is taken out. */
    FOR_PARTS(mean[g] += centre * (part / total[g]);)
    FOR_PARTS(moved[g] += (centre - mean[g]) * (part / total[g]);)
    for (int64_t k = 0; k < found; k++) mean[touched[k]] += moved[touched[k]];
    FOR_PARTS(double distance = centre - mean[g]; spread[g] += part * (distance * distance) + within;)
    for (int64_t k = 0; k < found; k++) {
        int64_t g = touched[k];
        means[g] = mean[g];
        m2[g] = spread[g];
    }
    for (int64_t i = 0; i < n; i++)
        if (counts_here(counts_in, valid, i)) counts[ids[i]] += counts_in ? counts_in[i] : 1;
    return OOP_OK;
}

/* The words of a group's summary, near one another so that a row costs one access to memory. */
enum { COUNT, HI, LO, LEAST, GREATEST, WORDS };

/* It may begin in one line and end in the next. */
#define ASK_SUMMARY FETCH(&state[WORDS * g]); FETCH(&state[WORDS * g + WORDS - 1]);

/* Adds a partial to a summary; is its sum beyond the limit now? Every word is written, so that least and greatest are
   moves, not branches: which rows change them is hard to foresee. Whether a group is new may be a branch:
   masks in its place were slower by a sixth and more. */
static inline int add_part(int64_t *held, int64_t more, int64_t high, int64_t low, int64_t least, int64_t greatest) {
    int64_t count = held[COUNT], held_least = held[LEAST], held_greatest = held[GREATEST];
    held_least = count ? held_least : least;
    held_greatest = count ? held_greatest : greatest;
    low += held[LO];
    high += held[HI] + (low >> 32);
    held[COUNT] = count + more;
    held[HI] = high;
    held[LO] = low & LOW_BITS;
    held[LEAST] = least < held_least ? least : held_least;
    held[GREATEST] = greatest > held_greatest ? greatest : held_greatest;
    return (high > HIGH_LIMIT) | (high < -HIGH_LIMIT);
}

int oop_add_summary(const int64_t *ids, const int64_t *values, const uint8_t *valid, int64_t n, int64_t size,
                    int64_t *state) {
    int far = 0;
    FOR_ROWS(valid, 2, ASK_SUMMARY, int64_t value = values[i];
             far |= add_part(state + WORDS * g, 1, value >> 32, value & LOW_BITS, value, value);)
    return far ? check_sums(ids, n, state + HI, WORDS) : OOP_OK;
}

int oop_merge_summary(const int64_t *ids, const int64_t *state_in, int64_t n, int64_t size, int64_t *state) {
    const uint8_t *all = NULL; /* the counts are not side by side, as FOR_ROWS would have them */
    int far = 0;
    FOR_ROWS(all, 2, ASK_SUMMARY, const int64_t *part = state_in + WORDS * i; int64_t *held = state + WORDS * g;
             if (part[COUNT]) far |= add_part(held, part[COUNT], part[HI], part[LO], part[LEAST], part[GREATEST]);)
    return far ? check_sums(ids, n, state + HI, WORDS) : OOP_OK;
}

/* The words of the value that a group holds by something. */
enum { HELD, BY, VALUE, BY_WORDS };
enum { NULL_HELD = 1, VALUE_HELD };

#define ASK_BY FETCH(&state[BY_WORDS * g]); FETCH(&state[BY_WORDS * g + BY_WORDS - 1]);

/* Takes (kind, by, value) in if it comes before what is held; of the same by a value comes before a null. */
static inline void keep_by(int most, int64_t *held, int64_t kind, int64_t by, int64_t value) {
    int64_t held_by = held[BY], held_value = held[VALUE];
    int sooner = most ? by > held_by : by < held_by, better = most ? value > held_value : value < held_value;
    if (!held[HELD] || sooner || (by == held_by && (kind > held[HELD] || (kind == held[HELD] && better)))) {
        held[HELD] = kind;
        held[BY] = by;
        held[VALUE] = value;
    }
}

#define TAKE_BY(TAKE_NAME, MERGE_NAME, MOST)                                                                        \
    int TAKE_NAME(const int64_t *ids, const int64_t *by, const uint8_t *known, const int64_t *values,               \
                  const uint8_t *valid, int64_t n, int64_t size, int64_t *state) {                                  \
        FOR_ROWS(known, 2, ASK_BY, int there = !valid || valid[i];                                                  \
                 keep_by(MOST, state + BY_WORDS * g, there ? VALUE_HELD : NULL_HELD, by[i], there ? values[i] : 0);) \
        return OOP_OK;                                                                                              \
    }                                                                                                               \
    int MERGE_NAME(const int64_t *ids, const int64_t *state_in, int64_t n, int64_t size, int64_t *state) {          \
        const uint8_t *all = NULL; /* as in oop_merge_summary */                                                    \
        FOR_ROWS(all, 2, ASK_BY, const int64_t *part = state_in + BY_WORDS * i;                                     \
                 if (part[HELD]) keep_by(MOST, state + BY_WORDS * g, part[HELD], part[BY], part[VALUE]);)           \
        return OOP_OK;                                                                                              \
    }

TAKE_BY(oop_take_first, oop_merge_first, 0)
TAKE_BY(oop_take_last, oop_merge_last, 1)
