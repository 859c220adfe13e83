"""Joins: pairs of rows of two streams that are near in time and equal in their keys; outer, semi and anti kinds.

Idea. Each side holds the rows that may still meet a row of the other side. The promises of one side free the rows of
the other (OOP paper, section 5.3 and figure 4). Rows of both sides may come in any order.

Way in. Read `join.py`, the spec, then `operator.py`. `side.py` holds the rows of one side, `band.py` says when two rows
are close enough in time, `words.py` and `keys.py` how keys are compared and found, `promises.py` how promises cross,
`output.py` how rows are put together and padded. `static.py` joins a stream with a table that is held once.

How rows are stored. A row that is held has a numbered *place*, which is used again, and a *point* on the axis of time.
The kernel `JoinTable` finds places by a word that stands for the key, and by point. `operators/rows/places.py` has the
other columns by place. `operators/core/time_slices.py` has lists of places by slices of time, so a promise takes out
whole slices and looks only into the one at its bound. Arrays keep the size of the peak until the side is empty. Keys of
up to 8 bytes are the word. Other keys get a number in a table that both sides share, which is made anew when most of
its keys have no row. The time and packed keys are not kept twice.

How rows are found (`words.py`):

- With keys, and any band: rows are stored and looked up under the key (`ByKey`).
- With a band of one point (`within=(0, 0)`, or a window): under key and point (`ByKeyAndPoint`).
- Without keys: under the piece of time that the point is in, an eighth to a quarter of the band (`ByPiece`). A row
  looks into each piece that the band touches.
- With keys of which each is held very often: under key and piece. A side switches to this for good when a sample of up
  to 64 rows finds on average 64 held rows of its key. The keys of what is found are compared.

How an outer join pads. `Join.pads` says which sides' rows go out alone. Such a row waits until it is freed: then no
partner can come. `side.py` remembers which rows have met one, and `output.py` fills the other side's columns with nulls
(`alone`, `held_alone`).

Decisions:

- Null meets nothing. NaN meets NaN, and −0.0 meets 0.0, as in groups. A row with a null in its time or a key goes out
  at once where its side is padded.
- Both times are of one kind and unit. In floats a pair is near if the rounded difference of its times is, and bounds
  are exactly what that allows.
- Keys of two types (int32 and int64) are compared in a common type. Promises by group then do not cross them. Where the
  hashes of the two types differ, the join stays on one thread.
- Of an admitted late row everything that it has a part in is marked late, now and later. Such a row is never padded.
- A promise of an outer join that names no time of a side is sent with `time < ∞` added, so that rows padded on that
  side, whose time is null, do not match it.
- Columns that nobody behind a join uses are neither taken, held nor put out (`Spec.needs`, and `needed_columns` in
  `oop/plan/graph.py`). Saved state therefore belongs to one plan.
- Bounds on a key free no rows: a key that follows the time has such bounds all the time, and searching for what they
  free would cost more than it frees.
- A join frees the rows that it pads a slice at a time, so that the engine can do other work in between.
- For the latency of results a row of a semi join also comes from the right rows that released it (`Join.least_of`).
"""
