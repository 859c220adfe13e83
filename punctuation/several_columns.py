"""`SeveralColumns`: what is promised about groups of several columns together (OOP paper, A.1.1).

>>> s = SeveralColumns()
>>> s.add(Punctuation({"ts": 5}, {"k": 1, "link": "A"}))
>>> s.promises(), [corners.bound("ts") for corners in s.at({"link": "A", "k": 1})]
([Punctuation(ts < 5, k = 1, link = 'A')], [5])

A *combination* of groups has a value for each column, or `OTHER`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping

from oop.punctuation.corners import Corners
from oop.punctuation.group_corners import GroupCorners
from oop.punctuation.patterns import Equal, Group, NotIn, Value
from oop.punctuation.promise import Punctuation

OTHER = object()  # stands for every value of a group column that no promise names
Combination = Mapping[str, Value]


class SeveralColumns:
    """What is promised about single groups is in ``single``, by the columns in alphabetical order, where it is cheap to
    ask for. The rare conjunctions that speak of the rest of a column's groups are in ``mixed``, a plain list."""

    __slots__ = ("mixed", "single")

    def __init__(self) -> None:
        self.single: dict[tuple[str, ...], GroupCorners] = {}
        self.mixed: list[Punctuation] = []

    def promises(self) -> list[Punctuation]:
        """All promises that are kept."""
        return [*self.mixed, *itertools.chain(*(groups.promises(columns) for columns, groups in self.single.items()))]

    def columns(self) -> set[str]:
        """The columns whose groups they tell apart."""
        return set(itertools.chain(*self.single, *(p.where for p in self.mixed)))

    def named(self, column: str) -> set[Value]:
        """The groups of a column that some promise names."""
        named: set[Value] = set()
        for columns, groups in self.single.items():
            if column in columns:
                place = columns.index(column)
                named |= {group[place] for group in groups.groups()}
        for p in self.mixed:
            theirs = p.where.get(column)
            if isinstance(theirs, Equal | NotIn):
                named |= {theirs.value} if isinstance(theirs, Equal) else theirs.values
        return named

    def at(self, combination: Combination) -> Iterator[Corners]:
        """What is said of a combination, promise by promise."""
        yield from self.of_groups(combination)
        for promise in self.mixed:
            if _matches_all(promise, combination):
                corners = Corners()
                corners.add(promise.below)
                yield corners

    def of_groups(self, combination: Combination) -> Iterator[Corners]:
        """What is said of single groups that a combination is part of, whatever its values in other columns are."""
        for columns, groups in self.single.items():
            if all(c in combination for c in columns):
                yield groups.corners(tuple(combination[c] for c in columns))

    def add(self, promise: Punctuation) -> None:
        """Add a promise of either kind that is not implied."""
        columns = tuple(sorted(promise.where))
        patterns = [promise.where[c] for c in columns]
        group = tuple(p.value for p in patterns if isinstance(p, Equal))
        if len(group) < len(columns):
            self.drop(promise.covers)
            self.mixed.append(promise)
            return
        groups = self.single.get(columns)
        if groups is None:
            groups = self.single[columns] = GroupCorners()
        groups.add(group, promise.below)
        self.mixed = [p for p in self.mixed if not promise.covers(p)]
        self.drop(promise.covers, [wider for wider in self.single if set(columns) < set(wider)])

    def drop(self, implied: Callable[[Punctuation], bool], kinds: Iterable[tuple[str, ...]] | None = None) -> None:
        """Forget promises that are implied; if some ``kinds`` are given, among groups of these columns."""
        if kinds is None:
            self.mixed = [p for p in self.mixed if not implied(p)]
        for columns in list(self.single if kinds is None else kinds):
            groups = self.single[columns]
            for promise in [p for p in groups.promises(columns) if implied(p)]:
                groups.remove(_group(columns, promise), promise.below)
            if not groups:
                del self.single[columns]

    def drop_covered(self, everyone: Corners) -> None:
        """Forget bounds that a promise about all rows implies."""
        for groups in self.single.values():
            groups.drop_covered(everyone)
        self.single = {columns: groups for columns, groups in self.single.items() if groups}

    def copy(self) -> SeveralColumns:
        out = SeveralColumns()
        out.single = {c: b.copy() for c, b in self.single.items()}
        out.mixed = list(self.mixed)
        return out


def _group(columns: tuple[str, ...], promise: Punctuation) -> Group:
    return tuple(p.value for c in columns if isinstance(p := promise.where[c], Equal))


def _matches_all(promise: Punctuation, combination: Combination) -> bool:
    """Does every row of the combination match the promise's group patterns?"""
    return all(
        isinstance(p, NotIn) if combination[c] is OTHER else p.matches(combination[c]) for c, p in promise.where.items()
    )
