"""The least value among the held rows that a promise is about: the promise goes no further."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pyarrow as pa

from oop.operators.core.row_groups import distinct_groups
from oop.punctuation.patterns import Bound, Equal, Group, GroupPattern, Range, Value

Least = Callable[[Mapping[str, GroupPattern]], Bound | None]


def least_by_group(keys: Mapping[str, pa.Array], values: np.ndarray, named: Iterable[Group] | None = None) -> Least:
    """A function that gives the least of these values among the rows whose keys match given patterns; None if none
    match. If groups are ``named``, it may be asked only for these.

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
    """A test for the groups that a pattern matches; a range also matches groups of which it cannot be told."""
    return pattern.may_match if isinstance(pattern, Range) else pattern.matches
