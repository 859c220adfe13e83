#include "moments.h"

#include "by_group.h"

static int counts_here(const int64_t *counts_in, const uint8_t *valid, int64_t i) {
    return counts_in ? counts_in[i] > 0 : !valid || valid[i];
}

int oop_merge_moments(const int64_t *ids, const int64_t *counts_in, const double *means_in, const double *m2_in,
                      const uint8_t *valid, int64_t n, int64_t size, double *scratch, int64_t *touched,
                      int64_t *counts, double *means, double *m2) {
    double *total = scratch, *mean = scratch + size, *moved = scratch + 2 * size, *spread = scratch + 3 * size;
    int64_t found = 0;
    if (outside(ids, 0, n, size)) return OOP_ID_OUTSIDE;
    /* The state of a group is one more partial of it. */
#define FOR_PARTS(BODY)                                                       \
    for (int64_t k = 0; k < found; k++) {                                     \
        int64_t g = touched[k];                                               \
        double part = (double)counts[g], centre = means[g], within = m2[g];   \
        (void)centre, (void)within;                                           \
        if (part > 0) { BODY }                                                \
    }                                                                         \
    for (int64_t i = 0; i < n; i++) {                                         \
        if (!counts_here(counts_in, valid, i)) continue;                      \
        int64_t g = ids[i];                                                   \
        double part = counts_in ? (double)counts_in[i] : 1.0;                 \
        double centre = means_in[i], within = m2_in ? m2_in[i] : 0.0;         \
        (void)centre, (void)within;                                           \
        BODY                                                                  \
    }
    for (int64_t i = 0; i < n; i++) {
        if (!counts_here(counts_in, valid, i)) continue;
        int64_t g = ids[i];
        if (total[g] == 0) touched[found++] = g;
        total[g] += counts_in ? (double)counts_in[i] : 1.0;
    }
    for (int64_t k = 0; k < found; k++) total[touched[k]] += (double)counts[touched[k]];
    /* Values are weighted before they are summed, so that large ones do not overflow; then rounding is corrected. */
    FOR_PARTS(mean[g] += centre * (part / total[g]);)
    FOR_PARTS(moved[g] += (centre - mean[g]) * (part / total[g]);)
    for (int64_t k = 0; k < found; k++) mean[touched[k]] += moved[touched[k]];
    FOR_PARTS(double distance = centre - mean[g]; spread[g] += part * (distance * distance) + within;)
    for (int64_t k = 0; k < found; k++) {
        int64_t g = touched[k];
        means[g] = mean[g];
        m2[g] = spread[g];
    }
    for (int64_t i = 0; i < n; i++)
        if (counts_here(counts_in, valid, i)) counts[ids[i]] += counts_in ? counts_in[i] : 1;
    return OOP_OK;
}
