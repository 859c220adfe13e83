"""Column expressions: values to evaluate, to type, to show, and to ask which bounds cross them.

Idea. `oop.col("len") > 40` is a value. It is evaluated on a whole batch by pyarrow, typed without rows, shown as it was
written, and asked about order: if an expression never decreases as a column grows, a bound on the column becomes a
bound on the expression.

Way in. Read `expr.py`. `fluent.py` says how expressions are written, `functions.py` what they compute, `monotone.py`
which of them carry bounds.

- `alignment.py` and `kinds.py` bring values and literals to types that go together.
- `extremes.py` handles what increases in several columns: the greatest and the least, and functions of these.
- `limits.py` finds the ranges that a filter keeps columns within, so that promises about such a range apply to all rows
  that pass.
- `program.py` compiles an expression for a schema; operators that run evaluate batches with it.
- `written.py` writes an expression as steps of a program (`oop.operators.core.writing`).
- `traversal.py` walks through an expression without recursion, because one may have thousands of terms.

Decisions:

- Integers are floored and never wrap: an overflow is an error.
- A literal takes the unit of the column beside it. Nulls and NaN stay what they are.
- The greatest of several times is below a bound when all of them are; the least is below a bound when any of them is. A
  column that is the least of several has no joint promises with another such column.
- Neither the greatest nor the least of two times is in the order of either, so no order of rows follows from them.
"""
