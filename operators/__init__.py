"""Operators: each is a frozen spec, which a plan holds, and a running class, which an engine starts from it.

Idea. An operator takes rows in any order and holds what it must. Promises tell it when something is complete: it then
puts the result out, frees the state, and promises what follows for its output. Each package below holds one family of
operators, or one thing that operators are made of. Its docstring gives the idea, the module to read first, and the
decisions that were made.

Way in. Read `operators/core` for the protocol, then `operators/passing/filter.py` and `operators/passing/union.py`, the
two shortest operators, then `operators/windows/bucket.py` and `operators/aggregate/aggregate.py`, which together are a
windowed aggregate.

- Made of: `core` (spec, operator, promises at ports, keys, times), `expressions`, `functions` (aggregate functions),
  `groups` (partial aggregates by group), `rows` (rows that are held).
- Operators: `source`, `passing` (filter, project, split, union), `windows` (bucket), `aggregate`, `session`, `join`,
  `dedup`, `resample`, `assume`, `aurora`, `in_order`.

Operators import `kernels`, `punctuation`, `oop.errors` and `oop.site`, and nothing else of `oop`.
"""
