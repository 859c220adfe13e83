/* Texts of at most OOP_TEXT_SHORT bytes are read as two words, as hash_bytes reads them. */
#ifndef OOP_SHORT_TEXT_H
#define OOP_SHORT_TEXT_H

#include "coded.h"
#include "hash.h"

/* Words that have all the bytes of a text, some of them twice, and none beyond it. */
static inline void read_short(const uint8_t *p, int64_t n, uint64_t *first, uint64_t *last) {
    if (n >= 8) {
        *first = read_8(p);
        *last = read_8(p + n - 8);
    } else if (n >= 4) {
        *first = read_4(p);
        *last = read_4(p + n - 4);
    } else {
        *first = n > 0 ? (uint64_t)p[0] << 16 | (uint64_t)p[n >> 1] << 8 | p[n - 1] : 0;
        *last = 0;
    }
}

#endif
