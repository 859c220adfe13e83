"""A pipeline before it runs: an immutable graph of operators' specs, and what can be said and made of it.

The ways in: `oop.plan.flow.Flow` grows a plan operator by operator, `oop.plan.final.final_plan` makes of it what an
engine is given. `oop.plan.graph` has the nodes and what every engine asks of them. The other modules each rewrite a
plan for one purpose: numbers of rows, late rows that are counted, promises that nobody uses, latency, an in-order run.
"""
