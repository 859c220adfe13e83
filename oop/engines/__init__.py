"""Engines: ways to run a plan, and what runs of the embedded engine report.

Idea. An engine is an object with `run(node, to=…)`; `Engine` in `oop/streams/running.py` says what it may have besides.
From operators it needs the two hooks, the parts that they save, and the ledgers of those that set rows aside. The
operator of a source is also given trains (`process_train`), ticks of the clock (`tick`) and the answers of a source
that is asked (`answer`, `take_promise`). An engine may look at its policies (`progress`) and its gate, and be told of
its promises (`made`). A plan never knows which engine will run it.

Way in. `embedded` runs a plan in this process, driven by the reader of the result. `spark` runs the same specs as a
streaming query. Beside them is what `oop.Run` reports: `metrics.py` (`Run.metrics`), `late.py` and `lateness.py`
(`Run.late`), `blame.py` (`Run.blame`). On Spark the counts, and files of late rows, take their place (`spark/cells.py`,
`spark/late_files.py`).

Decisions about lateness (`lateness.py`):

- A row is on time if and only if it trails the maximum seen before it by at most the slack. `needed_slack` is a
  quantile of that distance over all rows.
- A late row trails the maximum by the slack plus `late_by`. Rows on time are not measured. Where the quantile falls
  among them, the answer is the present slack, marked "at most".
- For slack by time the answer is exact, also where promises are by group and make no promise about a rest. With a
  rest the answer is sufficient, but less may do.
- For `slack(rows=n)` the answer is how many greater rows came before (`operators/source/slack_needed.py`). For other
  policies, and for `slack(rows=n)` by group, it is how much later every promise would have had to be made.
"""
