"""Dedup: keeps one of the rows with equal keys.

Idea. A dedup is a group-by that puts out a row of each group: any row at once, or the first or last by time when the
group is complete. With `within=` only rows of a key that are at most that far apart are duplicates.

Way in. Read `dedup.py`, the spec (its fields are in `fields.py`). There are four operators, for any
row and for the first or last, without a span and within one. `operator.py` has the two without a span, on
`seen_keys.py` (keys alone) and `best_rows.py` (the best row of each key). `within.py` has the two within a span, both
on `keyed_times.py` (times near a row of the same key, or spans). `targets.py` lends seen keys to a program.

Decisions:

- Ties of first and last are broken by the other columns in order, null greatest. Columns without an order are refused.
- Promises about columns that are no keys do not cross first and last, because a row that still waits may match them.
- The last row of an open span is at most `within` older than the bound. So `ts < v − within` is promised whatever rows
  are held; it can be checked before a run.
- `keep="any"` within a span is decided row by row in order of arrival, however batches are cut. In a batch, rows are
  examined one by one only if rows of their key are out of order, and neither all near each other nor all far apart.
- Slices of keys are few, because large batches are looked up faster in few large tables. They become narrower where
  promises are so frequent that more keys are moved, out of slices that are covered in part, than come.
- Keys that a bound covers are forgotten at once: they are not counted, saved or given again. Where a bound covers a
  part of a slice, they stay in its table until three quarters of it have gone, because to make a table of those that
  stay costs much. No row with such a key is used any more. `state_bytes` counts the table as it is.
- Tables keep the columns of a key side by side (`GroupTable(by_rows=True)`): keys are looked for, and hardly ever taken
  out by column.
- With `within=`, a row without a time is no duplicate of any row.
"""
