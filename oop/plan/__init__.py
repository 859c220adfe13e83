"""The plan: a graph of specs, and everything that is known or changed about it before it runs.

Idea. A plan is an immutable graph of specs with the user's line at each node. Nothing runs here. The plan is asked
which promises help whom, which columns are used, and whether every operator could ever emit. Then it is rewritten, step
by step, into the plan that an engine runs.

Way in. Read `graph.py`: nodes, `check_emits`, `interests`, `needed_columns`, `explain`. `flow.py` is a plan while it is
being composed. `final.py` has `lower`, which makes the plan that an engine is given; it has the order of all steps.
`source_data.py` says what a plan knows of its data, `early.py` whether it shows early results, and `superboxes.py`
which nodes become one program, `stage_programs.py` which do in plans that are cut into stages. The other files are
rewritings:

- `numbering.py` lets operators carry row numbers to the operators that count rows.
- `accounting.py` lets dropped rows travel on to windows that count them.
- `describing.py` puts a `Describe` behind operators that promise more finely than anyone asked.
- `preaggregating.py` puts a `Preaggregate` before aggregates, where it is asked for.
- `latency.py` stamps rows, on request, to measure the latency of results.
- `in_order.py`, `in_order_steps.py` and `orders.py` make the plan of an in-order system (`run(order="iop")`).

Decisions:

- `NeverEmits` is raised if an operator could not be unblocked even if every source's policy promised as much as it ever
  could. The end of a source counts as such a promise only with `at_end()`.
- One node may feed several others; it runs once.
- Where many diamonds stand on top of each other, interests would double with each of them. A node with more than 16
  interests counts as one whose consumers any promise helps.
- Describe. Trial promises, in which groups are far ahead of the rest, show what an operator may promise. What a
  `punctuated` source may promise is declared by `on=` and `by=`.
- Accounts. `oop.seen`, `oop.late` and `oop.aside` need late rows where the windows are. The sources of such windows
  send dropped rows on, marked, and an `OnTime` is put before every other reader of them. Late rows make groups in the
  aggregate, where they are counted, but a group that has only late rows puts out no row. On Spark the promises of a
  micro-batch follow all of its rows, so a late row is counted for more windows than in the embedded engine.
- Latency. The QoS timestamp is a hidden column, which is added behind each source. An aggregate takes the least of it,
  a join and a Resample the lesser of two. A row of a semi join also comes from the right rows that released it
  (`Join.least_of`). Behind an operator that cannot carry the column, rows get a new timestamp.
- Row numbers. An operator that counts rows is put behind `numbered(stream)` and reads the hidden column. An operator
  that gives rows numbers of its own sets `numbers_rows`, and its `with_number()` is the spec that does so. An operator
  that passes rows, but not all of their columns or promises, overrides `with_number()` too.

Decisions about in-order plans:

- Each operator says what its inputs must be in order of. If they are not, a sort is put right in front of the operator,
  so it comes behind filters and projections. A source that is `ordered()` needs no sort, because rows behind the
  greatest value so far are late.
- The plan is gone through three times. The first pass, from the sources on, finds what each operator needs, and what is
  in order without a sort. A group-by or dedup with several promised keys goes by a key that its rows are in order of,
  else by the time, else by the first key. The second pass, from the result back (`orders.py`), finds which orders the
  readers of each node ask for, through filters and projections, under the names that columns have there. The third pass
  makes the nodes.
- The plan relies on the order that a step claims for its output. The tests check each step's output by itself, because
  its reader may need no order.
- A union is merged by the order that its readers ask for, so that no row is sorted by one attribute only to be sorted
  by another. If they ask for several orders there is one merge for each, and a filter or projection in between exists
  once for each as well: its work is less than that of a second sort. One merge by the time with sorts behind it would
  hold rows twice, one after the other. It stays a union if no order follows (behind a greatest or least), or if nothing
  is promised that would release an order.
- A join promises about its two times. If a reader asks for more (joint promises, or an order of another column that a
  side's end releases), the out-of-order join is used, followed by sorts where a consumer needs order. The same holds
  for a full join and for a join without a band. Groups that only joint promises close wait for those.
"""
