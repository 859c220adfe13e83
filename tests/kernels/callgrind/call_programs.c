/* Calls programs: a train from its batches into the groups of its rows. */
#include "driver.h"
#include "groups.h"
#include "programs.h"
#include "results.h"

#define BATCHES 4
#define REGISTERS 16

/* The rows in some batches, with three columns of 64, 32 and 64 bits. */
static struct ArrowArray *batches(const int64_t *times, const int32_t *keys, const int64_t *values) {
    struct ArrowArray *made = room(BATCHES, sizeof *made);
    const int64_t rows = ROWS / BATCHES;
    for (int b = 0; b < BATCHES; b++) {
        struct ArrowArray **children = room(3, sizeof *children);
        const void *columns[3] = {times + b * rows, keys + b * rows, values + b * rows};
        for (int c = 0; c < 3; c++) {
            const void **buffers = room(2, sizeof *buffers);
            buffers[1] = columns[c];
            children[c] = room(1, sizeof **children);
            *children[c] = (struct ArrowArray){.length = rows, .n_buffers = 2, .buffers = buffers};
        }
        made[b] = (struct ArrowArray){.length = rows, .n_children = 3, .children = children};
    }
    return made;
}

static oop_table *table(void) {
    oop_table *made = room(1, sizeof *made);
    *made = (oop_table){.size = PLACES, .most = PLACES * 5 / 8, .columns = 1, .packed = 1};
    made->seed = 0x243F6A8885A308D3u;
    made->factor = 0x13198A2E03707345u;
    made->entries = room(PLACES, sizeof *made->entries);
    made->kept = room(1, sizeof *made->kept);
    made->kept->width = 4;
    made->kept->data = room(PLACES, 4);
    return made;
}

static oop_run *new_run(const oop_step *steps, int32_t count, const oop_update *updates, int32_t update_count,
                        const int32_t *keys, int32_t slot, struct ArrowArray *train) {
    oop_run *run = room(1, sizeof *run);
    run->steps = steps;
    run->step_count = count;
    run->registers = room(REGISTERS, sizeof *run->registers);
    for (int r = 0; r < REGISTERS; r++) {
        oop_register *made = &run->registers[r];
        *made = (oop_register){.room = room(OOP_ROWS, 8), .valid_room = room(OOP_ROWS, 1), .width = 8};
        made->data = made->room;
    }
    run->updates = updates;
    run->update_count = update_count;
    run->keys = keys;
    run->key_count = 1;
    run->slot = slot;
    run->scratch = room(9 * OOP_ROWS, 8);
    run->counts = room(4, 8);
    run->counted = room(4, 8);
    run->mark_count = 2;
    run->batches = train;
    run->batch_count = BATCHES;
    run->end = INT64_MAX;
    run->shard_register = -1;
    run->shards = 1;
    run->slack = 40;
    run->late = room(ROWS, 8);
    run->broken = room(ROWS, 8);
    run->late_room = ROWS;
    run->targets = room(OOP_TARGETS, sizeof *run->targets);
    return run;
}

/* Lets the rows of a run be sent to two shards, by this register; both columns of `carried` go with them. */
static void send_rows_by(oop_run *run, int32_t shard_register, const int32_t *carried) {
    run->shards = 2;
    run->shard_register = shard_register;
    run->carried = carried;
    run->carried_count = 2;
    run->sent = room(4, sizeof *run->sent);
    for (int i = 0; i < 4; i++) run->sent[i] = (oop_sent){.data = room(ROWS + 64, 8), .valid = room(ROWS + 64, 1)};
    run->sent_rows = room(2, 8);
    run->sent_room = ROWS + 64;
}

static void add_targets(oop_run *run, int64_t first, int64_t count, int arrays) {
    for (int64_t t = 0; t < count; t++) {
        oop_target *made = &run->targets[run->target_count++];
        made->number = first + t;
        made->keys = table();
        for (int a = 0; a < arrays; a++) made->arrays[a] = room(PLACES, 8);
    }
}

/* Filter, two windows at a time, count and sum; a few rows are late. */
void run_programs(const int64_t *times) {
    const int64_t *drawn = numbers(KEYS), *values = numbers(1000), width = 60000;
    int32_t *keys = room(ROWS, 4);
    for (int64_t i = 0; i < ROWS; i++) keys[i] = (int32_t)drawn[i];
    struct ArrowArray *train = batches(times, keys, values);
    oop_step steps[] = {
        {.op = OOP_LOAD, .out = 0, .a = 0, .form = OOP_RAW8},
        {.op = OOP_GUARD, .a = 0},
        {.op = OOP_MARK, .out = 0},
        {.op = OOP_LOAD, .out = 1, .a = 2, .form = OOP_RAW8},
        {.op = OOP_LESS, .out = 3, .a = 2, .b = 1},
        {.op = OOP_FILTER, .a = 3},
        {.op = OOP_MARK, .out = 1},
        {.op = OOP_LOAD, .out = 4, .a = 0, .form = OOP_RAW8},
        {.op = OOP_WINDOW, .out = 5, .a = 4, .b = 5, .x = width, .y = width, .low = 0, .high = INT64_MAX / 2},
        {.op = OOP_LOAD, .out = 6, .a = 1, .form = OOP_RAW4},
        {.op = OOP_LOAD, .out = 7, .a = 2, .form = OOP_RAW8},
    };
    const oop_update updates[] = {{OOP_COUNT, -1, -1, 0}, {OOP_SUM_INT, 7, -1, 1}};
    const int32_t key = 6;
    oop_run *run = new_run(steps, sizeof steps / sizeof *steps, updates, 2, &key, 5, train);
    int64_t *limit = run->registers[2].room;
    for (int64_t i = 0; i < OOP_ROWS; i++) limit[i] = 200;
    add_targets(run, times[0] / width - 1, 6, 4);
    end_call("run_program filter, count and sum", oop_run_program(run));
    run->batch = run->row = run->done = run->late_count = 0;
    oop_skip_chunk(run);
    end_call("skip_chunk", OOP_OK);
    const oop_step sending[] = {
        {.op = OOP_LOAD, .out = 0, .a = 0, .form = OOP_RAW8},
        {.op = OOP_GUARD, .a = 0},
        {.op = OOP_LOAD, .out = 4, .a = 0, .form = OOP_RAW8},
        {.op = OOP_WINDOW, .out = 5, .a = 4, .b = 5, .x = width, .y = width, .low = 0, .high = INT64_MAX / 2},
        {.op = OOP_LOAD, .out = 6, .a = 1, .form = OOP_RAW4},
        {.op = OOP_SHARD, .out = 7, .a = 6, .c = 1, .x = 1},
    };
    const int32_t carried[] = {6, 5};
    oop_run *sender = new_run(sending, sizeof sending / sizeof *sending, updates, 1, &key, 5, train);
    send_rows_by(sender, 7, carried);
    oop_begin_train(sender);
    sender->batch_count = BATCHES;
    end_call("begin_train", OOP_OK);
    oop_pass_rows(sender, ROWS / 2);
    end_call("pass_rows", OOP_OK);
    end_call("run_program sending", oop_run_program(sender));
    add_targets(sender, times[0] / width - 1, 6, 1);
    oop_run *senders[] = {sender, sender};
    end_call("take_sent", oop_take_sent(sender, senders));
    oop_release_batches(train, BATCHES);
    end_call("release_batches", OOP_OK);
    oop_column packed = {.data = keys, .width = 4};
    uint64_t *words = room(ROWS, 8);
    uint32_t *nulls = room(ROWS, 4);
    oop_pack_keys(&packed, 1, ROWS, words, nulls);
    end_call("pack_keys", OOP_OK);
    int64_t *ids = room(ROWS, 8);
    oop_table *fresh = table();
    end_call("map_packed new", oop_map_packed(fresh, words, NULL, NULL, ROWS, ids));
    end_call("map_packed again", oop_map_packed(fresh, words, NULL, NULL, ROWS, ids));
    const oop_words one = {values, 1};
    const oop_result results[] = {
        {.kind = OOP_RESULT_CONSTANT, .width = 8, .constant = 7},
        {.kind = OOP_RESULT_KEY, .width = 4},
        {.kind = OOP_RESULT_VALUES, .width = 8, .a = one},
        {.kind = OOP_RESULT_COUNTED, .width = 2, .a = one, .c = one},
        {.kind = OOP_RESULT_SUM, .width = 8, .a = one, .b = one, .c = one},
        {.kind = OOP_RESULT_MEAN, .width = 8, .a = one, .b = one, .c = one},
    };
    struct ArrowArray given;
    end_call("give_results", oop_give_results(fresh, results, sizeof results / sizeof *results, 0, fresh->count, &given));
    given.release(&given);
    const int32_t count = sizeof results / sizeof *results;
    void *filled[sizeof results / sizeof *results];
    uint8_t *bits[sizeof results / sizeof *results];
    int64_t absent[sizeof results / sizeof *results];
    for (int32_t i = 0; i < count; i++) filled[i] = room(ROWS, 8), bits[i] = room(ROWS / 8 + 1, 1);
    end_call("fill_results", oop_fill_results(fresh, results, count, 0, fresh->count, filled, bits, absent));
}
