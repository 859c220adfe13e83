#include "results.h"

#include <stdlib.h>
#include <string.h>

#define AT_ONCE 512 /* groups of which all columns are filled, so that their words are read from memory once */

/* The memory of one column: its buffers and, behind them, its values and a bit for each row. */
typedef struct {
    const void *buffers[2];
    uint64_t values[];
} column_memory;

/* The memory of a batch: its columns, and the pointers to them. */
typedef struct {
    const void *buffers[1];
    struct ArrowArray *children[];
} batch_memory;

static void release_column(struct ArrowArray *column) {
    free(column->private_data);
    column->release = NULL;
}

static void release_batch(struct ArrowArray *batch) {
    for (int64_t i = 0; i < batch->n_children; i++)
        if (batch->children[i]->release) batch->children[i]->release(batch->children[i]);
    free(batch->private_data);
    batch->release = NULL;
}

/* Groups of a table: n of them, from the first on. */
typedef struct {
    const oop_table *table;
    int64_t first, n;
} some_groups;

#define WORD(words, i) (words).data[(words).stride * (of->first + (i))]

/* Clears the bits of rows that are null; the result is how many they are. */
static int64_t clear_bits(const some_groups *of, const oop_result *from, uint8_t *bits) {
    const uint8_t *valid = from->kind == OOP_RESULT_KEY ? of->table->kept[from->key].valid : NULL;
    int64_t nulls = 0;
    if (from->kind != OOP_RESULT_KEY && from->kind < OOP_RESULT_COUNTED) return 0;
    if (from->kind == OOP_RESULT_KEY && !valid) return 0;
    for (int64_t i = 0; i < of->n; i++)
        if (valid ? !valid[of->first + i] : WORD(from->c, i) == 0) {
            bits[i >> 3] &= (uint8_t)~(1u << (i & 7));
            nulls++;
        }
    return nulls;
}

static void keep_width(const some_groups *of, const oop_words *from, int32_t width, void *to) {
    const int64_t n = of->n;
    switch (width) {
        case 1: for (int64_t i = 0; i < n; i++) ((uint8_t *)to)[i] = (uint8_t)WORD(*from, i); break;
        case 2: for (int64_t i = 0; i < n; i++) ((uint16_t *)to)[i] = (uint16_t)WORD(*from, i); break;
        case 4: for (int64_t i = 0; i < n; i++) ((uint32_t *)to)[i] = (uint32_t)WORD(*from, i); break;
        default: for (int64_t i = 0; i < n; i++) ((int64_t *)to)[i] = WORD(*from, i);
    }
}

/* A sum is hi * 2**32 + lo. */
static int add_words(const some_groups *of, const oop_result *from, int64_t *to) {
    for (int64_t i = 0; i < of->n; i++)
        if (__builtin_mul_overflow(WORD(from->a, i), INT64_C(1) << 32, &to[i]) ||
            __builtin_add_overflow(to[i], WORD(from->b, i), &to[i]))
            return OOP_SUM_OUTSIDE;
    return OOP_OK;
}

static void divide_words(const some_groups *of, const oop_result *from, double *to) {
    for (int64_t i = 0; i < of->n; i++) {
        const int64_t hi = WORD(from->a, i), lo = WORD(from->b, i), rows = WORD(from->c, i);
        /* small negative sums have hi = -1 and a great lo: put them together as integers, not as floats */
        const int fits = hi > -(INT64_C(1) << 30) && hi < INT64_C(1) << 30;
        to[i] = (fits ? (double)(hi * (INT64_C(1) << 32) + lo) : (double)hi * 4294967296.0 + (double)lo) /
                (double)(rows > 1 ? rows : 1);
    }
}

static int fill(const some_groups *of, const oop_result *from, void *to) {
    const uint8_t *keys = from->kind == OOP_RESULT_KEY ? of->table->kept[from->key].data : NULL;
    switch (from->kind) {
        case OOP_RESULT_CONSTANT:
            for (int64_t i = 0; i < of->n; i++) ((int64_t *)to)[i] = from->constant;
            return OOP_OK;
        case OOP_RESULT_KEY: memcpy(to, keys + of->first * from->width, (size_t)(of->n * from->width)); return OOP_OK;
        case OOP_RESULT_SUM: return add_words(of, from, to);
        case OOP_RESULT_MEAN: divide_words(of, from, to); return OOP_OK;
        default: keep_width(of, &from->a, from->width, to); return OOP_OK;
    }
}

static int fill_column(const some_groups *of, const oop_result *from, void *values, uint8_t *bits, int64_t *nulls) {
    const oop_table *table = of->table;
    if (from->kind == OOP_RESULT_KEY && (from->key >= table->columns || table->kept[from->key].width != from->width))
        return OOP_ROW_OUTSIDE;
    int code = fill(of, from, values);
    if (code != OOP_OK) return code;
    memset(bits, 0xff, (size_t)(of->n + 7) / 8);
    *nulls = clear_bits(of, from, bits);
    return OOP_OK;
}

int oop_fill_results(const oop_table *table, const oop_result *columns, int32_t count, int64_t first, int64_t n,
                     void *const *values, uint8_t *const *bits, int64_t *nulls) {
    if (first < 0 || n < 0 || first > table->count - n) return OOP_ROW_OUTSIDE;
    for (int32_t i = 0; i < count; i++) nulls[i] = 0;
    for (int64_t done = 0; done < n; done += AT_ONCE) {
        const some_groups of = {table, first + done, n - done < AT_ONCE ? n - done : AT_ONCE};
        for (int32_t i = 0; i < count; i++) {
            int64_t more;
            int code = fill_column(&of, &columns[i], (uint8_t *)values[i] + done * columns[i].width, bits[i] + done / 8,
                                   &more);
            if (code != OOP_OK) return code;
            nulls[i] += more;
        }
    }
    return OOP_OK;
}

static int give_column(const some_groups *of, const oop_result *from, struct ArrowArray *out) {
    const int64_t n = of->n;
    const size_t words = (size_t)(n * from->width + 7) / 8, bits = (size_t)(n + 7) / 8;
    column_memory *memory = malloc(sizeof *memory + words * 8 + bits);
    int64_t nulls;
    if (!memory) return OOP_FULL;
    uint8_t *valid = (uint8_t *)(memory->values + words);
    int code = fill_column(of, from, memory->values, valid, &nulls);
    if (code != OOP_OK) {
        free(memory);
        return code;
    }
    memory->buffers[0] = nulls ? valid : NULL;
    memory->buffers[1] = memory->values;
    *out = (struct ArrowArray){.length = n, .null_count = nulls, .n_buffers = 2, .buffers = memory->buffers,
                               .release = release_column, .private_data = memory};
    return OOP_OK;
}

int oop_give_results(const oop_table *table, const oop_result *columns, int32_t count, int64_t first, int64_t n,
                     struct ArrowArray *out) {
    const some_groups of = {table, first, n};
    if (first < 0 || n < 0 || first > table->count - n) return OOP_ROW_OUTSIDE;
    const size_t pointers = (size_t)count * sizeof(struct ArrowArray *);
    batch_memory *memory = malloc(sizeof *memory + pointers + (size_t)count * sizeof(struct ArrowArray));
    if (!memory) return OOP_FULL;
    struct ArrowArray *made = (struct ArrowArray *)(void *)((uint8_t *)memory->children + pointers);
    memory->buffers[0] = NULL;
    *out = (struct ArrowArray){.length = n, .n_buffers = 1, .buffers = memory->buffers,
                               .children = memory->children, .release = release_batch, .private_data = memory};
    for (int32_t i = 0; i < count; i++) {
        int code = give_column(&of, &columns[i], memory->children[i] = &made[i]);
        if (code != OOP_OK) {
            release_batch(out);
            return code;
        }
        out->n_children++;
    }
    return OOP_OK;
}
