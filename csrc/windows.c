#include "windows.h"

#include <math.h>
#include <string.h>

#include "wide.h"

#define LANES 4
#define IN_LANES 256 /* fewer slices than this, and no fewer rows, are counted in lanes */
#define FEW 8 /* slices that are worth a pass each */

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

/* Of so few windows each is asked about, which costs less than a division. `base` begins at `start`. */
WIDE_CLONES static void count_windows(const int64_t *times, int64_t n, int64_t start, int64_t slide, int64_t windows,
                                      int64_t base, int64_t *out) {
    for (int64_t i = 0; i < n; i++) out[i] = base;
    for (int64_t w = 0; w < windows; w++) {
        start += slide;
        for (int64_t i = 0; i < n; i++) out[i] += times[i] >= start;
    }
}

/* out[i] = floor((times[i] - offset) / slide) + add. */
static void fill_wids(const int64_t *times, int64_t n, int64_t offset, int64_t slide, int64_t least, int64_t greatest,
                      int64_t add, int64_t *out) {
    int64_t base = floor_divide(least - offset, slide);
    int64_t start = base * slide + offset; /* the start of the first window, from which all numerators count */
    if (slide == 1 || (uint64_t)greatest - (uint64_t)start > INT64_MAX) {
        for (int64_t i = 0; i < n; i++) out[i] = floor_divide(times[i] - offset, slide) + add;
        return;
    }
    const int64_t windows = (greatest - start) / slide;
    if (windows < FEW) {
        count_windows(times, n, start, slide, windows, base + add, out);
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
        /* Each quotient was rounded: move until start <= t < end holds literally. */
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

int oop_slice_limits(const int64_t *slots, int64_t n, int64_t shift, int64_t *least, int64_t *greatest) {
    find_limits(slots, n, least, greatest);
    *least >>= shift;
    *greatest >>= shift;
    return OOP_OK;
}

#if OOP_WIDE
#include <immintrin.h>

/* Finds the rows of a slice, eight rows at a time, among the first *done; the rest is left to the caller. A store
   writes eight numbers. */
__attribute__((target("avx512f,popcnt"))) static int64_t order_wide(const int64_t *slots, int64_t n, int64_t shift,
                                                                    int64_t slice, int64_t *order, int64_t end,
                                                                    int64_t *done) {
    const __m512i own = _mm512_set1_epi64(slice), step = _mm512_set1_epi64(8);
    const __m128i by = _mm_cvtsi64_si128(shift);
    __m512i rows = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    int64_t i = 0;
    for (; i + 8 <= n && end + 8 <= n; i += 8) {
        __m512i number = _mm512_sra_epi64(_mm512_loadu_si512(slots + i), by);
        __mmask8 mask = _mm512_cmpeq_epi64_mask(number, own);
        _mm512_storeu_si512(order + end, _mm512_maskz_compress_epi64(mask, rows));
        end += __builtin_popcount(mask);
        rows = _mm512_add_epi64(rows, step);
    }
    *done = i;
    return end;
}
#endif

/* Four stretches of the rows at once, each with counts of its own: rows that follow each other are often of one slice,
   and would wait for the count that the row before wrote. */
static int order_in_lanes(const int64_t *slots, int64_t n, int64_t shift, int64_t least, int64_t span, int64_t *order,
                          int64_t *starts) {
    int64_t counts[LANES][IN_LANES] = {0}, each = n / LANES, end = 0;
    uint64_t outside = 0;
    for (int64_t i = 0; i < n - (LANES - 1) * each; i++) {
        for (int64_t lane = i < each ? 0 : LANES - 1; lane < LANES; lane++) {
            uint64_t slice = (uint64_t)(slots[lane * each + i] >> shift) - (uint64_t)least;
            outside |= slice > (uint64_t)span;
            counts[lane][slice % IN_LANES]++;
        }
    }
    if (outside) return OOP_ROW_OUTSIDE;
    for (int64_t slice = 0; slice <= span; slice++) {
        starts[slice] = end;
        for (int lane = 0; lane < LANES; lane++) {
            int64_t rows = counts[lane][slice];
            counts[lane][slice] = end;
            end += rows;
        }
    }
    starts[span + 1] = end;
    for (int64_t i = 0; i < n - (LANES - 1) * each; i++)
        for (int64_t lane = i < each ? 0 : LANES - 1; lane < LANES; lane++)
            order[counts[lane][(slots[lane * each + i] >> shift) - least]++] = lane * each + i;
    return OOP_OK;
}

int oop_order_slices(const int64_t *slots, int64_t n, int64_t shift, int64_t least, int64_t span, int64_t *order,
                     int64_t *starts) {
    starts[0] = 0;
    if (span < FEW) { /* a pass for each slice, so that no row waits for the count that the row before it wrote */
        for (int64_t slice = 0; slice <= span; slice++) {
            int64_t end = starts[slice], i = 0;
#if OOP_WIDE
            if (__builtin_cpu_supports("avx512f")) end = order_wide(slots, n, shift, least + slice, order, end, &i);
#endif
            for (; i < n; i++) {
                order[end] = i; /* overwritten by the next, unless it is of this slice */
                end += slots[i] >> shift == least + slice;
            }
            starts[slice + 1] = end;
        }
        return starts[span + 1] == n ? OOP_OK : OOP_ROW_OUTSIDE;
    }
    if (span < IN_LANES && n >= IN_LANES) return order_in_lanes(slots, n, shift, least, span, order, starts);
    for (int64_t i = 1; i <= span + 1; i++) starts[i] = 0;
    for (int64_t i = 0; i < n; i++) {
        uint64_t place = (uint64_t)(slots[i] >> shift) - (uint64_t)least;
        if (place > (uint64_t)span) return OOP_ROW_OUTSIDE;
        starts[place + 1]++;
    }
    for (int64_t i = 0; i <= span; i++) starts[i + 1] += starts[i];
    for (int64_t i = 0; i < n; i++) order[starts[(slots[i] >> shift) - least]++] = i;
    for (int64_t i = span + 1; i > 0; i--) starts[i] = starts[i - 1];
    starts[0] = 0;
    return OOP_OK;
}

int oop_sort_slices(const int64_t *slots, int64_t n, int64_t shift, int64_t *order, int64_t *spare) {
    int64_t *from = order, *to = spare;
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int byte = 0; byte < 8; byte++) { /* the least byte first; each pass keeps the order of the one before */
        int64_t starts[257] = {0};
        /* With the sign bit flipped, negative slices come first. */
#define BYTE_OF(row) ((((uint64_t)(slots[row] >> shift) ^ (uint64_t)1 << 63) >> 8 * byte) & 0xFF)
        for (int64_t i = 0; i < n; i++) starts[BYTE_OF(i) + 1]++;
        if (n == 0 || starts[BYTE_OF(0) + 1] == n) continue;
        for (int i = 0; i < 256; i++) starts[i + 1] += starts[i];
        for (int64_t i = 0; i < n; i++) to[starts[BYTE_OF(from[i])]++] = from[i];
        int64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != order) memcpy(order, from, (size_t)n * sizeof *order);
    return OOP_OK;
}
