/* Hashes: seeded ones for tables in memory, and a fixed one for shards, which another process must find again. */
#ifndef OOP_HASH_H
#define OOP_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define NULL_MARK 0xA0761D6478BD642Fu /* what is hashed in place of a null */

/* The two halves of a product folded together: every bit of both factors reaches the result. */
static inline uint64_t fold_multiply(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Makes the high bits of a hash fit for use. The products of consecutive keys differ in their low half by the factor,
   and with some factors that brings many keys to few places; a second product scatters them with every factor. */
static inline uint64_t scatter(uint64_t hash) { return hash * 0x9E3779B97F4A7C15u; }

static inline uint64_t read_8(const uint8_t *p) {
    uint64_t word;
    memcpy(&word, p, 8);
    return word;
}

static inline uint64_t read_4(const uint8_t *p) {
    uint32_t word;
    memcpy(&word, p, 4);
    return word;
}

/* Adds bytes to what has been hashed so far. Their length is hashed too, so that columns cannot run into each other. */
static inline uint64_t hash_bytes(const uint8_t *p, size_t n, uint64_t hash, uint64_t factor) {
    uint64_t a = 0, b = 0;
    size_t left = n;
    hash ^= n;
    while (left > 16) {
        hash = fold_multiply(read_8(p) ^ factor, read_8(p + 8) ^ hash);
        p += 16;
        left -= 16;
    }
    if (left >= 8) {
        a = read_8(p);
        b = read_8(p + left - 8);
    } else if (left >= 4) {
        a = read_4(p);
        b = read_4(p + left - 4);
    } else if (left > 0) {
        a = (uint64_t)p[0] << 16 | (uint64_t)p[left >> 1] << 8 | p[left - 1];
    }
    return fold_multiply(a ^ factor, b ^ hash);
}

/* The finaliser of splitmix64, as in oop.kernels.reference.partition. */
static inline uint64_t mix_word(uint64_t word) {
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
    return word ^ (word >> 31);
}

#endif
