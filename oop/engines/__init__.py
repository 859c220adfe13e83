"""Engines: ways to run a plan. `embedded` runs it in this process, `spark` as a query of Spark, with the same answer.

The ways in: `oop.Embedded` and `oop.Spark`, each with ``run(plan, to=…)``. Beside them is what a run tells of itself:
late rows (`late`, `lateness`), why a window is still open (`blame`), counts (`metrics`).
"""
