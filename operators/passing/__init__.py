"""Operators that pass each row at once or never: filter, project, split, union, describe, and a few hidden ones.

Idea. The only state of these operators is the promises that they have seen. Rows need not meet anywhere, so an engine
may run such an operator in several places at once and compute its promises from what its inputs promise
(`Spec.passes`).

Way in. Read `filter.py`, then `union.py`. `project.py` is select and with_columns, `split.py` has several outputs,
`describe.py` holds promises back until they help.

Decisions:

- A predicate that is null drops the row, as in SQL.
- A filter that fixes a group (`link == 'A'`) turns the bound of A into a bound for all rows that pass. A filter that
  keeps a number within a range does the same with a promise about that range.
- A `Describe` is put into a plan behind an operator that may promise by columns, or about attributes together, that no
  consumer asked for (`oop/plan/describing.py`). It serves all consumers of a node together. A single superfluous linear
  bound is not filtered, because it costs less than another box. The gates of sources do the same.
- Which promises pass a `Describe` that a user wrote with `every=` depends on the promises before them. The laws check
  that each step is promised as soon as it is reached.
- `on_time.py` keeps dropped rows, which travel on only to be counted, from consumers that do not count them.
- `qos.py` stamps rows for the latency of results; `oop/plan/latency.py` puts it into a plan on request.
"""
