"""Operators that only Aurora's algebra has: BSort, WSort, Tumble, windows that open at rows, and timeouts.

Idea. Most of Aurora is made of operators that oop has anyway, behind an `Assume` (`oop/aurora` puts them together).
Here is what is left: operators that go by the number of rows, by the clock, or by arrival.

Way in. Each operator is a file: `bsort.py` (with `sort_buffers.py`), `wsort.py` (with `stamped_rows.py`), `tumble.py`,
`opened.py` and `opened_operator.py` (windows that begin at rows), `timed_aggregate.py` and `timed_opened.py`
(timeouts), `arrival_aggregate.py` (with `rows_in_turn.py`: functions that see rows in order).

Decisions about BSort:

- Rows are released by count, never by promises. Otherwise it would not equal n passes of a bubble sort.
- Rows are in places (`operators/rows/places.py`), and the kernel `SortBuffers` knows them by their number of arrival
  (`sort_buffers.py`).
- What is held lowers bounds (`Spec.held_back`), and rows that leave raise them again, so promises also follow rows. On
  threads such a promise is met over all shards; only a promise that names a shard's own group passes alone.
- What is left goes out at the end by value and arrival, whatever its group. A loaded operator has the same order. Saved
  state is one part of at most n rows a group.

Decisions about WSort:

- A period ends when it has passed since rows last left by the clock, or since the oldest row came. After a lull a row
  is therefore not put out at once, which would lose the rows just behind it.
- At the end of a period all rows that have waited for a whole period leave, with all rows that sort before them. So at
  least one leaves, and each row is sorted about once (`stamped_rows.py`).
- A row has arrived when the clock was last looked at before it; the first rows have arrived when the clock is first
  looked at. The engine looks at it before a round of reading, and not while rows wait in front of the box. After
  reading, a source that always has rows would starve the clock.
- Promises release rows by the first column alone.

Decisions about windows that open at rows (`opened.py`):

- The Aurora paper says of Advance by a predicate no more than that it is possible. Here a window begins at each row in
  order for which the predicate holds, one for each value and group, and covers `[a, a + size)` by value, whatever came
  first. So slack and a sort before it say the same.
- With a timeout (`timed_opened.py`) the row at which a window begins also keeps when it came, and how many rows the
  window went out with early. It is held until the window is promised, so that rows which came too late can be counted.

Decisions about timeouts (`timed_aggregate.py`):

- When a window began is one more aggregate, the least arrival of its rows, so it is moved, saved and loaded as the
  others are. Stamps are what the clock showed last, and ticks come before every round of reading.
- What times out at one tick leaves by when it began, then by window. Ignored rows are counted when their window is
  promised. Spark refuses specs that are `clocked`.

Decisions about functions that see rows in order (`arrival_aggregate.py`):

- The rows of a window reach functions without merge in order of the attribute; rows of one value in the order in which
  they came. Other windows of oop do not promise that.
- Footnote 6 of the Aurora paper has incr called "whenever a tuple arrives", and section 5.2.2.2 says that slack n is
  the same as slack 0 behind a BSort of n, for every function F. Both hold if a row arrives for a function when the sort
  would release it. So a row waits for its turn (`rows_in_turn.py`) until a promise covers it, which is when no lesser
  row of its group can follow; about n rows of a group wait.
- Functions with a merge, among them all built-in ones, do not depend on order and take rows at once. Without slack
  nothing waits, and nothing waits on `Tup#`.
- XSection, whose groups are each in order and together are not, gives rows in order of the attribute as well.
- With a timeout each row waits once for each of its windows. A window that times out is given what has arrived for it,
  in order; a sort before it would keep n rows from it.
- The windows of a group leave in their order, though a slice of the store has them in the order in which they were
  begun: streams are sequences in Aurora, and the identity with BSort is one of sequences. How the groups interleave is
  not kept, since each batch gives one promise a group.

Decisions about Tumble (`tumble.py`):

- What is open goes out at the end, and when a promise covers its values, since then no row can continue it.
- Arrival order is one of all rows, so one worker takes them all.
"""
