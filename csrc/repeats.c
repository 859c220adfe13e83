#include "repeats.h"

int oop_select_new(const int64_t *ids, int64_t n, int64_t known, int64_t *rows, int64_t *found) {
    int64_t count = 0, next = known;
    for (int64_t i = 0; i < n; i++) { /* no branch, because about half of the rows may be new, at random */
        int new = ids[i] >= next;
        rows[count] = i;
        count += new;
        next = new ? ids[i] + 1 : next;
    }
    *found = count;
    return OOP_OK;
}

int oop_begin_spans_int(const int64_t *ids, const int64_t *times, int64_t n, int64_t span, uint8_t *begins) {
    int64_t start = 0;
    for (int64_t i = 0; i < n; i++) {
        /* Unsigned: the difference of two times may need 64 bits without a sign. */
        begins[i] = i == 0 || ids[i] != ids[i - 1] || (uint64_t)times[i] - (uint64_t)start > (uint64_t)span;
        start = begins[i] ? times[i] : start;
    }
    return OOP_OK;
}

int oop_begin_spans_float(const int64_t *ids, const double *times, int64_t n, double span, uint8_t *begins) {
    double start = 0;
    for (int64_t i = 0; i < n; i++) {
        begins[i] = i == 0 || ids[i] != ids[i - 1] || times[i] - start > span;
        start = begins[i] ? times[i] : start;
    }
    return OOP_OK;
}
