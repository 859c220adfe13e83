#include "window.h"

#include <math.h>

#include "wide.h"

static int64_t floor_divide(int64_t a, int64_t b) {
    /* b > 0; C rounds towards zero. */
    int64_t quotient = a / b;
    return quotient - (a % b < 0);
}

static double start_of(int64_t wid, double slide, double offset) {
    double distance = (double)wid * slide;
    return offset + distance;
}

/* Division by a constant as a product (Granlund and Montgomery 1994, figure 4.1 for 63 bits): a division of 64 bits
   takes many times as long. Right for every numerator below 2**63. */
typedef struct {
    uint64_t factor;
    int shift;
} divisor;

static divisor prepare_divisor(int64_t d) {
    int bits = 0;
    while (((uint64_t)1 << bits) < (uint64_t)d) bits++;
    unsigned __int128 power = (unsigned __int128)1 << (63 + bits);
    return (divisor){(uint64_t)(power / (uint64_t)d + 1), bits - 1};
}

static inline int64_t divide(uint64_t numerator, divisor d) {
    return (int64_t)((uint64_t)(((unsigned __int128)numerator * d.factor) >> 64) >> d.shift);
}

/* out[i] = floor((times[i] - offset) / slide) + add. */
static void fill_wids(const int64_t *times, int64_t n, int64_t offset, int64_t slide, int64_t least, int64_t greatest,
                      int64_t add, int64_t *out) {
    int64_t base = floor_divide(least - offset, slide);
    int64_t start = base * slide + offset; /* the start of the first window: all numerators are from here */
    if (slide == 1 || (uint64_t)greatest - (uint64_t)start > INT64_MAX) {
        for (int64_t i = 0; i < n; i++) out[i] = floor_divide(times[i] - offset, slide) + add;
        return;
    }
    divisor by = prepare_divisor(slide);
    for (int64_t i = 0; i < n; i++) out[i] = divide((uint64_t)times[i] - (uint64_t)start, by) + base + add;
}

int oop_wid_ranges_int(const int64_t *times, int64_t n, int64_t range, int64_t slide, int64_t offset,
                       int64_t low, int64_t high, int64_t *first, int64_t *last, int64_t *bad) {
    int64_t least, greatest;
    if (n == 0) return OOP_OK;
    find_limits(times, n, &least, &greatest);
    if (least < low || greatest > high) {
        for (*bad = 0; times[*bad] >= low && times[*bad] <= high;) ++*bad;
        return OOP_TIME_OUTSIDE;
    }
    fill_wids(times, n, offset, slide, least, greatest, 0, last);
    if (first == last) return OOP_OK; /* tumbling: one window a row */
    if (range % slide == 0) {
        int64_t reach = range / slide - 1;
        for (int64_t i = 0; i < n; i++) first[i] = last[i] - reach;
    } else {
        fill_wids(times, n, offset + range, slide, least, greatest, 1, first);
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
