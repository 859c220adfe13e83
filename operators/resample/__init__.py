"""Resample: for each row of the left stream and each group of the right, an aggregate of the right rows near it.

Idea. A left row and a group have a result once the group has passed the left row's time by the span (Aurora paper,
section 5.2.2.4).

Way in. Read `resample.py`, the spec (its fields are in `fields.py`), then `operator.py`. `lefts.py` and `rights.py`
hold the rows of each side, `near_rows.py` finds which right rows are near which left values, `results.py` aggregates
them.

Decisions:

- A result is decided by the right input's promises, group by group, so both inputs may promise as they like. Aurora's
  orders are an `Assume` before each input.
- Pairs are laid out, at most a million at once, and aggregated as groups are. Any aggregate function works, also one of
  the left value.
- Whenever a group passes a left value, and for each batch of left rows, the work is proportional to the held right
  rows. Left rows go to all groups, so the operator stays on one thread.
"""
