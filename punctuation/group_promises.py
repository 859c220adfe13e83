"""`GroupPromises`: promises about many groups as one value, and `GroupBounds`, where a frontier keeps them.

With an order by group every batch brings a promise for each group that had a row. One by one these would cost more than
the rows; together they are a dictionary of bounds, which is compared, moved and handed on in one go.

>>> many = GroupPromises(("link",), "ts", {"A": 9, "B": 7})
>>> list(many)
[Punctuation(ts < 9, link = 'A'), Punctuation(ts < 7, link = 'B')]
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from oop.punctuation.corners import Corners
from oop.punctuation.patterns import Bound, Equal, In, Value
from oop.punctuation.promise import Punctuation
from oop.punctuation.slowest import Slowest


class GroupPromises:
    """``attribute < bound`` for each group of ``columns``, which stand in alphabetical order. A group is its value (see
    `group_value`); of several columns the tuple of its values."""

    __slots__ = ("attribute", "bounds", "columns")
    linear: ClassVar[None] = None
    """As `Punctuation.linear`: these are no linear promise."""

    def __init__(self, columns: tuple[str, ...], attribute: str, bounds: Mapping[Value, Bound]) -> None:
        self.columns = columns
        self.attribute = attribute
        self.bounds = bounds

    @classmethod
    def of(cls, promise: Punctuation) -> GroupPromises | None:
        """A single promise about one group, as this; None if it is another kind of promise.

        >>> GroupPromises.of(Punctuation({"ts": 9}, {"link": "A"})).bounds
        {'A': 9}
        """
        if len(promise.below) != 1 or not promise.where:
            return None
        ((attribute, bound),) = promise.below.items()
        if len(promise.where) == 1:
            ((column, pattern),) = promise.where.items()
            return cls((column,), attribute, {pattern.value: bound}) if isinstance(pattern, Equal) else None
        columns = tuple(sorted(promise.where))
        patterns = [promise.where[c] for c in columns]
        if not all(isinstance(p, Equal) for p in patterns):
            return None
        return cls(columns, attribute, {tuple(p.value for p in patterns if isinstance(p, Equal)): bound})

    @classmethod
    def listed(cls, promise: Punctuation) -> GroupPromises | None:
        """A promise about lists of groups, as this; None if it is another kind of promise.

        >>> sorted(GroupPromises.listed(Punctuation({"ts": 9}, {"link": ["A", "B"]})).bounds.items())
        [('A', 9), ('B', 9)]
        """
        if len(promise.below) != 1 or not all(isinstance(p, Equal | In) for p in promise.where.values()):
            return None
        ((attribute, bound),) = promise.below.items()
        columns = tuple(sorted(promise.where))
        patterns = [promise.where[c] for c in columns]
        groups = [[p.value] if isinstance(p, Equal) else p.values for p in patterns if isinstance(p, Equal | In)]
        if len(columns) == 1:
            return cls(columns, attribute, dict.fromkeys(groups[0], bound))
        return cls(columns, attribute, dict.fromkeys(itertools.product(*groups), bound))

    def __len__(self) -> int:
        return len(self.bounds)

    def __iter__(self) -> Iterator[Punctuation]:
        for group, bound in self.bounds.items():
            yield Punctuation._made({self.attribute: bound}, where(self.columns, group))

    def only(self, bounds: Mapping[Value, Bound]) -> GroupPromises:
        """These promises about fewer groups: ``bounds`` has the bounds of those that stay."""
        return self if len(bounds) == len(self.bounds) else GroupPromises(self.columns, self.attribute, bounds)

    def moved(self, attribute: str, function: Callable[[Bound], Bound | None] | None) -> GroupPromises:
        """These promises with the images of their bounds, without groups whose bounds have none."""
        if function is None:
            return GroupPromises(self.columns, attribute, self.bounds)
        images = {b: b if b in (_INF, -_INF) else function(b) for b in set(self.bounds.values())}
        found = {g: image for g, b in self.bounds.items() if (image := images[b]) is not None}
        return GroupPromises(self.columns, attribute, found)

    def renamed(self, names: tuple[str, ...]) -> GroupPromises:
        """These promises with other names for the columns."""
        columns = tuple(sorted(names))
        if columns == names:
            return GroupPromises(columns, self.attribute, self.bounds)
        places = [names.index(c) for c in columns]
        bounds = {tuple(group[i] for i in places): bound for group, bound in self.bounds.items()}
        return GroupPromises(columns, self.attribute, bounds)

    def __repr__(self) -> str:
        return f"GroupPromises({', '.join(map(str, self))})"


_INF = float("inf")
_FEW = 8  # if fewer than one in this many groups rose, covered groups are found without a look at all groups
Promise = Punctuation | GroupPromises
"""What travels: one promise, or those about many groups that come together."""
Advance = Sequence[Promise]
"""Promises by which a frontier moves on, in the order in which they came. An operator takes them in one step."""


def where(columns: tuple[str, ...], group: Value) -> dict[str, Equal]:
    """A group as a promise names it."""
    if len(columns) == 1:
        return {columns[0]: Equal(group)}
    return {column: Equal(value) for column, value in zip(columns, group, strict=True)}


def expanded(promises: Iterable[Promise]) -> Iterator[Promise]:
    """The promises, with lists of groups taken apart: into one `GroupPromises` each, where that can be.

    >>> list(expanded([Punctuation({"ts": 5}), Punctuation({"ts": 5}, {"link": ["A"]}), Punctuation({}, {"k": [1]})]))
    [Punctuation(ts < 5), Punctuation(ts < 5, link = 'A'), Punctuation(k = 1)]
    """
    for promise in promises:
        if isinstance(promise, GroupPromises) or not promise.has_list:
            yield promise
        else:
            many = GroupPromises.listed(promise)
            yield from promise.each() if many is None else (many,)


def one_by_one(promises: Iterable[Promise]) -> Iterator[Punctuation]:
    """The promises one by one, for consumers that do not take `GroupPromises`.

    >>> list(one_by_one([Punctuation({"ts": 5}), GroupPromises(("link",), "ts", {"A": 9})]))
    [Punctuation(ts < 5), Punctuation(ts < 9, link = 'A')]
    """
    for promise in promises:
        if isinstance(promise, Punctuation):
            yield promise
        else:
            yield from promise


class GroupBounds:
    """Each group's bounds on single attributes. They are the common kind, and cost a look-up and a comparison.

    >>> bounds = GroupBounds()
    >>> bounds.advance("ts", {"A": 5, "B": 5}, None), bounds.advance("ts", {"A": 4, "B": 7, "C": 6}, 6)
    ({'A': 5, 'B': 5}, {'B': 7})
    """

    __slots__ = ("_risen", "_slowest", "linear")

    def __init__(self) -> None:
        self.linear: dict[str, dict[Value, Bound]] = {}
        self._risen: dict[str, int] = {}  # bounds that rose since covered groups were last dropped
        self._slowest: dict[str, Slowest] = {}  # where few rise in between: the groups that are covered first

    def advance(self, attribute: str, bounds: Mapping[Value, Bound], least: Bound | None) -> Mapping[Value, Bound]:
        """Take bounds in; return those that are new. All groups have at least the bound ``least``."""
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
            known.update(new)
            self._risen[attribute] += len(new)
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
                self.linear[attribute] = known = {g: b for g, b in known.items() if b > least}
                self._slowest.pop(attribute, None)
            else:
                self._drop_slowest(attribute, known, least)
            self._risen[attribute] = 0
            if not known:
                del self.linear[attribute], self._risen[attribute]
                self._slowest.pop(attribute, None)

    def _drop_slowest(self, attribute: str, known: dict[Value, Bound], least: Bound) -> None:
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
        out.linear = {a: dict(bounds) for a, bounds in self.linear.items()}
        out._risen = {a: len(bounds) for a, bounds in self.linear.items()}
        return out

    def __bool__(self) -> bool:
        return bool(self.linear)
