#include "sums.h"

#include "by_group.h"
#include "exact.h"

#define ASK_WIDE FETCH(&hi[g]); FETCH(&lo[g]); FETCH(&counts[g]);

#define ADD_WIDE(HIGH, LOW)                                     \
    int64_t low = lo[g] + (LOW);                                \
    int64_t high = hi[g] + (HIGH) + (low >> 32);                \
    lo[g] = low & LOW_BITS;                                     \
    hi[g] = high;                                               \
    far |= high > HIGH_LIMIT || high < -HIGH_LIMIT;

int oop_add_sum_int(const int64_t *ids, const int64_t *values, const uint8_t *valid, int64_t n, int64_t size,
                    int64_t *hi, int64_t *lo, int64_t *counts) {
    int far = 0;
    FOR_ROWS(valid, 3, ASK_WIDE, ADD_WIDE(values[i] >> 32, values[i] & LOW_BITS) counts[g]++;)
    return far ? check_sums(ids, n, hi, 1) : OOP_OK;
}

int oop_add_sum_uint(const int64_t *ids, const uint64_t *values, const uint8_t *valid, int64_t n, int64_t size,
                     int64_t *hi, int64_t *lo, int64_t *counts) {
    int far = 0;
    FOR_ROWS(valid, 3, ASK_WIDE, ADD_WIDE((int64_t)(values[i] >> 32), (int64_t)(values[i] & LOW_BITS)) counts[g]++;)
    return far ? check_sums(ids, n, hi, 1) : OOP_OK;
}

int oop_merge_sum_int(const int64_t *ids, const int64_t *hi_in, const int64_t *lo_in, const int64_t *counts_in,
                      int64_t n, int64_t size, int64_t *hi, int64_t *lo, int64_t *counts) {
    int far = 0;
    FOR_ROWS(counts_in, 3, ASK_WIDE, ADD_WIDE(hi_in[i], lo_in[i]) counts[g] += counts_in[i];)
    return far ? check_sums(ids, n, hi, 1) : OOP_OK;
}

int oop_join_words(const int64_t *hi, const int64_t *lo, int64_t n, uint64_t *out) {
    for (int64_t i = 0; i < n; i++) out[i] = (uint64_t)hi[i] << 32 | (uint64_t)lo[i];
    return OOP_OK;
}
