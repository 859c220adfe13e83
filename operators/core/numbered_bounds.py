"""Bounds of groups that have numbers, in arrays: promises about many groups cost a pass over an array at each operator
(`oop.punctuation.many_bounds`).

>>> groups = NumberedGroups(["A", "B", "C"])
>>> bounds = numbered_bounds(groups, np.array([0, 2]), np.array([5, 9]))
>>> dict(bounds), dict(bounds.above(5)), dict(bounds.moved(lambda bound: bound // 2))
({'A': 5, 'C': 9}, {'C': 9}, {'A': 2, 'C': 4})
>>> known = bounds.known({"B": 7})
>>> dict(known.rise(numbered_bounds(groups, np.arange(3), np.array([8, 7, 8])), None)), dict(known)
({'A': 8, 'C': 8}, {'A': 8, 'B': 7, 'C': 8})
"""

from __future__ import annotations

from collections.abc import Collection, ItemsView, Iterator, KeysView, Mapping, ValuesView

import numpy as np

from oop.kernels.once import once
from oop.operators.core.growing import with_room
from oop.punctuation.interest import BoundStep
from oop.punctuation.many_bounds import KnownBounds, ManyBounds, images_of
from oop.punctuation.patterns import Bound, Value

_NUMBERS = {int: np.dtype(np.int64), float: np.dtype(np.float64)}


class NumberedGroups:
    """The values of groups by number. Further ones may be appended, and none changes."""

    def __init__(self, values: list[Value]) -> None:
        self.values = values
        self._numbers: dict[Value, int] = {}
        self._known = 0

    def __len__(self) -> int:
        return len(self.values)

    @property
    def numbers(self) -> Mapping[Value, int]:
        """The number of each group. It is made when it is first asked for: most promises name groups by number."""
        there = len(self.values)
        if self._known < there:
            for number in range(self._known, there):  # another thread may do the same, and enters the same numbers
                self._numbers[self.values[number]] = number
            self._known = there
        return self._numbers


class NumberedBounds(ManyBounds):
    """``bounds`` of the groups with these ``numbers``, which rise. None is the least number of its type, which stands
    for no bound in `KnownByNumber`; `numbered_bounds` makes these bounds where that is so.

    ``rising`` has every bound that occurs, in order, if that is known: where bounds are moved once more, they are few.
    """

    def __init__(
        self, groups: NumberedGroups, numbers: np.ndarray, bounds: np.ndarray, rising: np.ndarray | None = None
    ) -> None:
        self.groups, self.numbers, self.bounds = groups, numbers, bounds
        self._rising = rising
        self._moved: tuple[BoundStep, Mapping[Value, Bound]] | None = None  # where they were last moved to

    @once
    def plain(self) -> dict[Value, Bound]:
        """The same as a dictionary."""
        values = self.groups.values
        return dict(zip([values[i] for i in self.numbers.tolist()], self.bounds.tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Value]:
        return iter(self.plain)

    def __getitem__(self, group: Value) -> Bound:
        return self.plain[group]

    def keys(self) -> KeysView[Value]:
        return self.plain.keys()

    def values(self) -> ValuesView[Bound]:
        return self.plain.values()

    def items(self) -> ItemsView[Value, Bound]:
        return self.plain.items()

    def greatest(self) -> Bound:
        found: Bound = self.bounds.max().item()
        return found

    def where(self, mask: np.ndarray) -> NumberedBounds:
        """Those that a mask names."""
        return self if mask.all() else NumberedBounds(self.groups, self.numbers[mask], self.bounds[mask], self._rising)

    def above(self, least: Bound | None) -> NumberedBounds | None:
        if least is None:
            return self
        return self.where(self.bounds > least) if _fits(least, self.bounds.dtype) else None

    def within(self, groups: Collection[Value]) -> Mapping[Value, Bound]:
        if isinstance(groups, NumberedBounds) and groups.groups is self.groups:
            return self.where(np.isin(self.numbers, groups.numbers, assume_unique=True))
        return {group: bound for group, bound in self.plain.items() if group in groups}

    def moved(self, function: BoundStep) -> Mapping[Value, Bound]:
        last = self._moved  # read once: shards that are given the same promises may move them at the same time
        if last is None or last[0] != function:  # the gate before an operator asks the same as it
            last = self._moved = function, self._move(function)
        return last[1]

    def _move(self, function: BoundStep) -> Mapping[Value, Bound]:
        if self._rising is None:
            self._rising = np.sort(self.bounds)
        runs = images_of(self._rising.tolist(), function)
        images = [image for _, image in runs]
        run = np.searchsorted(self._rising[[start for start, _ in runs]], self.bounds, "right") - 1
        found = _array([image for image in images if image is not None])
        if found is None:  # numbers of several types, or beyond 64 bits
            by_place = zip(self.plain, run.tolist(), strict=True)
            return {group: image for group, i in by_place if (image := images[i]) is not None}
        has = np.array([image is not None for image in images])
        of_run = np.zeros(len(runs), found.dtype)
        of_run[has] = found
        moved = NumberedBounds(self.groups, self.numbers, of_run[run], np.sort(found))
        return moved if has.all() else moved.where(has[run])

    def known(self, others: Mapping[Value, Bound]) -> KnownByNumber | None:
        known = KnownByNumber(self.groups, self.bounds.dtype)
        if not known.can_keep(others):
            return None
        known.update(others)
        return known


class KnownByNumber(KnownBounds):
    """The bounds of all groups by number; the least number of their type for groups without a bound."""

    def __init__(self, groups: NumberedGroups, dtype: np.dtype) -> None:
        self.groups = groups
        self.none = _none(dtype)
        self.bounds = np.zeros(0, dtype)
        self._held = 0

    def rise(self, bounds: ManyBounds, least: Bound | None) -> NumberedBounds | None:
        dtype = self.bounds.dtype
        if not isinstance(bounds, NumberedBounds) or bounds.groups is not self.groups or bounds.bounds.dtype != dtype:
            return None
        if least is not None and not _fits(least, dtype):
            return None
        self._make_room()
        before = self.bounds[bounds.numbers]
        risen = bounds.bounds > (before if least is None else np.maximum(before, least))
        new = bounds.where(risen)
        self._held += int(np.count_nonzero(before[risen] == self.none))
        self.bounds[new.numbers] = new.bounds
        return new

    def _make_room(self) -> None:
        self.bounds = with_room(self.bounds, len(self.groups), self.none)

    def can_keep(self, bounds: Mapping[Value, Bound]) -> bool:
        if not bounds:
            return True
        array = _array(list(bounds.values()))
        return array is not None and array.dtype == self.bounds.dtype and bounds.keys() <= self.groups.numbers.keys()

    def drop_up_to(self, least: Bound) -> bool:
        if not _fits(least, self.bounds.dtype):
            return False
        self.bounds[self.bounds <= least] = self.none
        self._held = int(np.count_nonzero(self.bounds != self.none))
        return True

    def copy(self) -> KnownByNumber:
        out = KnownByNumber(self.groups, self.bounds.dtype)
        out.bounds, out._held = self.bounds.copy(), self._held
        return out

    def _plain(self) -> NumberedBounds:
        numbers = np.flatnonzero(self.bounds != self.none)
        return NumberedBounds(self.groups, numbers, self.bounds[numbers])

    def __len__(self) -> int:
        return self._held

    def __iter__(self) -> Iterator[Value]:
        return iter(self._plain())

    def keys(self) -> KeysView[Value]:
        return self._plain().keys()

    def values(self) -> ValuesView[Bound]:
        return self._plain().values()

    def items(self) -> ItemsView[Value, Bound]:
        return self._plain().items()

    def __getitem__(self, group: Value) -> Bound:
        number = self.groups.numbers[group]
        bound: Bound = self.bounds[number].item() if number < len(self.bounds) else self.none
        if bound == self.none:
            raise KeyError(group)
        return bound

    def __setitem__(self, group: Value, bound: Bound) -> None:
        self._make_room()
        number = self.groups.numbers[group]
        self._held += self.bounds[number] == self.none
        self.bounds[number] = bound

    def __delitem__(self, group: Value) -> None:
        self[group]  # KeyError if there is none
        self.bounds[self.groups.numbers[group]] = self.none
        self._held -= 1


def numbered_bounds(groups: NumberedGroups, numbers: np.ndarray, bounds: np.ndarray) -> Mapping[Value, Bound]:
    """The bounds of the groups with these numbers, which rise."""
    found = NumberedBounds(groups, numbers, bounds)
    return found.plain if (bounds == _none(bounds.dtype)).any() else found


def _none(dtype: np.dtype) -> int | float:
    return np.iinfo(np.int64).min if dtype == np.int64 else -np.inf


def _fits(bound: Bound, dtype: np.dtype) -> bool:
    """Can it be compared with numbers of this type exactly?"""
    return _NUMBERS.get(type(bound)) == dtype and (dtype == np.float64 or -(2**63) <= bound < 2**63)


def _array(bounds: list[Bound]) -> np.ndarray | None:
    """Bounds as numbers of one type, none of them the least; None if they are not such numbers."""
    types = set(map(type, bounds))
    if len(types) != 1:
        return None
    (type_,) = types
    if type_ not in _NUMBERS or not (type_ is float or all(-(2**63) < b < 2**63 for b in bounds)):
        return None
    array = np.array(bounds, _NUMBERS[type_])
    return None if type_ is float and (array == -np.inf).any() else array
