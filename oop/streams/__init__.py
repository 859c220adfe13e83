"""`Stream`: what users compose. Each method gives a new stream, and there is no global graph.

Idea. A stream is an immutable handle on a plan that is being composed (a flow, `oop/plan/flow.py`), with the methods
that users call. A method checks its arguments where the user wrote them, makes a spec, and gives a new stream. `run`
hands the plan to an engine.

Way in. Read `stream.py`, then `sources.py` (`oop.source`) and `windowed.py` (`.window(…)`, `.group_by(…)`, `.agg(…)`).
The methods of a stream only call what makes their operators: `columns.py` (filter, select, with_columns, split, union),
`joining.py`, `waiting.py` (sort, dedup, number), `sorting.py` (Aurora's sorts), `resampling.py`, `emitting.py`,
`assuming.py`, `promising.py` (describe, each_window). `keys.py` finds the keys that are promised about, `locating.py`
gives errors the user's line, `running.py` hands plans to an engine.

Decisions:

- Wrong combinations of arguments are refused here, with the user's line and a hint, before a spec is made.
- Every public method has an example in its docstring that runs (`tests/docs/test_docstrings.py`).
"""
