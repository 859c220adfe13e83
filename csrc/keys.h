/* Values as unsigned numbers in the same order, so that one loop serves all types. */
#ifndef OOP_KEYS_H
#define OOP_KEYS_H

#include <stdint.h>
#include <string.h>

#define SIGN ((uint64_t)1 << 63)

static inline uint64_t key_of_int(int64_t value) { return (uint64_t)value ^ SIGN; }

static inline int64_t int_of_key(uint64_t key) { return (int64_t)(key ^ SIGN); }

/* The two zeros have one key; every NaN has the key `nan`. */
static inline uint64_t key_of_float(double value, uint64_t nan) {
    uint64_t bits;
    double one_zero = value + 0.0;
    memcpy(&bits, &one_zero, 8);
    bits ^= bits & SIGN ? UINT64_MAX : SIGN;
    return value == value ? bits : nan;
}

/* The value of a key; NaN for a key that no number has. */
static inline double float_of_key(uint64_t key) {
    double value;
    key ^= key & SIGN ? SIGN : UINT64_MAX;
    memcpy(&value, &key, 8);
    return value;
}

#endif
