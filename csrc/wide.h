/* Wide vectors, for machines that have them; the code for all others is always compiled too. */
#ifndef OOP_WIDE_H
#define OOP_WIDE_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 && defined(__gnu_linux__) && \
    !defined(OOP_NO_WIDE)
#define OOP_WIDE 1
/* The function is compiled several times; which one runs is decided when the library is loaded. */
#define WIDE_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define OOP_WIDE 0
#define WIDE_CLONES
#endif

#include <stdint.h>

/* The least and the greatest of n > 0 numbers. */
__attribute__((unused)) WIDE_CLONES static void find_limits(const int64_t *values, int64_t n, int64_t *least,
                                                            int64_t *greatest) {
    int64_t low = values[0], high = values[0];
    for (int64_t i = 1; i < n; i++) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    *least = low;
    *greatest = high;
}

#endif
