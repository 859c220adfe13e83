/* What the callers of kernels share: the sizes of the inputs, how these are made, and how a call is ended. */
#ifndef DRIVER_H
#define DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "groups.h"
#include "status.h"


#define ROWS 20000
#define KEYS 5000    /* distinct ones, or nearly so many */
#define PLACES 16384 /* of a table for them */
#define HEADS 32768  /* of a table of all rows */
#define GROUPS 1000
#define LENGTH 12 /* of a string, on average */

/* Ends a call of a kernel, and all if it returned an error. */
__attribute__((noinline)) void end_call(const char *name, int code);

/* Room that starts the same way on every run, zeroed. */
void *room(int64_t places, size_t width);

/* Of ROWS each, the next of one sequence: so the order of all calls is a part of the inputs. */
int64_t below(int64_t limit);
int64_t *numbers(int64_t limit);
double *reals(double scale);
uint8_t *some_valid(void);

/* Two columns of numbers, both from the same key, so that there are no more pairs than keys. */
void fill_pair(oop_column *pair, int32_t width, const int64_t *keys);

/* call_groups.c */
void run_groups(void);
void run_rows(void);
void run_aggregates(void);

/* call_joins.c */
void run_joins(const int64_t *times, const double *real_times);
void run_repeats(const int64_t *times, const double *real_times);
void run_sessions(void);

/* call_buffers.c */
void run_buffers(const int64_t *times, const double *real_times);
void run_runs(const int64_t *times);
void run_flush(void);

/* call_programs.c */
void run_programs(const int64_t *times);

#endif
