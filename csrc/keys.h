/* Values as unsigned numbers in the same order, so that one loop serves all types. */
#ifndef OOP_KEYS_H
#define OOP_KEYS_H

#include <stdint.h>
#include <string.h>

#define SIGN ((uint64_t)1 << 63)

static inline uint64_t key_of_int(int64_t value) { return (uint64_t)value ^ SIGN; }

static inline int64_t int_of_key(uint64_t key) { return (int64_t)(key ^ SIGN); }

/* The two zeros are one value; every NaN is `nan`. */
static inline uint64_t key_of_float(double value, uint64_t nan) {
    uint64_t bits;
    double one_zero = value + 0.0;
    memcpy(&bits, &one_zero, 8);
    bits ^= bits & SIGN ? UINT64_MAX : SIGN;
    return value == value ? bits : nan;
}

/* NaN for a key that no other value has. */
static inline double float_of_key(uint64_t key) {
    double value;
    key ^= key & SIGN ? SIGN : UINT64_MAX;
    memcpy(&value, &key, 8);
    return value;
}

#endif
