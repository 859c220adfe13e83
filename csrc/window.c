#include "window.h"

#include <math.h>

static int64_t floor_divide(int64_t a, int64_t b) {
    /* b > 0; C rounds towards zero. */
    int64_t quotient = a / b;
    return quotient - (a % b < 0);
}

static double start_of(int64_t wid, double slide, double offset) {
    double distance = (double)wid * slide;
    return offset + distance;
}

int oop_wid_ranges_int(const int64_t *times, int64_t n, int64_t range, int64_t slide, int64_t offset,
                       int64_t low, int64_t high, int64_t *first, int64_t *last, int64_t *bad) {
    for (int64_t i = 0; i < n; i++) {
        if (times[i] < low || times[i] > high) {
            *bad = i;
            return OOP_TIME_OUTSIDE;
        }
    }
    if (range % slide == 0) {
        int64_t reach = range / slide - 1;
        for (int64_t i = 0; i < n; i++) {
            last[i] = floor_divide(times[i] - offset, slide);
            first[i] = last[i] - reach;
        }
        return OOP_OK;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t shifted = times[i] - offset;
        last[i] = floor_divide(shifted, slide);
        first[i] = floor_divide(shifted - range, slide) + 1;
    }
    return OOP_OK;
}

int oop_wid_ranges_float(const double *times, int64_t n, double range, double slide, double offset,
                         double limit, int64_t *first, int64_t *last, int64_t *bad) {
    for (int64_t i = 0; i < n; i++) {
        /* Written so that NaN fails it. */
        if (!(fabs(times[i]) < limit)) {
            *bad = i;
            return OOP_TIME_OUTSIDE;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        double t = times[i];
        int64_t a = (int64_t)floor((t - offset - range) / slide) + 1;
        int64_t b = (int64_t)floor((t - offset) / slide);
        /* Each quotient was rounded. */
        while (start_of(b, slide, offset) > t) b--;
        while (start_of(b + 1, slide, offset) <= t) b++;
        if (range == slide) {
            /* A tumbling window ends where the next one starts. */
            a = b;
        } else {
            while (start_of(a, slide, offset) + range <= t) a++;
            while (start_of(a - 1, slide, offset) + range > t) a--;
        }
        first[i] = a;
        last[i] = b;
    }
    return OOP_OK;
}
