/* The Arrow C data interface, as its specification has it: how a batch of columns comes from another library. */
#ifndef OOP_ARROW_H
#define OOP_ARROW_H

#include <stdint.h>

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif
