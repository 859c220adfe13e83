"""`SeveralColumns`: what is promised about groups of several columns together (paper 004, A.1.1).

>>> s = SeveralColumns()
>>> s.add(Punctuation({"ts": 5}, {"k": 1, "link": "A"}))
>>> s.promises(), [corners.bound("ts") for corners in s.at({"link": "A", "k": 1})]
([Punctuation(ts < 5, k = 1, link = 'A')], [5])

A *cell* is one combination of groups: a value for each column, or `OTHER`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from oop.punctuation.corners import Corners
from oop.punctuation.group_promises import GroupBounds, where
from oop.punctuation.patterns import Equal, NotIn, Value
from oop.punctuation.promise import Punctuation

OTHER = object()  # stands for every value of a group column that no promise names
Cell = Mapping[str, Value]


class SeveralColumns:
    """Bounds of single groups are in ``cells``, by the columns in alphabetical order: cheap to ask for. The rare other
    conjunctions are in ``mixed``, a plain list; as long as there is one, all are there."""

    __slots__ = ("cells", "mixed")

    def __init__(self) -> None:
        self.cells: dict[tuple[str, ...], GroupBounds] = {}
        self.mixed: list[Punctuation] = []

    def promises(self) -> list[Punctuation]:
        """All of them, to be read."""
        found = list(self.mixed)
        for columns, bounds in self.cells.items():
            for group in bounds.groups():
                patterns = where(columns, group)
                found += (Punctuation._made(dict(corner), patterns) for corner in bounds.corners(group))
        return found

    def columns(self) -> set[str]:
        """The columns whose groups they tell apart."""
        return set(itertools.chain(*self.cells, *(p.where for p in self.mixed)))

    def named(self, column: str) -> set[Value]:
        """The groups of a column that some promise names."""
        named: set[Value] = set()
        for columns, bounds in self.cells.items():
            if column in columns:
                place = columns.index(column)
                named |= {group[place] for group in bounds.groups()}
        for p in self.mixed:
            theirs = p.where.get(column)
            if isinstance(theirs, Equal | NotIn):
                named |= {theirs.value} if isinstance(theirs, Equal) else theirs.values
        return named

    def at(self, cell: Cell) -> Iterator[Corners]:
        """What is said of a cell, promise by promise."""
        for columns, bounds in self.cells.items():
            if all(c in cell for c in columns):
                yield bounds.corners(tuple(cell[c] for c in columns))
        for promise in self.mixed:
            if _cell_matches(promise, cell):
                corners = Corners()
                corners.add(promise.below)
                yield corners

    def add(self, promise: Punctuation) -> None:
        """Another one, of whichever kind."""
        self.keep([*(p for p in self.promises() if not promise.covers(p)), promise])

    def keep(self, promises: Sequence[Punctuation]) -> None:
        """These, and no others."""
        self.mixed, self.cells = list(promises), {}

    def drop_covered(self, everyone: Corners) -> None:
        """Forget bounds that a promise about all rows implies."""
        for bounds in self.cells.values():
            bounds.drop_covered(everyone)
        self.cells = {columns: bounds for columns, bounds in self.cells.items() if bounds}

    def copy(self) -> SeveralColumns:
        out = SeveralColumns()
        out.cells = {c: b.copy() for c, b in self.cells.items()}
        out.mixed = list(self.mixed)
        return out


def _cell_matches(promise: Punctuation, cell: Cell) -> bool:
    """Does every row of the cell match the promise's group patterns?"""
    return all(isinstance(p, NotIn) if cell[c] is OTHER else p.matches(cell[c]) for c, p in promise.where.items())
