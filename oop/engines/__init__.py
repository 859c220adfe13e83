"""Engines: ways to run a plan, and what both of them report.

Idea. An engine is an object with `run(node, to=…)`. From operators it needs only the two hooks and the parts that they
save; from the input operator also its ledger, its clock tick and its gate. A plan never knows which engine will run it.

Way in. `embedded` runs a plan in this process, driven by whoever reads the result. `spark` runs the same specs as a
streaming query. Beside them is what a run reports: `metrics.py` (`Run.metrics`), `late.py` and `lateness.py`
(`Run.late`), `blame.py` (`Run.blame`).

Decisions about lateness (`lateness.py`):

- A row is on time if and only if it trails the maximum seen before it by at most the slack. `needed_slack` is a
  quantile of that distance over all rows.
- A late row is behind by the slack and `late_by`. Rows on time are not measured, so where they decide, the answer is
  the present slack, marked "at most".
- The answer is exact for slack by time, also by groups without a rest. With a rest it is sufficient.
- For other policies, and for `slack(rows=n)` by group, the answer is by how much later every promise would have had to
  be made. For `slack(rows=n)` it is how many greater rows came before (`operators/source/slack_needed.py`).
"""
