"""Rows that are held: in slices of time, in numbered places, or in order; and the operators sort and number.

Idea. Several operators hold whole rows until a promise releases them. The ways to hold them are here, each with the
questions that it answers cheaply.

Way in. Read `waiting.py`, rows in slices of time, then `releasing.py`, the base of `sort.py` and `number.py`.
`places.py` holds rows in numbered places that are used again (joins, BSort), `ordered_rows.py` rows that came in order,
`pieces.py` rows as they came, `layout.py` says in which types rows are held.

Decisions:

- Sort and number put out an order of all rows, so only the promise about all rows releases rows and is passed on. A
  group that is ahead waits.
- Null and NaN come last, null after NaN.
- Late rows that were admitted are counted, not put out.
- `__seq < n` depends on rows: the crossing says `__seq < 0`, so that the plan knows of it (`Spec.counts`), and the
  running operator says how far it is.
- Ranks. `Stream.number` numbers rows behind a union by time, then by source in the order of the plan, then by the
  number in that source. `oop/plan/numbering.py` lets the inputs of the union carry source and number as one number,
  with room for 2**44 rows of each source. Where rows have no number (behind a join, an aggregate or a dedup), the
  values of all columns decide.
- A rank is one among all rows, so one worker numbers them.
- In places, text and nested values are kept in a log of batches, which is written anew when most of it belongs to rows
  that are gone.
"""
