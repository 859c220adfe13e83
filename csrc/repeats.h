/* Which rows are not repeats of an earlier one. */
#ifndef OOP_REPEATS_H
#define OOP_REPEATS_H

#include <stdint.h>

#include "status.h"

/* The *found positions of ids that are not below known and greater than every id before them. Dense ids are given in
   order of first appearance, so these are the first rows of new ids. rows has room for n + 1. */
int oop_select_new(const int64_t *ids, int64_t n, int64_t known, int64_t *rows, int64_t *found);

/* Rows are sorted by id and, for one id, by time. begins[i] = 1 where row i is the first of its id, or more than span
   after the row that began the last span of its id. */
int oop_begin_spans_int(const int64_t *ids, const int64_t *times, int64_t n, int64_t span, uint8_t *begins);
int oop_begin_spans_float(const int64_t *ids, const double *times, int64_t n, double span, uint8_t *begins);

#endif
