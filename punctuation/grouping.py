"""`Grouping`: the corners of each group of one column, and of the rest (paper 004, A.1.1).

A group that is named has its own corners, every other group has the rest's. An entry equal to the rest is dropped.

>>> g = Grouping()
>>> g.add(Equal("A"), {"ts": 9})
>>> g.add(NotIn({"A"}), {"ts": 5})
>>> g.at("A").bound("ts"), g.at("B").bound("ts"), g.least().bound("ts")
(9, 5, 5)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from oop.punctuation.corners import Corner, Corners
from oop.punctuation.patterns import Equal, GroupPattern, NotIn, Value


class Grouping:
    __slots__ = ("groups", "rest")

    def __init__(self) -> None:
        self.rest = Corners()
        self.groups: dict[Value, Corners] = {}

    def at(self, value: Value) -> Corners:
        return self.groups.get(value, self.rest)

    def least(self) -> Corners:
        """What holds for every group: the meet over those named and the rest."""
        if not self.rest:
            return Corners()
        return reduce(Corners.meet, self.groups.values(), self.rest.copy())

    def add(self, pattern: GroupPattern, corner: Corner) -> None:
        if isinstance(pattern, Equal):
            entry = self.groups.setdefault(pattern.value, self.rest.copy())
            if entry.add(corner) and entry == self.rest:
                del self.groups[pattern.value]
            return
        for value in pattern.values:
            self.groups.setdefault(value, self.rest.copy())  # keeps what it had while the rest moves on
        self.rest.add(corner)
        for value, entry in list(self.groups.items()):
            if value not in pattern.values:
                entry.add(corner)
            if entry == self.rest:
                del self.groups[value]

    def over(self, everyone: Corners) -> Grouping:
        """The same with what is promised about all rows added to each entry."""
        out = Grouping()
        out.rest = self.rest.join(everyone)
        out.groups = {v: c.join(everyone) for v, c in self.groups.items()}
        return out

    def meet(self, other: Grouping) -> Grouping:
        out = Grouping()
        out.rest = self.rest.meet(other.rest)
        for value in {**self.groups, **other.groups}:
            entry = self.at(value).meet(other.at(value))
            if entry != out.rest:
                out.groups[value] = entry
        return out

    def drop_covered(self, everyone: Corners) -> None:
        """Forget corners that a promise about all rows implies."""
        for entry in (self.rest, *self.groups.values()):
            for corner in [c for c in entry if everyone.covers(c)]:
                _remove(entry, corner)
        self.groups = {v: c for v, c in self.groups.items() if c != self.rest}

    def items(self) -> Iterator[tuple[GroupPattern, Corners]]:
        if self.rest:
            yield NotIn(self.groups), self.rest
        for value, entry in self.groups.items():
            yield Equal(value), entry

    def copy(self) -> Grouping:
        out = Grouping()
        out.rest = self.rest.copy()
        out.groups = {v: c.copy() for v, c in self.groups.items()}
        return out


def _remove(corners: Corners, corner: Corner) -> None:
    if not corner:
        corners.ended = False
    elif len(corner) == 1:
        corners.linear.pop(next(iter(corner)))
    else:
        corners.joint.remove(dict(corner))
