"""Operators that only Aurora's algebra has: BSort, WSort, Tumble, windows that open at rows, and timeouts.

Idea. Most of Aurora is made of operators that oop has anyway, behind an `Assume` (`oop/aurora` puts them together).
This package has the rest: operators that are driven by the number of rows, by the clock, or by arrival.

Way in. Read `bsort.py` first. Each operator is a file: `bsort.py` (with `bsort_rows.py`), `wsort.py` (with
`stamped_rows.py`), `tumble.py`, `opened.py` (windows that begin at rows), `timed.py`,
`timed_aggregate.py` and `timed_opened.py` (timeouts), `arrival_aggregate.py` (with `rows_in_turn.py`: functions that
see rows in order).

Decisions about BSort:

- Rows are released by count, never by promises. Otherwise it would not equal n passes of a bubble sort.
- Rows are in places (`operators/rows/places.py`), and the kernel `SortBuffers` knows them by their number of arrival
  (`bsort_rows.py`).
- Held rows lower the bounds that pass (`Spec.held_back`), and rows that leave raise them again, so promises also follow
  rows. On several threads such a promise is the meet over all shards; only a promise that names a shard's own group
  passes alone.
- At the end the rows that are left go out by value and arrival, whatever their group. An operator that was loaded gives
  the same order. Saved state is one part of at most n rows a group.

Decisions about WSort:

- A period ends when it has passed since rows last left by the clock, or since the oldest row came. After a lull a row
  is therefore not put out at once, which would lose the rows just behind it.
- At the end of a period all rows that have waited for a whole period leave, with all rows that sort before them. So at
  least one leaves, and each row is sorted about once (`stamped_rows.py`).
- The arrival time of a row is the last tick of the clock before it; rows before the first tick get the first tick. The
  engine ticks before each round of reading, and not while rows wait in front of the box. If it ticked after reading, a
  source that always has rows would starve the clock.
- Only promises about the first column release rows.

Decisions about windows that open at rows (`opened.py`):

- The Aurora paper only says that Advance by a predicate is possible. Here a window begins at each row in order for
  which the predicate holds, one for each value and group, and covers `[a, a + size)` by value, whatever the order of
  arrival. So slack and a preceding sort give the same answer.
- With a timeout (`timed_opened.py`) the row at which a window begins also stores when it came, and with how many rows
  the window went out early. It is held until the end of the window is promised, so that rows which came too late can be
  counted.

Decisions about timeouts (`timed_aggregate.py`):

- The time at which a window began is one more aggregate, the least arrival of its rows, so it is moved, saved and
  loaded like the others. A row's arrival is the last tick, and ticks come before every round of reading.
- Windows that time out at one tick leave in the order in which they began, then by window. Ignored rows are counted
  when the end of their window is promised. Spark refuses specs that are `clocked`.

Decisions about functions that see rows in order (`arrival_aggregate.py`):

- The rows of a window reach functions without merge in order of the attribute; rows of one value in the order in which
  they came. Other windows of oop do not promise that.
- Footnote 6 of the Aurora paper has incr called "whenever a tuple arrives", and section 5.2.2.2 says that slack n is
  the same as slack 0 behind a BSort of n, for every function F. Both hold if a row arrives for a function when the sort
  would release it. So a row waits for its turn (`rows_in_turn.py`) until a promise covers it, which is when no lesser
  row of its group can follow; about n rows of a group wait.
- Functions with a merge, among them all built-in ones, do not depend on order and take rows at once. Without slack, and
  on `Tup#`, no row waits.
- XSection, whose groups are each in order but together are not, gives rows in order of the attribute as well.
- With a timeout each row waits once for each of its windows. A window that times out is given the rows that have
  arrived for it, in order; a preceding sort would still hold n of them back.
- The windows of a group leave in their order, although a slice of the store has them in the order in which they began:
  streams are sequences in Aurora, and the identity with BSort is one of sequences. The interleaving of groups is not
  kept, because each batch gives one promise for each group.

Decisions about Tumble (`tumble.py`):

- The open window goes out at the end, and when a promise covers its values, because then no row can continue it.
- The order of arrival is one of all rows, so one worker takes them all.
"""
