"""In-order operators, for comparison: what an in-order system runs in place of the out-of-order operators.

Idea. `run(order="iop")` answers the same query with sorts, ordered merges and operators that rely on order (OOP paper,
section 2). Order is taken as an implicit promise: after a batch whose last row has `ts = t`, an in-order operator acts
as if `ts < t` had been promised. `oop/plan/in_order.py` rewrites the plan.

Way in. Read `wrapper.py`: it makes an ordinary operator go by the order of its rows. `sort.py` sorts where a stream is
not in order, `merge.py` is the ordered union, `aggregate.py` the buffered sliding aggregate, `join.py` and
`join_operator.py` the in-order join. `sorted_runs.py` holds what is being sorted, `beside.py` says which other promises
cross a buffer.

Decisions:

- Because of the implicit promise a tumbling aggregate has one open window, and the promises that follow from it go on.
- The buffered sliding aggregate and the join are operators of their own. The aggregate recomputes windows from rows
  that stand side by side. The join lets its leading side wait until the other side has passed it, so that its output
  needs no sort.
- The sort holds sorted runs, not slices of time. It is saved in one part, which embedded plans can afford.
- Nothing in order is sharded, because threads would mix up the order.
- Refused are admitted late rows, accounts of late rows, and promises about groups alone: an order of all rows needs
  promises about all rows.
- Promises about other attributes cross a sort or a merge lowered by the least value that is held, and grow when rows
  leave (`beside.py`; OOP paper, section 3.1, example 3: a dedup by `end`, then a window on `start`). Of a joint promise
  any one bound is lowered, and it stays as it is if no held row matches it. Only what somebody asks about crosses,
  which is told before the run: each look costs a pass over what is held, less the batches that it has seen. Promises
  about groups do not cross.
- A dedup that keeps the last row of a span is in no order: it puts rows out when spans are over. A sort follows where
  an order is needed.
- What in-order operators put out together is not cut into slices while it is made, because it is sorted first. This is
  the paper's point about slow-flush in order.
"""
