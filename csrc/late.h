/* The bounds that rows imply for the rows after them, and which rows are below their bound. */
#ifndef OOP_LATE_H
#define OOP_LATE_H

#include <stdint.h>

#include "status.h"

/* bounds[i] = the greatest of *greatest (if *seen) and times[0..i), minus slack >= 0, stopping at the least value
   of the type; the least value while nothing was seen. *greatest and *seen are brought up to date. */
int oop_prefix_bounds_int(const int64_t *times, int64_t n, int64_t slack, int64_t *greatest, int *seen,
                          int64_t *bounds);

/* The same for float64 times; a NaN implies nothing. */
int oop_prefix_bounds_float(const double *times, int64_t n, double slack, double *greatest, int *seen,
                            double *bounds);

/* late[i] = times[i] < bounds[i]. NaN is never late. */
int oop_mark_late_int(const int64_t *times, const int64_t *bounds, int64_t n, uint8_t *late);
int oop_mark_late_float(const double *times, const double *bounds, int64_t n, uint8_t *late);

/* late[i] = times[i] < bound, or <= if closed. */
int oop_mark_late_all_int(const int64_t *times, int64_t n, int64_t bound, int closed, uint8_t *late);
int oop_mark_late_all_float(const double *times, int64_t n, double bound, int closed, uint8_t *late);

#endif
