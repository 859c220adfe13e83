"""`GroupBounds`: where a frontier keeps the bounds of single groups (OOP paper, A.1.1).

They are in a dictionary for each attribute, or, where promises bring them in a form of its own, in that form
(`many_bounds.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping

from oop.punctuation.corners import Corners
from oop.punctuation.group_promises import GroupPromises
from oop.punctuation.many_bounds import KnownBounds, ManyBounds
from oop.punctuation.patterns import Bound, Value
from oop.punctuation.slowest import Slowest

_FEW = 8  # if fewer than one in this many groups rose, covered groups are found without a look at all groups
_NONE: Mapping[Value, Bound] = {}


def copied(bounds: MutableMapping[Value, Bound]) -> MutableMapping[Value, Bound]:
    """The same bounds, in the same form, which go on by themselves."""
    return bounds.copy() if isinstance(bounds, KnownBounds) else dict(bounds)


class GroupBounds:
    """Each group's bounds on single attributes. They are the common kind, and cost a look-up and a comparison.

    >>> bounds = GroupBounds()
    >>> bounds.advance("ts", {"A": 5, "B": 5}, None), bounds.advance("ts", {"A": 4, "B": 7, "C": 6}, 6)
    ({'A': 5, 'B': 5}, {'B': 7})
    """

    __slots__ = ("_risen", "_slowest", "linear")

    def __init__(self) -> None:
        self.linear: dict[str, MutableMapping[Value, Bound]] = {}
        self._risen: dict[str, int] = {}  # bounds that rose since covered groups were last dropped
        self._slowest: dict[str, Slowest] = {}  # where few rise in between: the groups that are covered first

    def advance(self, attribute: str, bounds: Mapping[Value, Bound], least: Bound | None) -> Mapping[Value, Bound]:
        """Take bounds in; return those that are new. All groups have at least the bound ``least``."""
        if isinstance(bounds, ManyBounds):
            risen = self._advance_many(attribute, bounds, least)
            if risen is not None:
                return risen
        known = self.linear.get(attribute)
        if known is None:
            new = bounds if least is None else {g: b for g, b in bounds.items() if b > least}
            if new:
                self.linear[attribute] = dict(new)
                self._risen[attribute] = len(new)
            return new
        get = known.get
        new = {g: b for g, b in bounds.items() if (old := get(g, least)) is None or b > old}
        if new:
            slowest = self._slowest.get(attribute)
            if slowest is not None:
                for group in new.keys() - known.keys():
                    slowest.enter(group, new[group])
            if isinstance(known, KnownBounds) and not known.can_keep(new):
                known = self.linear[attribute] = dict(known)
            known.update(new)
            self._risen[attribute] += len(new)
        return new

    def _advance_many(self, attribute: str, bounds: ManyBounds, least: Bound | None) -> ManyBounds | None:
        """`advance` without a look at each group; None if that cannot be."""
        there = self.linear.get(attribute, _NONE)
        known: KnownBounds | None
        if isinstance(there, KnownBounds):
            known = there
        elif attribute in self._slowest or len(bounds) * _FEW < len(there):
            return None
        else:
            known = bounds.known(there)
        new = None if known is None else known.rise(bounds, least)
        if known is not None and new:
            self.linear[attribute] = known
            self._risen[attribute] = self._risen.get(attribute, 0) + len(new)
        return new

    @property
    def size(self) -> int:
        """How many bounds there are."""
        return sum(map(len, self.linear.values()))

    def groups(self) -> Iterable[Value]:
        if len(self.linear) == 1:
            return next(iter(self.linear.values())).keys()
        return dict.fromkeys(g for bounds in self.linear.values() for g in bounds)

    def about(self, columns: tuple[str, ...], groups: Iterable[Value]) -> Iterator[GroupPromises]:
        """The promises about these groups, if there are any.

        >>> bounds = GroupBounds()
        >>> _ = bounds.advance("ts", {"A": 5, "B": 5}, None)
        >>> list(bounds.about(("link",), ["B", "C"]))
        [GroupPromises(ts < 5, link = 'B')]
        """
        groups = list(groups)
        for attribute, known in self.linear.items():
            found = {group: known[group] for group in groups if group in known}
            if found:
                yield GroupPromises(columns, attribute, found)

    def corners(self, group: Value) -> Corners:
        """All that is promised about one group."""
        found = Corners()
        found.linear = {a: bounds[group] for a, bounds in self.linear.items() if group in bounds}
        return found

    def drop_covered(self, everyone: Corners) -> None:
        """Forget bounds that a promise about all rows implies."""
        if everyone.ended:
            self.linear, self._risen, self._slowest = {}, {}, {}
            return
        for attribute, least in everyone.linear.items():
            known = self.linear.get(attribute)
            if known is None:
                continue
            if self._risen[attribute] * _FEW >= len(known):
                if not isinstance(known, KnownBounds) or not known.drop_up_to(least):
                    self.linear[attribute] = known = {g: b for g, b in known.items() if b > least}
                self._slowest.pop(attribute, None)
            else:
                if isinstance(known, KnownBounds):
                    self.linear[attribute] = known = dict(known)
                self._drop_slowest(attribute, known, least)
            self._risen[attribute] = 0
            if not known:
                del self.linear[attribute], self._risen[attribute]
                self._slowest.pop(attribute, None)

    def _drop_slowest(self, attribute: str, known: MutableMapping[Value, Bound], least: Bound) -> None:
        """Forget groups up to the least, without a look at the others: a promise about all rows may come with every
        row, and groups may be many."""
        slowest = self._slowest.get(attribute)
        if slowest is None:
            slowest = self._slowest[attribute] = Slowest()
            for group, bound in known.items():
                slowest.enter(group, bound)
        while (found := slowest.find(known.get)) is not None and found[1] <= least:
            slowest.leave(found[0])
            del known[found[0]]

    def copy(self) -> GroupBounds:
        out = GroupBounds()
        out.linear = {a: copied(bounds) for a, bounds in self.linear.items()}
        out._risen = {a: len(bounds) for a, bounds in self.linear.items()}
        return out

    def __bool__(self) -> bool:
        return bool(self.linear)
