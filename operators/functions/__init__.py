"""Aggregate functions: what ``oop.count()``, ``oop.sum("len")`` and others are, and what they keep while they run.

Idea. A function is declared once, by a class that says all that the rest of the engine needs to know: which types it
takes, what it keeps, how partial results merge, whether it holds rows, goes by an order, counts late rows or looks at
its window. Operators, plans and engines ask the function, and none of them knows it by its name. There are three words
for three things:

- a `Function` is an aggregate function of some columns, which is what a user writes (`function`);
- an `Accumulator` is what a function keeps for all groups of a table while it runs (`accumulators`);
- an ``Aggregate`` is the operator that computes functions over windows (`oop.operators.aggregate`).

Way in. `function` has the base class. `ColumnFunction` is for functions of one expression, and `Ordered` for those that
go by the order of another. `sums` is a good example to read first. `registry` finds the functions by looking through
the modules of this package. What several accumulators have in common is in `accumulators` (an array for each field),
`words_by_group` (a row of numbers for each group), `rows_by_group` (rows for each group) and `summary` (several
functions of one integer column side by side). `user_defined` and `user_accumulator` are the functions that users write
themselves.

How to add an aggregate function, say ``mode``:

1. Write a module here, such as ``mode.py``. No other module need be touched.
2. Write its accumulator, if no existing one will do. One with a fixed size declares ``fields`` and has
   `prepare`, `update`, `merge` and `result`; zeros must be its zero, so a group that has taken nothing is all zeros.
   One without a fixed size is a `rows_by_group.HoldsRows`: its `settle` says which rows the result may need, or
   combines them, such as equal values into one with their number. Its `result` has exactly the type ``self.type``,
   while what it holds may have another (`held_type`). Saving, loading, panes, threads and partial results on Spark
   follow from that. The cost of `take_results` and `clear` should follow the groups that they are given, not all that
   is held: sessions that go out are taken and then cleared. If two functions may share its arrays, ``kept`` says which
   may.
3. Write the class: ``class Mode(ColumnFunction)``, a frozen dataclass with ``name = "mode"`` and an `accumulator` for
   each type of values that it takes. It declares what differs from `Function`: `rows_held` if it holds rows (the
   cost model of sliding windows goes by it), `combined` if its results can be combined without more than themselves,
   `can_merge`, `booleans_are_numbers`, `by_time`. Parameters are fields, and its text names each of them, since a
   checkpoint knows its plan by this text.
4. Write ``def mode(of)``, the constructor of the same name, with a docstring that is also its documentation and a
   doctest. It is ``oop.mode`` from then on. An import and a line of ``__all__`` in ``oop/__init__.py`` tell editors and
   type checkers its type, and the test of docstrings that it is public.
5. Give `examples`, if there is more than one way to write it. The laws of merging are tried on them for every type
   (``tests/operators/functions/test_merge_laws.py``), and the fuzzer puts those of the column ``x`` into its windows.
6. Write a test of its answers against a plain definition; ``tests/operators/functions/test_new_function.py`` is such
   a test, of a ``mode``.

Decisions are in `DECISIONS.md` beside this file.
"""
