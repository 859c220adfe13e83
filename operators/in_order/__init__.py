"""In-order operators, for comparison: what an in-order system runs in place of the out-of-order operators.

Idea. `run(order="iop")` answers the same query with sorts, ordered merges and operators that rely on order (OOP paper,
section 2). Order is taken as an implicit promise: after a batch whose last row has `ts = t`, an in-order operator acts
as if `ts < t` had been promised. `oop/plan/in_order.py` rewrites the plan.

Way in. Read `wrapper.py`: it makes an ordinary operator go by the order of its rows. `sort.py` sorts where a stream is
not in order, `merge.py` is the ordered union, `aggregate.py` the buffered sliding aggregate, `join.py` and
`join_operator.py` the in-order join. `sorted_runs.py` holds what is being sorted, `buffering.py` is the base of the
sort and the merge, and `beside.py` says which other promises cross them.

Decisions:

- Because of the implicit promise a tumbling aggregate has one open window, and the promises that follow from it go on.
- The buffered sliding aggregate and the join are operators of their own. The aggregate recomputes each window from its
  rows, which are adjacent in the buffer. In the join the rows of the leading side wait until the other side has passed
  them, so that the output needs no sort.
- The sort holds sorted runs, not slices of time. It is saved in one part, which embedded plans can afford.
- What an aggregate does with a row may be part of a program (`InOrder.write`), so that in order gets what out of order
  gets. The program checks that rows ascend, and says how far they have come; windows close when it has taken a train.
  Sessions, dedup and groups by a time were tried: with small batches sessions took up to 1.8 times as long, with large
  ones dedup and groups 1.3 times.
- The sort joins its runs only when there are many, because to merge the heads of a few at each release is cheaper.
- In-order operators are not sharded, because threads would mix up the order.
- Admitted late rows, accounts of late rows, and promises about groups alone are refused: an order of all rows needs
  promises about all rows.
- Promises about other attributes cross a sort or a merge, but go no further than the least value that is held, and grow
  when rows leave (`beside.py`; OOP paper, section 3.1, example 3: a dedup by `end`, then a window on `start`). A joint
  promise passes unchanged if no held row matches it; else any one of its bounds is lowered. Only promises that a
  consumer uses cross, which is known before the run, because each look costs a pass over the held batches that have not
  been looked at before. Promises about groups do not cross.
- The output of a dedup that keeps the last row of a span is in no order, because rows go out when spans are over. A
  sort follows where an order is needed.
- Rows that an in-order operator puts out together are not emitted piece by piece while they are made, because they must
  be sorted first. This is the paper's point about slow-flush in order.
"""
