/* Programs: what passes rows, up to and including what an aggregate does with a row, for a whole train in one call. One
   that ends before any state hands its rows out. So does one that ends at a dedup, whose keys stay behind.

   A program is a list of steps over registers, and a register is a column of at most OOP_ROWS rows. The rows of a train
   are taken in chunks of that many, and every step works on a whole chunk, which stays in the cache meanwhile. A chunk
   is all or nothing: whatever stops it, it changes no aggregate, and the next call begins with it again. */
#ifndef OOP_PROGRAMS_H
#define OOP_PROGRAMS_H

#include <stdint.h>

#include "arrow.h"
#include "coded.h"
#include "groups.h"
#include "sessions.h"
#include "status.h"

enum oop_program_sizes {
    OOP_ROWS = 2048,   /* rows of a chunk, at most */
    OOP_PIECES = 512,  /* batches that a chunk is of, at most */
    OOP_ARRAYS = 24,   /* arrays of aggregates that a target has, at most */
    OOP_TARGETS = 64,  /* targets that a run knows at a time */
    OOP_KEYS = 16      /* key columns, at most */
};

/* What a step does. The names of the registers are its fields: `out` from `a` and `b` (and `c`). */
enum oop_op {
    OOP_LOAD,         /* column a, read as its form says */
    OOP_GUARD,        /* of the times a, late rows are set aside */
    OOP_FILTER,       /* only rows for which a is true go on; registers that were filled before have other rows */
    OOP_COMPACT,      /* those rows of a, filled before the last filter, that went on */
    OOP_MARK,         /* counts[out] is how many rows came here */
    OOP_WINDOW,       /* out and b: last and first window of the times a; x range, y slide, z offset, from low to high; or
                         f, g, h of floats, below k */
    OOP_LIMIT,        /* the chunk is odd if a float of a is greater than f, or less than -f */
    OOP_ASCEND,       /* the chunk is odd unless a (floats if form is 1) ascends from what was reached before */
    OOP_SHARD,        /* the shard of each row, in 32 bits, by c keys from register a on; x: which are signed, y: floats,
                         by bits; those without a width are text */
    OOP_ADD, OOP_SUBTRACT, OOP_MULTIPLY, OOP_FLOOR_DIVIDE, OOP_MOD, /* the result must be from x to y */
    OOP_NEGATE, OOP_ABS, OOP_CHECK,                                 /* likewise; CHECK is a cast to fewer bits */
    OOP_ADD_FLOAT, OOP_SUBTRACT_FLOAT, OOP_MULTIPLY_FLOAT, OOP_DIVIDE_FLOAT, OOP_NEGATE_FLOAT, OOP_ABS_FLOAT,
    OOP_DIVIDE,       /* of whole numbers as floats, where b may not be 0 */
    OOP_TO_FLOAT, OOP_TO_FLOAT32,
    OOP_LESS, OOP_LESS_EQUAL, OOP_EQUAL, OOP_NOT_EQUAL,
    OOP_LESS_FLOAT, OOP_LESS_EQUAL_FLOAT, OOP_EQUAL_FLOAT, OOP_NOT_EQUAL_FLOAT,
    OOP_AND, OOP_OR, OOP_NOT, OOP_IS_NULL, OOP_IS_VALID, OOP_IS_NAN,
    OOP_LEAST, OOP_GREATEST, OOP_LEAST_FLOAT, OOP_GREATEST_FLOAT,
    OOP_IF_ELSE,      /* b where a is true, else c */
    OOP_FILL_NULL,    /* a, or b where it is null */
    OOP_TEXT_EQUAL,   /* is the text a this one, of x bytes? */
    OOP_TEXT_THERE,   /* true, and null where the text a is */
    OOP_OPS
};

/* How a column lies in memory, and in how many bits a register has it. */
enum oop_form {
    OOP_RAW1, OOP_RAW2, OOP_RAW4, OOP_RAW8, /* as it is: keys */
    OOP_INT8, OOP_INT16, OOP_INT32, OOP_UINT8, OOP_UINT16, OOP_UINT32, OOP_FLOAT32, /* in 64 bits */
    OOP_BITS,        /* booleans: a byte each */
    OOP_TEXT, OOP_LARGE_TEXT /* bytes of any length, by offsets of 32 or of 64 bits */
};

/* How rows change the aggregates of their group; the arrays are those of the kernels of the same name. */
enum oop_update_kind {
    OOP_COUNT, OOP_SUM_INT, OOP_SUM_UINT, OOP_SUM_FLOAT, OOP_MIN_INT, OOP_MAX_INT, OOP_MIN_UINT, OOP_MAX_UINT,
    OOP_MIN_FLOAT, OOP_MAX_FLOAT, OOP_SUMMARY, OOP_FIRST, OOP_LAST, OOP_MOMENTS, OOP_WHOLE_MOMENTS,
    OOP_USER /* by the update's own loop */
};

typedef struct {
    int32_t op, out, a, b, c, form;
    int64_t x, y, z, low, high;
    double f, g, h, k;
    const uint8_t *text;
} oop_step;

typedef struct {
    void *data;          /* of the present chunk: in a batch, or in its own room */
    uint8_t *valid;      /* NULL: no row of the chunk is null */
    void *room;          /* OOP_ROWS + 1 values of 64 bits; of a constant, all of them are filled */
    uint8_t *valid_room; /* OOP_ROWS bytes */
    int64_t bytes;       /* of text: how many there are in data, where the offsets in room lead to */
    int32_t width;       /* bytes of a value; 0: text, which has all rows of the chunk, also those that are not left */
    int32_t is_float;
    oop_texts *own;        /* of a key that is text: the list of this program */
    const oop_texts *from; /* the list in which the rows have numbers, which may be the sender's */
    const int32_t *codes;  /* the numbers of the texts of the rows that are left; NULL: they have none yet */
} oop_register;

/* A user's loop: n rows with the values a and b (NULL where it takes fewer) go into the groups with these ids, of which
   there are `size`. Unless there_count is 0, only rows that are there count. 0: done; else *row is the one that the
   user's function refused. */
typedef int32_t (*oop_user_loop)(const int64_t *ids, const uint8_t *there, int64_t there_count, int64_t n, int64_t size,
                                 void *const *arrays, const void *a, const void *b, int64_t *row);

/* An aggregate: `value` and `by` are registers, or -1, and its arrays begin at `array` in each target. */
typedef struct {
    int32_t kind, value, by, array;
    oop_user_loop loop; /* of OOP_USER */
} oop_update;

/* A computed column of rows that are handed out; both arrays have room for all rows of the train. */
typedef struct {
    int32_t number;    /* of the register */
    int32_t has_nulls; /* is valid filled? */
    void *data;
    uint8_t *valid;
} oop_output;

/* A column of rows that were sent to a shard; both arrays have room for run->sent_room rows. */
typedef struct {
    void *data;
    uint8_t *valid;
    int32_t has_nulls; /* is valid filled? */
    int32_t width;     /* bytes of a value */
} oop_sent;

/* The groups of one slice of slots, with their aggregates. */
typedef struct {
    int64_t number;
    int64_t rows; /* that this run brought */
    int64_t known; /* keys that it had before the present chunk; a dedup hands out the first rows of all others */
    oop_table *keys;
    oop_table *texts[OOP_KEYS]; /* of keys that are text: where they get their codes */
    void *arrays[OOP_ARRAYS];
} oop_target;

/* The open sessions of a program that ends at sessions; its one target has their keys, and arrays by slot. The lists are
   of the whole train. */
typedef struct {
    uint32_t *heads; /* by key */
    int64_t head_room;
    oop_session *records;
    int64_t room;
    const uint32_t *free; /* new sessions take slots from the end on */
    int64_t frees;
    int64_t *lowered;  /* sessions that begin earlier now */
    int64_t *absorbed; /* sessions that were bridged to a newer one; their aggregates are not merged yet */
    int64_t lowers, merges, list_room;
    int64_t steps; /* how many sessions were looked at in vain */
    int64_t rows;
    int64_t gap;
    double gap_float;
    int32_t times; /* the register of the times */
    int32_t is_float;
} oop_open_sessions;

typedef struct {
    const oop_step *steps;
    oop_register *registers;
    const oop_update *updates;
    const int32_t *keys; /* registers of the key columns; the last one may be the slot */
    int64_t *scratch;    /* 11 * OOP_ROWS words */
    int32_t *codes;      /* OOP_ROWS for each key */
    double *moments;     /* four zeros for each group that any target has room for, if there is such an update */
    uint8_t *text;       /* room for text of a chunk that is of several batches */
    int64_t text_room, text_used;
    oop_texts *lists;    /* of keys that are text */
    uint64_t generation; /* changes whenever lists or targets are reset, which invalidates all memos */
    int64_t *counts;     /* by mark */
    int64_t *counted;    /* by mark, of the present chunk */
    int32_t step_count, update_count, key_count, mark_count, list_count;
    int32_t slot; /* the register that says in which slice a row is, after `shift` */

    struct ArrowArray *batches;
    int64_t batch_count;
    int64_t batch, row; /* where the next chunk begins */
    int64_t done;       /* rows of the train before it */
    int64_t end;        /* the number of the row behind those that are to be run; INT64_MAX: all that are left */
    int64_t rows;       /* of the present chunk */

    int64_t slack; /* the guard: late is what is below the greatest time so far minus the slack; -1: none is by that */
    int64_t greatest;
    double slack_float, greatest_float;
    int64_t ranks; /* unless it is 0, late is what is below so many greatest times so far: the top, a heap of int64_t or
                      double with room for as many; top_before has, too, for a chunk that begins again */
    void *top, *top_before;
    int64_t top_held, top_held_before;
    int32_t top_moved; /* has the present chunk changed the top? */
    int32_t seen;  /* was there any time? */
    int32_t bounded; /* is there a bound that the data promised? */
    int64_t bound;
    double bound_float;
    int32_t has_reached; /* OOP_ASCEND: was there any row before? Then this is the value of the last one. */
    int64_t reached;
    double reached_float;
    const int64_t *places; /* promises of the train: a bound that counts from the row of this number on */
    const int64_t *bounds;
    const double *bounds_float;
    int64_t promises, promise; /* how many there are, and which is the next */
    int64_t *late;   /* numbers of late rows in the train */
    int64_t *broken; /* the bounds that they broke; of floats, their bits */
    int64_t late_count, late_room;

    oop_target *targets;
    int64_t target_count;
    int64_t last; /* the target that was looked up last */
    int32_t shift;

    int32_t shard, shards;   /* of several, each has a program like this one */
    int32_t shard_register;  /* the shard of each row, to which it is sent at the end; -1: rows are not sent */
    int32_t carried_count;
    const int32_t *carried;  /* the registers that the end reads, which are sent */
    oop_sent *sent;          /* for each shard those columns */
    int64_t *sent_rows;      /* for each shard, how many */
    int64_t sent_room;
    int64_t sender, taken;   /* how far the rows that were sent here have been taken: rows of this sender */
    int64_t take_most;       /* rows that are taken at a time */

    oop_open_sessions *sessions; /* NULL: the program does not end at sessions */

    int64_t *kept;       /* the rows of the train that came through; NULL: rows are not handed out, but taken in */
    int64_t kept_count;
    int32_t whole;       /* have all rows come through so far? Then kept is not filled. */
    int32_t distinct;    /* does only the first row of each key come through? */
    int32_t output_count;
    oop_output *outputs;

    int64_t needed; /* OOP_NO_TARGET: of which slice; OOP_TEXT_FULL: how many bytes; OOP_TEXTS_FULL: how many texts;
                       else the number of the target that must change */
    int64_t length; /* OOP_FULL_BYTES: of the key that found no room */
    int32_t column; /* OOP_FULL_BYTES, OOP_NO_NULLS: of which key; OOP_TEXTS_FULL: which list */
    int32_t is_text; /* is it the table of a text key that must change? */

    const oop_update *failed;  /* OOP_USER_FAILED: the update, the group, and the values of the row, 8 bytes each */
    int64_t failed_group;
    int64_t failed_values[2];
} oop_run;

/* Runs the rest of the train. Returns OOP_OK at its end, and otherwise what the chunk that comes next needs:
   OOP_NO_TARGET: run->needed is a slice that has no target; OOP_FULL, OOP_FULL_BYTES: the keys of target run->needed
   must grow, and its arrays with them; OOP_NO_NULLS: its key run->column has no room for nulls; OOP_LATE_FULL: there is
   no room for late rows; OOP_TEXT_FULL: there is no room for text, and what is in the present room must stay until the
   train ends; OOP_TEXTS_FULL: a list of texts has no room; OOP_SESSIONS_FULL: the sessions, their heads or lists
   have no room for run->rows rows more; OOP_SPREAD: rows go to more than OOP_TARGETS slices, which must become wider;
   OOP_ODD: its run->rows rows are for the caller to take another way. OOP_USER_FAILED and OOP_SUM_OUTSIDE are errors,
   which end the run: some rows of the chunk are in their groups. The target of a row that a user's function refused is
   run->needed. */
int oop_run_program(oop_run *run);

/* Begins a train, whose batches and promises are yet to come. */
void oop_begin_train(oop_run *run);

/* Passes the rows of the train before this one, which other programs judge: their times count, and so do promises. There
   are as many. */
void oop_pass_rows(oop_run *run, int64_t rows);

/* Takes the rows that all senders, one for each shard, have sent to this program's shard. It returns what
   oop_run_program returns, except OOP_ODD, and goes on where it stopped. After OOP_SPREAD no chunk is to have more than
   OOP_TARGETS rows (run->take_most), if slices cannot become wider. */
int oop_take_sent(oop_run *run, oop_run *const *senders);

/* Goes on behind the chunk of run->rows rows. */
void oop_skip_chunk(oop_run *run);

/* Gives the memory of batches back. */
void oop_release_batches(struct ArrowArray *batches, int64_t count);

#endif
