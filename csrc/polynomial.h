/* The fixed hash that decides a row's shard, as another process must find it again. Used by partition.c and texts.h. */
#ifndef OOP_POLYNOMIAL_H
#define OOP_POLYNOMIAL_H

#include "hash.h"

#define PRIME 0x100000001B3u
#define POWERS 64

static void fill_powers(uint64_t *powers) {
    powers[0] = PRIME;
    for (int i = 1; i < POWERS; i++) powers[i] = powers[i - 1] * PRIME;
}

/* A polynomial in the bytes, modulo 2**64. The powers are a table, so that one product need not wait for another. */
static uint64_t hash_polynomial(const uint8_t *p, int64_t n, const uint64_t *powers) {
    uint64_t sum = 0, lift = 1;
    for (int64_t at = 0; at < n; at += POWERS) {
        int64_t end = n - at < POWERS ? n - at : POWERS;
        uint64_t part = 0;
        for (int64_t i = 0; i < end; i++) part += (p[at + i] + (uint64_t)1) * powers[i];
        sum += part * lift;
        lift *= powers[POWERS - 1];
    }
    return sum + (uint64_t)n;
}

static inline uint64_t add_word(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
}

/* The high half is scaled to the number of shards: this takes no modulo, and is as even as the hash. */
static inline int32_t scale_hash(uint64_t hash, int64_t shards) {
    return (int32_t)(((mix_word(hash) >> 32) * (uint64_t)shards) >> 32);
}

#endif
