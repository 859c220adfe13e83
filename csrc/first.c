#include "first.h"

#include <stddef.h>

#include "by_group.h"

/* The words of a group: whether it holds a value, the `by` of that value, and the value. */
enum { HELD, BY, VALUE, BY_WORDS };
enum { NULL_HELD = 1, VALUE_HELD };

#define ASK_BY FETCH(&state[BY_WORDS * g]); FETCH(&state[BY_WORDS * g + BY_WORDS - 1]);

/* Replaces what is held by (kind, by, value) if that is sooner, or (most) later. If `by` is the same, a value replaces
   a null. */
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
