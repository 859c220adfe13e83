/* Fetches memory before it is used, for a chunk of rows at a time: with many groups most of it is far away. */
#ifndef OOP_FETCH_H
#define OOP_FETCH_H

/* Into the second level of the cache: the first has room for few lines that are on their way, and a chunk has many. */
#define FETCH(address) __builtin_prefetch((address), 0, 2)

/* Into the first level, for memory that is written a few rows later. */
#define FETCH_NEAR(address) __builtin_prefetch((address), 1, 3)

#endif
