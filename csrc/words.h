/* Keys as words of 64 bits. */
#ifndef OOP_WORDS_H
#define OOP_WORDS_H

#include <stdint.h>

#include "groups.h"
#include "status.h"

/* Puts the bits of each column, shifted, into words[i * width + place]. A null leaves zeros there, and sets the bit of
   its column in the last word of the row. words must be zero before. */
int oop_pack_words(const oop_column *columns, const int32_t *places, const int32_t *shifts, int32_t count, int64_t n,
                   int64_t width, uint64_t *words);

#endif
