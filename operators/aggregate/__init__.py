"""Aggregates over windows and groups, and what stands before and behind them.

Idea. Rows come with window ids from `Bucket`, in any order, and each row updates the partial aggregates of its group.
When the promise `wid < W` arrives, the windows below W go out and their state is freed (OOP paper, section 4.1 and
A.2.2).

Way in. Read `aggregate.py`, the spec, then `operator.py`, and `panes.py` for sliding windows. After that, by what you
look for:

- Sliding windows: `pane_windows.py` puts many windows together at once; `hybrid.py`, `hybrid_costs.py`,
  `buffered_windows.py` and `window_tables.py` choose between panes and buffered rows.
- Other windows: `landmark.py` and `landmark_operator.py`; `partition_rows.py` for windows of rows in each partition;
  `group_by.py` for groups without a window.
- Early results: `emit.py`, `shown.py`, `row_steps.py`. One promise for each window: `each_window.py`.
- Two-level aggregation: `preaggregate.py`, `flush.py`; `low_level.py` has what its two operators share. With a table of
  slots: `reducing.py` and `operators/groups/partial_table.py`. Without slots, in one process (`gathering_operator.py`)
  or on the way to others: `gathering.py`.
- The columns with the edges of windows: `window_edges.py`.

Decisions are in `DECISIONS.md` beside this file. The laws are in `tests/operators/aggregate`.
"""
