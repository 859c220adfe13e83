"""`GroupCorners`: all that is promised about single groups of several columns: bounds, joint corners and ends (OOP
paper, A.1.1).

>>> groups = GroupCorners()
>>> groups.add(("A", 6), {"ts": 5}), groups.add(("A", 6), {"ts": 9, "ts_right": 2}), groups.add(("B", 6), {})
(None, None, None)
>>> groups.corners(("A", 6)), groups.corners(("B", 6))
(Corners({'ts': 5}, {'ts': 9, 'ts_right': 2}), Corners({}))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from oop.punctuation.corners import Corner, Corners
from oop.punctuation.group_bounds import GroupBounds, copied
from oop.punctuation.group_promises import where
from oop.punctuation.patterns import Bound, Value
from oop.punctuation.promise import Punctuation


class GroupCorners(GroupBounds):
    """Bounds on single attributes are kept as in `GroupBounds`. ``more`` has joint corners and ends by group, so that
    these cost a look-up too: a join promises such corners about every group."""

    __slots__ = ("more",)

    def __init__(self) -> None:
        super().__init__()
        self.more: dict[Value, Corners] = {}  # without bounds on a single attribute; none is empty

    @property
    def is_flat(self) -> bool:
        """Are bounds on single attributes all that is said?"""
        return not self.more

    def add(self, group: Value, corner: Corner) -> None:
        """Add a corner that what is said of the group does not imply."""
        more = self.more.get(group)
        if len(corner) == 1:
            ((attribute, bound),) = corner.items()
            self.advance(attribute, {group: bound}, None)
            if more is not None:
                more.add(corner)  # drops what it implies
                more.linear.clear()
                if not more:
                    del self.more[group]
            return
        if not corner:
            for attribute in list(self.linear):
                self._forget(attribute, group)
        if more is None:
            more = self.more[group] = Corners()
        more.add(corner)

    def remove(self, group: Value, corner: Corner) -> None:
        """Forget one of a group's corners."""
        if len(corner) == 1:
            self._forget(next(iter(corner)), group)
            return
        self.more[group].remove(corner)
        if not self.more[group]:
            del self.more[group]

    def _forget(self, attribute: str, group: Value) -> None:
        known = self.linear[attribute]
        if known.pop(group, None) is not None and attribute in self._slowest:
            self._slowest[attribute].leave(group)
        if not known:
            del self.linear[attribute], self._risen[attribute]
            self._slowest.pop(attribute, None)

    def groups(self) -> Iterable[Value]:
        return dict.fromkeys((*super().groups(), *self.more)) if self.more else super().groups()

    def corners(self, group: Value) -> Corners:
        found = super().corners(group)
        more = self.more.get(group)
        if more is not None:
            found.ended, found.stairs, found.wide = more.ended, more.copy().stairs, list(more.wide)
        return found

    def promises(self, columns: tuple[str, ...]) -> Iterator[Punctuation]:
        """All that is said, as promises about groups of these columns."""
        for group in self.groups():
            patterns = where(columns, group)
            yield from (Punctuation._made(dict(corner), patterns) for corner in self.corners(group))

    def more_about(self, columns: tuple[str, ...], groups: Iterable[Value]) -> Iterator[Punctuation]:
        """What `about` leaves out: the joint promises about these groups, and their ends."""
        for group in groups if self.more else ():
            for corner in self.more.get(group, ()):
                yield Punctuation._made(dict(corner), where(columns, group))

    def bounds_on(self, attribute: str) -> Iterator[Bound]:
        """The bounds of all groups on an attribute, alone or beside others."""
        yield from self.linear.get(attribute, {}).values()
        yield from (corner[attribute] for more in self.more.values() for corner in more if attribute in corner)

    def drop_covered(self, everyone: Corners) -> None:
        super().drop_covered(everyone)
        for group, more in list(self.more.items()):
            for corner in [c for c in more if everyone.covers(c)]:
                self.remove(group, corner)

    def copy(self) -> GroupCorners:
        out = GroupCorners()
        out.linear = {a: copied(bounds) for a, bounds in self.linear.items()}
        out._risen = {a: len(bounds) for a, bounds in self.linear.items()}
        out.more = {group: more.copy() for group, more in self.more.items()}
        return out

    def __bool__(self) -> bool:
        return bool(self.linear) or bool(self.more)
