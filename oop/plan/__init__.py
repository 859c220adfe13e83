"""The plan: a graph of specs, and everything that is known or changed about it before it runs.

Idea. A plan is an immutable graph of specs with the user's line at each node. Nothing runs here. The plan is asked
which promises help whom, which columns are used, and whether every operator could ever emit. Then it is rewritten, step
by step, into the plan that an engine runs.

Way in. Read `graph.py`: nodes, `check_emits`, `interests`, `needed_columns`, `explain`. `flow.py` is a plan while it is
being composed. `final.py` has `lower`, which makes the plan that an engine is given, with all steps in one order.
`source_data.py` says what a plan knows of its data, `early.py` whether it shows early results. Each other file is one
rewriting:

- `numbering.py` lets operators carry row numbers to whoever counts rows.
- `accounting.py` lets dropped rows travel on to windows that count them.
- `describing.py` puts a `Describe` behind operators that promise more finely than anyone asked.
- `preaggregating.py` puts a `Preaggregate` before aggregates, where it is asked for.
- `latency.py` stamps rows, on request, to measure the latency of results.
- `in_order.py`, `in_order_steps.py` and `orders.py` make the plan of an in-order system (`run(order="iop")`).

Decisions:

- `NeverEmits` asks, with every source's policy promising as much as it ever could, whether each operator could be
  unblocked. END counts only for `at_end()`.
- One node may feed several others; it runs once.
- Where many diamonds stand on top of each other, interests would double each time. Beyond 16 of them a node is taken to
  be helped by anything.
- Describe. What an operator may promise is tried out, with groups far ahead of the rest; for a `punctuated` source it
  is what `on=` and `by=` say.
- Accounts. `oop.seen`, `oop.late` and `oop.aside` need late rows where the windows are. The sources of such windows
  send dropped rows on, marked, and an `OnTime` is put before every other reader of them. Late rows make groups in the
  aggregate, which is where they are counted, but a group of nothing else puts out no row. On Spark the promises of a
  micro-batch follow all of its rows, so a late row is counted for more windows than in the embedded engine.
- Latency. The QoS timestamp is a hidden column: added behind each source, the least of it in every aggregate, the
  lesser of two in a join and a Resample. A row of a semi join also comes from the right rows that released it
  (`Join.least_of`). Behind an operator that cannot carry it rows enter anew.
- Row numbers. An operator that counts rows is put behind `numbered(stream)` and reads the hidden column. An operator
  that gives rows numbers of its own sets `numbers_rows` and says by `with_number()` how it is told to. One that passes
  rows, but not all of their columns or promises, overrides `with_number()` too.

Decisions about in-order plans:

- Each operator says what its inputs must be in order of. A sort is put in right there if they are not, so it comes
  behind filters and projections. A source that is `ordered()` needs none, because what is behind the greatest value so
  far is late.
- The plan is gone through three times. From the sources on: what each operator needs, and what is in order without a
  sort. A group-by or dedup with several promised keys goes by one that its rows are in order of, else by the time, else
  by the first. From the result back (`orders.py`): which orders the readers of each node ask for, through filters and
  projections, under the names that columns have there. Then nodes are made.
- The order that a step claims to put out is what the plan relies on. The tests look at each step's output by itself,
  because its reader may need no order.
- A union is merged by the order that its readers ask for, so that no row is sorted by one attribute only to be sorted
  by another. If they ask for several orders there is one merge for each, and a filter or projection in between exists
  once for each as well: its work is less than that of a second sort. One merge by the time with sorts behind it would
  hold rows twice, one after the other. Where no order follows (behind a greatest or least), or nothing is promised that
  would release an order, it stays a union.
- A join promises about its two times. If somebody asks for more (joint promises, or an order of another column that a
  side's end releases), the out-of-order join is used, followed by sorts where a consumer needs order. The same holds
  for a full join and for one without a band. Groups that only joint promises close wait for those.
"""
