/* Window ids, and rows by slice of time. Window w covers [offset + w*slide, offset + w*slide + range). */
#ifndef OOP_WINDOWS_H
#define OOP_WINDOWS_H

#include <stdint.h>

#include "status.h"

/* The first and last window of each of n times. Times must be within [low, high], which the caller chose such that
   nothing here can overflow; *bad is the row of the first time that is not. range and slide are positive. For tumbling
   windows (range = slide) first and last may be the same array. */
int oop_wid_ranges_int(const int64_t *times, int64_t n, int64_t range, int64_t slide, int64_t offset,
                       int64_t low, int64_t high, int64_t *first, int64_t *last, int64_t *bad);

/* As oop_wid_ranges_int, for float64 times of a magnitude below limit. start <= t < end is literally true for the first
   and the last window, with start = offset + w*slide and end = start + range computed in float64. */
int oop_wid_ranges_float(const double *times, int64_t n, double range, double slide, double offset,
                         double limit, int64_t *first, int64_t *last, int64_t *bad);

/* The least and greatest slice of 2**shift slots; n > 0. */
int oop_slice_limits(const int64_t *slots, int64_t n, int64_t shift, int64_t *least, int64_t *greatest);

/* The rows of slice least + i are order[starts[i]..starts[i + 1]), in order, for i from 0 to span. order has n + 1
   places, starts span + 2. */
int oop_order_slices(const int64_t *slots, int64_t n, int64_t shift, int64_t least, int64_t span, int64_t *order,
                     int64_t *starts);

/* Rows sorted by slice, those of one slice in order; for slices that lie far apart. spare: n places. */
int oop_sort_slices(const int64_t *slots, int64_t n, int64_t shift, int64_t *order, int64_t *spare);

#endif
