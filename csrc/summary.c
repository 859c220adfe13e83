#include "summary.h"

#include <stddef.h>

#include "by_group.h"
#include "exact.h"

/* The words of a group's summary, near one another so that a row costs one access to memory. */
enum { COUNT, HI, LO, LEAST, GREATEST, WORDS };

/* A summary may begin in one line of the cache and end in the next. */
#define ASK_SUMMARY FETCH(&state[WORDS * g]); FETCH(&state[WORDS * g + WORDS - 1]);

/* Adds a partial to a summary; is its sum beyond the limit now? Every word is written, so that least and greatest are
   moves, not branches: which rows change them is hard to predict. Whether a group is new may be a branch: masks in its
   place were slower by a sixth and more. */
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
    const uint8_t *all = NULL; /* the counts are not side by side, as FOR_ROWS needs them */
    int far = 0;
    FOR_ROWS(all, 2, ASK_SUMMARY, const int64_t *part = state_in + WORDS * i; int64_t *held = state + WORDS * g;
             if (part[COUNT]) far |= add_part(held, part[COUNT], part[HI], part[LO], part[LEAST], part[GREATEST]);)
    return far ? check_sums(ids, n, state + HI, WORDS) : OOP_OK;
}
