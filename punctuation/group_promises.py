"""`GroupPromises`: promises about many groups as one value.

With an order by group every batch brings a promise for each group that had a row. One by one these would cost more than
the rows; together they are a mapping of bounds, which is compared, moved and handed on in one go.

>>> many = GroupPromises(("link",), "ts", {"A": 9, "B": 7})
>>> list(many)
[Punctuation(ts < 9, link = 'A'), Punctuation(ts < 7, link = 'B')]
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

from oop.punctuation.many_bounds import ManyBounds, images_of
from oop.punctuation.patterns import Bound, Equal, In, Value
from oop.punctuation.promise import Punctuation


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

    def about(self, groups: Collection[Value]) -> GroupPromises:
        """These promises about those of the groups that are among these.

        >>> GroupPromises(("link",), "ts", {"A": 9, "B": 7}).about({"B", "C"})
        GroupPromises(ts < 7, link = 'B')
        """
        if isinstance(self.bounds, ManyBounds):
            return self.only(self.bounds.within(groups))
        return self.only({group: bound for group, bound in self.bounds.items() if group in groups})

    def moved(self, attribute: str, function: Callable[[Bound], Bound | None] | None) -> GroupPromises:
        """These promises with the images of their bounds, without groups whose bounds have none."""
        if function is None:
            return GroupPromises(self.columns, attribute, self.bounds)
        if isinstance(self.bounds, ManyBounds):
            return GroupPromises(self.columns, attribute, self.bounds.moved(function))
        images = _images(sorted(set(self.bounds.values())), function)
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


def _images(bounds: Sequence[Bound], function: Callable[[Bound], Bound | None]) -> dict[Bound, Bound | None]:
    """The image of each bound; the bounds rise."""
    found: dict[Bound, Bound | None] = {}
    runs = images_of(bounds, function)
    ends = [*(start for start, _ in runs[1:]), len(bounds)]
    for (start, image), end in zip(runs, ends, strict=False):
        found.update(dict.fromkeys(bounds[start:end], image))
    return found


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
