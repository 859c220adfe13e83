#include "late.h"

#include <math.h>

static int64_t subtract_slack(int64_t time, int64_t slack) {
    return time < INT64_MIN + slack ? INT64_MIN : time - slack;
}

int oop_prefix_bounds_int(const int64_t *times, int64_t n, int64_t slack, int64_t *greatest, int *seen,
                          int64_t *bounds) {
    /* The least value stands for nothing seen: less slack it stays the least value. */
    int64_t highest = *seen ? *greatest : INT64_MIN;
    for (int64_t i = 0; i < n; i++) {
        bounds[i] = subtract_slack(highest, slack);
        if (times[i] > highest) highest = times[i];
    }
    *greatest = highest;
    *seen = *seen || n > 0;
    return OOP_OK;
}

int oop_prefix_bounds_float(const double *times, int64_t n, double slack, double *greatest, int *seen,
                            double *bounds) {
    double highest = *seen ? *greatest : -INFINITY;
    int any = *seen;
    for (int64_t i = 0; i < n; i++) {
        bounds[i] = highest - slack;
        if (times[i] > highest) highest = times[i];
        any |= times[i] == times[i];
    }
    *greatest = highest;
    *seen = any;
    return OOP_OK;
}

int oop_mark_late_int(const int64_t *times, const int64_t *bounds, int64_t n, uint8_t *late) {
    for (int64_t i = 0; i < n; i++) late[i] = times[i] < bounds[i];
    return OOP_OK;
}

int oop_mark_late_float(const double *times, const double *bounds, int64_t n, uint8_t *late) {
    for (int64_t i = 0; i < n; i++) late[i] = times[i] < bounds[i];
    return OOP_OK;
}

int oop_mark_late_all_int(const int64_t *times, int64_t n, int64_t bound, int closed, uint8_t *late) {
    if (closed) {
        for (int64_t i = 0; i < n; i++) late[i] = times[i] <= bound;
    } else {
        for (int64_t i = 0; i < n; i++) late[i] = times[i] < bound;
    }
    return OOP_OK;
}

int oop_mark_late_all_float(const double *times, int64_t n, double bound, int closed, uint8_t *late) {
    if (closed) {
        for (int64_t i = 0; i < n; i++) late[i] = times[i] <= bound;
    } else {
        for (int64_t i = 0; i < n; i++) late[i] = times[i] < bound;
    }
    return OOP_OK;
}
