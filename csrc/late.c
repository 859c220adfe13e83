#include "late.h"

#include <math.h>

#include "ranks.h"
#include "wide.h"

#define CHUNK 1024

static int64_t subtract_slack(int64_t time, int64_t slack) {
    return time < INT64_MIN + slack ? INT64_MIN : time - slack;
}

int oop_prefix_bounds_int(const int64_t *times, int64_t n, int64_t slack, int64_t *greatest, int *seen,
                          int64_t *bounds) {
    /* The least value stands for nothing seen: it stays the least value when slack is subtracted. */
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

int oop_scan_times_int(const int64_t *times, int64_t n, int64_t slack, int64_t *greatest, int *seen, int *late) {
    int64_t highest = *seen ? *greatest : INT64_MIN;
    int any = 0;
    for (int64_t from = 0; from < n; from += CHUNK) {
        int64_t to = n - from < CHUNK ? n : from + CHUNK, least, most;
        find_limits(times + from, to - from, &least, &most);
        most = most > highest ? most : highest;
        /* No row is late if the least of them would not even be late as the last one. */
        if (least < subtract_slack(most, slack)) {
            for (int64_t i = from; i < to; i++) {
                any |= times[i] < subtract_slack(highest, slack);
                highest = times[i] > highest ? times[i] : highest;
            }
        }
        highest = most;
    }
    *greatest = highest;
    *seen = *seen || n > 0;
    *late = any;
    return OOP_OK;
}

int oop_scan_times_float(const double *times, int64_t n, double slack, double *greatest, int *seen, int *late) {
    double highest = *seen ? *greatest : -INFINITY;
    int any = 0, known = *seen;
    for (int64_t i = 0; i < n; i++) {
        any |= times[i] < highest - slack;
        highest = times[i] > highest ? times[i] : highest;
        known |= times[i] == times[i];
    }
    *greatest = highest;
    *seen = known;
    *late = any;
    return OOP_OK;
}

#define BOUNDS_BY_ROWS(NAME, TYPE)                                                                         \
    int NAME(const TYPE *times, int64_t n, int64_t slack_rows, TYPE *heap, int64_t *held, TYPE *bounds) {  \
        push_ranked_##TYPE(times, n, slack_rows, heap, held, bounds);                                      \
        /* Heap sort: the least goes to the end, again and again; then the order is turned. */             \
        for (int64_t left = *held - 1; left > 0; left--) {                                                 \
            TYPE least = heap[0];                                                                          \
            heap[0] = heap[left];                                                                          \
            heap[left] = least;                                                                            \
            sift_down_##TYPE(heap, left, 0);                                                               \
        }                                                                                                  \
        for (int64_t i = 0, j = *held - 1; i < j; i++, j--) {                                              \
            TYPE swap = heap[i];                                                                           \
            heap[i] = heap[j];                                                                             \
            heap[j] = swap;                                                                                \
        }                                                                                                  \
        return OOP_OK;                                                                                     \
    }

BOUNDS_BY_ROWS(oop_prefix_bounds_rows_int, int64_t)
BOUNDS_BY_ROWS(oop_prefix_bounds_rows_float, double)

int oop_prefix_bounds_by_int(const int64_t *times, const int64_t *codes, int64_t n, int64_t size, int64_t slack,
                             int64_t *greatest, uint8_t *seen, int64_t *bounds) {
    for (int64_t i = 0; i < n; i++)
        if ((uint64_t)codes[i] >= (uint64_t)size) return OOP_ID_OUTSIDE;
    for (int64_t i = 0; i < n; i++) {
        int64_t g = codes[i], highest = seen[g] ? greatest[g] : INT64_MIN;
        bounds[i] = subtract_slack(highest, slack);
        greatest[g] = times[i] > highest ? times[i] : highest;
        seen[g] = 1;
    }
    return OOP_OK;
}

int oop_prefix_bounds_by_float(const double *times, const int64_t *codes, int64_t n, int64_t size, double slack,
                               double *greatest, uint8_t *seen, double *bounds) {
    for (int64_t i = 0; i < n; i++)
        if ((uint64_t)codes[i] >= (uint64_t)size) return OOP_ID_OUTSIDE;
    for (int64_t i = 0; i < n; i++) {
        int64_t g = codes[i];
        double highest = seen[g] ? greatest[g] : -INFINITY;
        bounds[i] = highest - slack;
        greatest[g] = times[i] > highest ? times[i] : highest;
        seen[g] |= times[i] == times[i];
    }
    return OOP_OK;
}

int oop_find_late_int(const int64_t *times, const int64_t *bounds, int64_t n, uint8_t *late) {
    for (int64_t i = 0; i < n; i++) late[i] = times[i] < bounds[i];
    return OOP_OK;
}

int oop_find_late_float(const double *times, const double *bounds, int64_t n, uint8_t *late) {
    for (int64_t i = 0; i < n; i++) late[i] = times[i] < bounds[i];
    return OOP_OK;
}

int oop_find_late_all_int(const int64_t *times, int64_t n, int64_t bound, int closed, uint8_t *late) {
    if (closed) {
        for (int64_t i = 0; i < n; i++) late[i] = times[i] <= bound;
    } else {
        for (int64_t i = 0; i < n; i++) late[i] = times[i] < bound;
    }
    return OOP_OK;
}

int oop_find_late_all_float(const double *times, int64_t n, double bound, int closed, uint8_t *late) {
    if (closed) {
        for (int64_t i = 0; i < n; i++) late[i] = times[i] <= bound;
    } else {
        for (int64_t i = 0; i < n; i++) late[i] = times[i] < bound;
    }
    return OOP_OK;
}
