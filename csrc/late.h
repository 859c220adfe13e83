/* The bounds that rows imply for the rows after them, and which rows are below their bound. */
#ifndef OOP_LATE_H
#define OOP_LATE_H

#include <stdint.h>

#include "status.h"

/* bounds[i] = the greatest of *greatest (if *seen) and times[0..i), minus slack >= 0, stopping at the least value
   of the type; the least value while nothing was seen. *greatest and *seen are brought up to date. */
int oop_prefix_bounds_int(const int64_t *times, int64_t n, int64_t slack, int64_t *greatest, int *seen,
                          int64_t *bounds);

/* As oop_prefix_bounds_int, for float64 times; a NaN implies nothing. */
int oop_prefix_bounds_float(const double *times, int64_t n, double slack, double *greatest, int *seen,
                            double *bounds);

/* As oop_prefix_bounds_int and _float, but instead of the bounds *late says whether some row is below its bound. */
int oop_scan_times_int(const int64_t *times, int64_t n, int64_t slack, int64_t *greatest, int *seen, int *late);
int oop_scan_times_float(const double *times, int64_t n, double slack, double *greatest, int *seen, int *late);

/* bounds[i] = the (slack_rows + 1)-th greatest time before row i, the least value of the type while there are fewer.
   heap holds the *held greatest times so far, ascending, and has room for slack_rows + 1; it is ascending again in the
   end. A NaN is passed over. */
int oop_prefix_bounds_rows_int(const int64_t *times, int64_t n, int64_t slack_rows, int64_t *heap, int64_t *held,
                               int64_t *bounds);
int oop_prefix_bounds_rows_float(const double *times, int64_t n, int64_t slack_rows, double *heap, int64_t *held,
                                 double *bounds);

/* As oop_prefix_bounds_int, for each of size groups apart: row i sees only rows of its group codes[i]. */
int oop_prefix_bounds_by_int(const int64_t *times, const int64_t *codes, int64_t n, int64_t size, int64_t slack,
                             int64_t *greatest, uint8_t *seen, int64_t *bounds);
int oop_prefix_bounds_by_float(const double *times, const int64_t *codes, int64_t n, int64_t size, double slack,
                               double *greatest, uint8_t *seen, double *bounds);

/* late[i] = times[i] < bounds[i]. NaN is never late. */
int oop_find_late_int(const int64_t *times, const int64_t *bounds, int64_t n, uint8_t *late);
int oop_find_late_float(const double *times, const double *bounds, int64_t n, uint8_t *late);

/* late[i] = times[i] < bound, or <= if closed. */
int oop_find_late_all_int(const int64_t *times, int64_t n, int64_t bound, int closed, uint8_t *late);
int oop_find_late_all_float(const double *times, int64_t n, double bound, int closed, uint8_t *late);

#endif
