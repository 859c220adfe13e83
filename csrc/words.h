/* Keys as words of 64 bits. */
#ifndef OOP_WORDS_H
#define OOP_WORDS_H

#include <stdint.h>

#include "groups.h"
#include "status.h"

/* words[i * width + place] of each column: its bits, shifted; a null leaves zeros there and, in the last word of the row,
   the bit of its column. words are zero before. */
int oop_pack_words(const oop_column *columns, const int32_t *places, const int32_t *shifts, int32_t count, int64_t n,
                   int64_t width, uint64_t *words);

#endif
