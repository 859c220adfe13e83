"""What is held lowers a promise: the least value among what a promise is about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pyarrow as pa

from oop.operators.core.row_groups import distinct_groups
from oop.punctuation.patterns import Bound, Equal, Group, GroupPattern, Range, Value

Least = Callable[[Mapping[str, GroupPattern]], Bound | None]


def least_by_group(keys: Mapping[str, pa.Array], values: np.ndarray, named: Iterable[Group] | None = None) -> Least:
    """Of rows with these keys and values the least value of those that a pattern matches; None if it matches none. If
    groups are ``named``, only these are asked for.

    >>> least = least_by_group({"link": pa.array(["A", "B", "A"])}, np.array([5, 2, 3]))
    >>> least({"link": Equal("A")}), least({"link": Equal("C")}), least({})
    (3, None, 2)
    """
    names, by_group = list(keys), {}
    if len(values):
        of, groups = distinct_groups(keys, named)
        order = np.argsort(of, kind="stable")
        firsts = np.minimum.reduceat(values[order], np.searchsorted(of[order], np.arange(len(groups))))
        by_group = dict(zip(groups, firsts.tolist(), strict=True))

    def least(where: Mapping[str, GroupPattern]) -> Bound | None:
        if len(where) == len(names) and all(isinstance(p, Equal) for p in where.values()):
            return by_group.get(tuple(p.value for p in (where[n] for n in names) if isinstance(p, Equal)))
        tests = [(i, _may_match(where[n])) for i, n in enumerate(names) if n in where]
        found = [b for group, b in by_group.items() if all(test(group[i]) for i, test in tests)]
        return min(found, default=None)

    return least


def _may_match(pattern: GroupPattern) -> Callable[[Value], bool]:
    """Which groups to ask about: of a range, also those of which it cannot be told."""
    return pattern.may_match if isinstance(pattern, Range) else pattern.matches
