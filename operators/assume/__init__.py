"""Assume: a bound on disorder, enforced inside a plan. Rows that break it are set aside, the others let it promise.

Idea. Aurora's order-sensitive operators assume that their input is in order up to a slack (Aurora paper, section
5.2.2). Here one operator before them sets rows that are out of order aside, and promises what that allows. The
operators behind it go by promises as everywhere else, so nothing is sorted (Aurora paper, footnote 7).

Way in. Read `order.py`, what an order is, then `assume.py`, the spec (its fields are in `fields.py`), and
`operator.py`. `progress.py` says which rows are in order and what can be promised: by slack in rows (`by_slack.py`), by
row number (`by_number.py`), or by a policy (`by_policy.py`). `groups.py` has the groups of an order.

Decisions:

- Assume promises by counting rows (`Spec.counts`). Its crossing adds `on < −∞`, which says that there will be bounds,
  and the running operator says how far they have come. Its promises come from `process_batch`. On several threads such
  a promise is about groups that no other shard has, so it is passed on at once. On Spark an operator with `counts` is
  not sharded, and the promises of the one shard with rows hold for all (`promised` in `oop/engines/spark/stages.py`).
  This also lets `.number()` promise there before the end.
- Rows that it sets aside are in a ledger like that of an input (`operators/source/ledger.py`), found in
  `Run.late.operators`. On Spark they leave the state after every micro-batch, into `late_to` and the query's counts.
  All columns are kept for them, used or not.
- In the embedded engine it makes only promises that help its consumers, because most rows end no window. On Spark it
  makes all of them.
- Its laws are those of arrival: a stream may be cut into other batches, but not permuted. With `late="admit"` a source
  sends late rows behind the others of a batch, so which rows are in order behind it may depend on how rows are batched.
- Slack counts rows, as in Aurora: the greatest slack + 1 values of each group decide. `Tup#` numbers rows at the place
  of Assume in the plan; `oop.rows` counts rows at the source.
- `Stream.assume` (OOP paper, section 2, option 2) takes a policy in place of an order (`by_policy.py`). The bounds are
  computed by the code of the source's guard, so a row is late here if and only if it would be late at a source with
  that policy. Policies that do not follow from rows alone (`timer`, `punctuated`, `at_end`, `arrival`) are refused.
  `every=` counts on the same grid as at a source, but a batch is not cut where a step is reached.
- With `groups=` or `idle=` the order also promises about all groups together, as a source with that policy does.
"""
