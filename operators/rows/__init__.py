"""Rows that are held: in slices of time, in numbered places, or in order; and the operators sort and number.

Idea. Several operators hold whole rows until a promise releases them. This package has the ways to hold them. They
differ in which questions they answer cheaply.

Way in. Read `waiting_rows.py`, rows in slices of time, then `releasing.py`, the base of `sort.py` and `number.py`.
`places.py` holds rows in numbered places that are reused (joins, BSort), `ordered_rows.py` rows that came in order,
`pieces.py` rows as they came, `layout.py` says in which types rows are held.

Decisions:

- Sort and number put all rows into one order, so only a promise about all rows releases rows and is passed on. A group
  that is ahead waits.
- Null and NaN come last, null after NaN.
- Late rows that were admitted are counted, not put out.
- How far `__seq < n` has come depends on the rows. The crossing only says `__seq < 0`, so that the plan knows that
  there will be such promises (`Spec.counts`), and the running operator promises the count.
- Ranks. `Stream.number` numbers rows behind a union by time, then by source in the order of the plan, then by the
  number in that source. `oop/plan/numbering.py` lets the inputs of the union carry source and number as one number,
  with room for 2**44 rows of each source. Where rows have no number (behind a join, an aggregate or a dedup), the
  values of all columns break ties.
- A rank counts all rows, so one worker numbers them.
- `places.py` keeps text and nested values in a log of batches, which is compacted when most of it belongs to rows that
  are gone.
"""
