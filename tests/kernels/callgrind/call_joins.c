/* Calls the kernels that look for rows near in time: of another input, with the same id, in the same session. */
#include "driver.h"
#include "joins.h"
#include "repeats.h"
#include "sessions.h"

/* Every row in a place, in an order that has nothing to do with the places. */
static int64_t *shuffled_places(void) {
    int64_t *made = room(ROWS, sizeof *made);
    for (int64_t i = 0; i < ROWS; i++) {
        int64_t other = below(i + 1);
        made[i] = made[other];
        made[other] = i;
    }
    return made;
}

void run_joins(const int64_t *times, const double *real_times) {
    const oop_reach near = {-20000, 20000}, all = {INT64_MIN, INT64_MAX};
    const oop_float_reach real_near = {.low = -2000, .high = 2000, .high_open = 1};
    const int64_t *places = shuffled_places(), most = 16 * ROWS;
    const uint64_t *words = (const uint64_t *)numbers(KEYS), *others = (const uint64_t *)numbers(2000000);
    uint64_t *words_out = room(ROWS, 8);
    int64_t *mine = room(most, 8), *theirs = room(most, 8), *times_out = room(ROWS, 8), found = 0, done;
    oop_join_table table = {.size = HEADS, .room = ROWS, .seed = 0x243F6A8885A308D3u, .factor = 0x13198A2E03707345u};
    table.heads = room(HEADS, sizeof *table.heads);
    oop_wide_row *wide = room(ROWS + 1, sizeof *wide);
    oop_narrow_row *narrow = room(ROWS + 1, sizeof *narrow);
    table.rows = wide;
    end_call("join_clear", oop_join_clear(&table, 0));
    end_call("join_insert", oop_join_insert(&table, places, words, times, ROWS, &done));
    end_call("join_read", oop_join_read(&table, places, ROWS, words_out, times_out));
    done = found = 0;
    end_call("join_probe near", oop_join_probe(&table, words, times, ROWS, &near, mine, theirs, most, &found, &done));
    done = found = 0;
    end_call("join_probe all", oop_join_probe(&table, words, times, ROWS, &all, mine, theirs, most, &found, &done));
    done = found = 0;
    end_call("join_probe none", oop_join_probe(&table, others, times, ROWS, &near, mine, theirs, most, &found, &done));
    const uint32_t *old = table.heads;
    table.heads = room(2 * HEADS, sizeof *table.heads);
    table.size = 2 * HEADS;
    end_call("join_relink", oop_join_relink(&table, old, HEADS));
    for (int64_t i = 0; i < ROWS; i++) memcpy(&wide[places[i] + 1].time, &real_times[i], 8);
    done = found = 0;
    end_call("join_probe_float", oop_join_probe_float(&table, words, real_times, ROWS, &real_near, mine, theirs, most,
                                                      &found, &done));
    end_call("join_remove", oop_join_remove(&table, places, ROWS, &done));
    table.rows = narrow;
    table.narrow = 1;
    memset(table.heads, 0, 2 * HEADS * sizeof *table.heads);
    oop_join_clear(&table, 0);
    end_call("join_rebase", oop_join_rebase(&table, times, ROWS));
    end_call("join_insert narrow", oop_join_insert(&table, places, words, times, ROWS, &done));
    done = found = 0;
    end_call("join_probe narrow", oop_join_probe(&table, words, times, ROWS, &near, mine, theirs, most, &found, &done));
    end_call("join_widen", oop_join_widen(&table, wide));
}

void run_repeats(const int64_t *times, const double *real_times) {
    const int64_t *seen = numbers(KEYS);
    int64_t *ids = room(ROWS, 8), *rows = room(ROWS + 1, 8), *known = room(KEYS, 8), *order = room(ROWS, 8);
    int64_t found, next = 1;
    uint8_t *begins = room(ROWS, 1);
    for (int64_t i = 0; i < ROWS; i++) { /* dense ids, in order of first appearance */
        if (!known[seen[i]]) known[seen[i]] = next++;
        ids[i] = known[seen[i]] - 1;
        order[i] = i / 50;
    }
    end_call("select_new", oop_select_new(ids, ROWS, 100, rows, &found));
    end_call("begin_spans_int", oop_begin_spans_int(order, times, ROWS, 60, begins));
    end_call("begin_spans_float", oop_begin_spans_float(order, real_times, ROWS, 6, begins));
}

/* Every row new, then once more into the same sessions; two and one that bridges them; and out. */
void run_sessions(void) {
    const int64_t size = 2 * ROWS + 1, *keys = numbers(KEYS);
    int64_t *triples = room(ROWS, 8), *times = room(ROWS, 8), *bridging = room(ROWS, 8), *open = room(ROWS, 8), done;
    int64_t *open_too = room(size, 8), *dropped = room(ROWS, 8);
    oop_time *starts = room(ROWS, sizeof *starts), *ends = room(ROWS, sizeof *ends);
    double *real_times = room(ROWS, 8);
    uint32_t *unused = room(size, 4);
    oop_extended out = {.slots = room(ROWS, 8), .lowered = room(ROWS, 8), .absorbed = room(ROWS, 8)};
    out.survivors = room(ROWS, 8);
    for (int64_t i = 0; i < size - 1; i++) unused[i] = (uint32_t)(size - 1 - i);
    for (int64_t i = 0; i < ROWS; i++) {
        times[i] = 100 * i;
        real_times[i] = 100.5 * (double)i;
        triples[i] = i / 3;
        bridging[i] = i % 3 == 1 ? 100 : i % 3 * 25;
        open[i] = i + 1;
    }
    uint32_t *heads = room(ROWS, 4);
    oop_session *sessions = room(size, sizeof *sessions);
    end_call("extend_sessions new",
             oop_extend_sessions(keys, times, ROWS, 60, heads, ROWS, sessions, size, unused, size - 1, &out));
    end_call("extend_sessions again",
             oop_extend_sessions(keys, times, ROWS, 60, heads, ROWS, sessions, size, unused, ROWS, &out));
    int64_t left, first = 0;
    end_call("sessions_until", oop_sessions_until(sessions, size, 100 * ROWS / 2, open_too, &done, &left, &first));
    end_call("drop_sessions",
             oop_drop_sessions(open, ROWS, heads, sessions, size, dropped, starts, ends, &done));
    heads = room(ROWS, 4);
    end_call("extend_sessions bridged",
             oop_extend_sessions(triples, bridging, ROWS, 60, heads, ROWS, sessions, size, unused, size - 1, &out));
    heads = room(ROWS, 4);
    end_call("extend_sessions_float new", oop_extend_sessions_float(keys, real_times, ROWS, 60.5, heads, ROWS, sessions,
                                                                    size, unused, size - 1, &out));
}
