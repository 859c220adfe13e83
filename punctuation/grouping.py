"""`Grouping`: the corners of each group of one column, and of the rest (OOP paper, A.1.1).

A group that is named has its own corners, every other group has the rest's. An entry equal to the rest is dropped.

>>> g = Grouping()
>>> g.add(Equal("A"), {"ts": 9})
>>> g.add(NotIn({"A"}), {"ts": 5})
>>> g.at("A").bound("ts"), g.at("B").bound("ts"), g.least().bound("ts")
(9, 5, 5)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce

from oop.punctuation.corners import Corner, Corners
from oop.punctuation.group_bounds import GroupBounds
from oop.punctuation.patterns import Equal, NotIn, SingleGroups, Value


class Grouping:
    """As long as there are only bounds on single attributes, and none about the rest, ``flat`` has the groups; from
    then on ``_entries`` has them."""

    __slots__ = ("_entries", "flat", "rest")

    def __init__(self) -> None:
        self.rest = Corners()
        self.flat = GroupBounds()
        self._entries: dict[Value, Corners] = {}

    @property
    def is_flat(self) -> bool:
        return not self._entries and not self.rest

    @property
    def groups(self) -> dict[Value, Corners]:
        """The groups that are named; only to be read."""
        return {g: self.flat.corners(g) for g in self.flat.groups()} if self.flat else self._entries

    def named(self) -> set[Value]:
        return set(self.flat.groups() if self.flat else self._entries)

    def at(self, value: Value) -> Corners:
        return self.flat.corners(value) if self.flat else self._entries.get(value, self.rest)

    def __bool__(self) -> bool:
        """Is a group named?"""
        return bool(self.flat) or bool(self._entries)

    def least(self) -> Corners:
        """What holds for every group: the meet over those named and the rest."""
        if not self.rest:
            return Corners()
        return reduce(Corners.meet, self.groups.values(), self.rest.copy())

    def add(self, pattern: SingleGroups, corner: Corner) -> None:
        if isinstance(pattern, Equal) and len(corner) == 1 and self.is_flat:
            ((attribute, bound),) = corner.items()
            self.flat.advance(attribute, {pattern.value: bound}, None)
            return
        self._entries, self.flat = self.groups, GroupBounds()
        if isinstance(pattern, Equal):
            entry = self._entries.setdefault(pattern.value, self.rest.copy())
            if entry.add(corner) and entry == self.rest:
                del self._entries[pattern.value]
            return
        for value in pattern.values:
            self._entries.setdefault(value, self.rest.copy())  # keeps what it had while the rest moves on
        self.rest.add(corner)
        for value, entry in list(self._entries.items()):
            if value not in pattern.values:
                entry.add(corner)
            if entry == self.rest:
                del self._entries[value]

    def over(self, everyone: Corners) -> Grouping:
        """This grouping with what is promised about all rows added to each entry."""
        out = Grouping()
        out.rest = self.rest.join(everyone)
        out._entries = {v: c.join(everyone) for v, c in self.groups.items()}
        return out

    def meet(self, other: Grouping) -> Grouping:
        out = Grouping()
        out.rest = self.rest.meet(other.rest)
        for value in dict.fromkeys((*self.groups, *other.groups)):
            entry = self.at(value).meet(other.at(value))
            if entry != out.rest:
                out._entries[value] = entry
        return out

    def drop_covered(self, everyone: Corners) -> None:
        """Forget corners that a promise about all rows implies."""
        if self.flat:
            self.flat.drop_covered(everyone)
            return
        for entry in (self.rest, *self._entries.values()):
            for corner in [c for c in entry if everyone.covers(c)]:
                entry.remove(corner)
        self._entries = {v: c for v, c in self._entries.items() if c != self.rest}

    def items(self) -> Iterator[tuple[SingleGroups, Corners]]:
        if self.rest:
            yield NotIn(self._entries), self.rest
        for value, entry in self.groups.items():
            yield Equal(value), entry

    def about(self, values: Iterable[Value]) -> Iterator[tuple[SingleGroups, Corners]]:
        """The entries that speak of one of these groups."""
        values = dict.fromkeys(values)
        if self.rest and any(v not in self._entries for v in values):
            yield NotIn(self._entries), self.rest
        for value in values:
            if value in self._entries or (self.flat and self.flat.corners(value)):
                yield Equal(value), self.at(value)

    def copy(self) -> Grouping:
        out = Grouping()
        out.rest = self.rest.copy()
        out.flat = self.flat.copy()
        out._entries = {v: c.copy() for v, c in self._entries.items()}
        return out
