"""Joins: pairs of rows of two streams that are near in time and equal in their keys; outer, semi and anti kinds.

Idea. Each side holds the rows that may still meet a row of the other side. The promises of one side free the rows of
the other (OOP paper, section 5.3 and figure 4). Rows of both sides may come in any order.

Way in. Read `join.py`, the spec (its fields are in `fields.py`), then `operator.py`. `side.py` holds the rows of one
side, `band.py` says when two rows are close enough in time, `words.py` and `keys.py` how keys are compared and found,
`promises.py` how promises cross, `output.py` how rows are put together and padded. `static.py` joins a stream with a
table that is held once.

How rows are stored. Each held row has a numbered *place*, which is reused once the row is gone, and a *point* on the
axis of time. The kernel `JoinTable` finds places by a word that stands for the key, and by point.
`operators/rows/places.py` stores the other columns by place. `operators/core/time_slices.py` lists places by slices of
time, so a promise takes out whole slices and looks only into the one at its bound. Arrays keep the size of the peak
until the side is empty. A key of up to 8 bytes is its own word. Other keys get a number in a table that both sides
share; the table is rebuilt when most of its keys have no row. What is in a table is not stored once more with the row:
the time, and keys other than floats and text. In C a row of `JoinTable` has 16 bytes as long as words, and times from
some base on, are below 2³², and 24 from then on: to find rows costs as many misses of the cache as their lines.

How rows are found (`words.py`):

- With keys, and any band: rows are stored and looked up under the key (`ByKey`).
- With a band of one point (`within=(0, 0)`, or a window): under key and point (`ByKeyAndPoint`).
- Without keys: under the stretch of time that the point is in, an eighth to a quarter of the band (`ByStretch`). A row
  looks into each stretch that the band touches.
- With keys that many held rows share: under key and stretch. A side switches to this for good when a sample of up to 64
  arriving rows finds on average 64 held rows with the same key. Different keys may then share a word, so the keys of
  found rows are compared.

How an outer join pads. `Join.pads` says which sides' rows go out alone if they never meet a partner. Such a row waits
until it is freed, because only then can no partner come. `side.py` remembers which rows have met a partner, and
`output.py` fills the other side's columns with nulls (`alone`, `held_alone`); joins with a table do so in `static.py`.
They are all null, since promises may name any of them, and no bound matches a null. A column that is padded with a
value must be known to `_not_of_nulls` in `promises.py`, which keeps the bounds on what is not null in such rows.

Decisions:

- Null meets nothing. NaN meets NaN, and −0.0 meets 0.0, as in groups. A row with a null in its time or a key goes out
  at once where its side is padded.
- Both times are of one kind and unit. With floats, a pair is near if the rounded difference of its times lies in the
  band, and the bounds of promises are exact for that rounded difference.
- Keys of two types (int32 and int64) are compared in a common type. Promises by group then do not cross them. Where the
  hashes of the two types differ, the join stays on one thread.
- Every result that an admitted late row takes part in is marked late, now and later. A late row is never padded.
- If a promise of an outer join names no column of a side, `time < ∞` of that side is added to it. Rows padded on that
  side have a null time, so they do not match the promise.
- Columns that no consumer of the join uses are neither taken, held nor put out (`Spec.needs`, and `needed_columns` in
  `oop/plan/graph.py`). Saved state therefore fits only the plan that saved it.
- Bounds on a key free no rows: a key that follows the time has such bounds all the time, and searching for what they
  free would cost more than it frees.
- A join frees rows a batch at a time, which may be of several slices. The engine can do other work in between.
- When the latency of results is measured, a row of a semi join counts as coming also from the right rows that released
  it (`Join.least_of`).
"""
