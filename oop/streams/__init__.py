"""`Stream`: what users compose. Each method gives a new stream, and there is no global graph.

Idea. A stream is an immutable handle on a node of a plan. A method checks its arguments where the user wrote them,
makes a spec, and gives a new stream. `run` hands the plan to an engine.

Way in. Read `stream.py`, then `sources.py` (`oop.source`) and `windowed.py` (`.window(…)`, `.group_by(…)`, `.agg(…)`).
What needs more than a few lines of checking has a file of its own: `joining.py`, `waiting.py` (sort, dedup, number),
`sorting.py` (Aurora's sorts), `resampling.py`, `emitting.py`, `assuming.py`.

Decisions:

- Wrong combinations of arguments are refused here, with the user's line and a hint, before a spec is made.
- Every public method has an example in its docstring that runs (`tests/docs/test_docstrings.py`).
"""
