"""Assume: a bound on disorder, enforced inside a plan. Rows that break it are set aside, the others let it promise.

Idea. Aurora's order-sensitive operators assume that their input is in order up to a slack (Aurora paper, section
5.2.2). Here that is one operator before them: it sets rows out of order aside, and promises what that allows. Whatever
follows then goes by promises as everywhere, so nothing is sorted (Aurora paper, footnote 7).

Way in. Read `order.py`, what an order is, then `assume.py`, the spec, and `operator.py`. `progress.py` says which rows
are in order and what can be promised: by slack in rows (`by_slack.py`), by row number (`by_number.py`), or by a policy
(`by_policy.py`). `groups.py` has the groups of an order.

Decisions:

- Assume promises by counting rows (`Spec.counts`): its crossing adds `on < −∞`, which says that there will be bounds,
  and the operator says how far it is. Its promises come from `process_batch`. On several threads such a promise is
  about groups that no other shard has, so it is passed on at once. On Spark an operator with `counts` is not sharded,
  and what the one shard with rows promises holds for all (`promised` in `oop/engines/spark/stages.py`); this is also
  what lets `.number()` promise there before the end.
- What it sets aside is in a ledger like that of an input (`operators/source/ledger.py`), found in `Run.late.operators`.
  On Spark it leaves the state after every micro-batch, into `late_to` and the query's counts. All columns are kept for
  it, used or not.
- In the embedded engine it makes only promises that help its consumers, because most rows end no window. On Spark it
  makes all of them.
- Its laws are those of arrival: a stream may be cut into other batches, but not permuted. With `late="admit"` a source
  sends late rows behind the others of a batch, so what is in order behind it may depend on batches.
- Slack counts rows, as in Aurora: the greatest slack + 1 values of each group decide. `Tup#` numbers rows where Assume
  stands; `oop.rows` counts rows at the source.
- `Stream.assume` (OOP paper, section 2, option 2) takes a policy in place of an order (`by_policy.py`). The guard's own
  bounds decide, so a row is late here if and only if it would be late at a source with that policy. Policies that do
  not follow from rows alone (`timer`, `punctuated`, `at_end`, `arrival`) are refused. `every=` counts on the same grid
  as at a source, but a batch is not cut where a step is reached.
- With `groups=` or `idle=` the order also promises about all groups together, as a source with that policy does.
"""
