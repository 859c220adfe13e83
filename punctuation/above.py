"""`Above`: bounds of groups that matter as long as they are above a floor, which holds for all groups and only rises.

>>> bounds = Above()
>>> bounds.update({"A": 5, "B": 9})
>>> bounds.raise_to(7)
>>> bounds.at("A"), bounds.at("B"), bounds.at("C"), dict(bounds.items())
(7, 9, 7, {'B': 9})
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from oop.punctuation.patterns import Bound, Value
from oop.punctuation.trackers import greater

_FEW = 16


class Above:
    """Bounds of groups, and a floor that holds for all of them.

    The floor rises with almost every batch, so a look at all groups each time would be quadratic. Bounds that it has
    passed are dropped only when there are twice as many bounds as the last such look left. So each look is paid for by
    the bounds that came since, and at most half of the bounds that are kept, or a few, are of no use."""

    __slots__ = ("_bounds", "_room", "floor")

    def __init__(self, floor: Bound | None = None, bounds: Iterable[tuple[Value, Bound]] = ()) -> None:
        self.floor = floor
        self._bounds = dict(bounds)
        self._room = max(_FEW, 2 * len(self._bounds))

    def at(self, group: Value) -> Bound | None:
        """The bound of a group: its own, or the floor if that is greater."""
        return greater(self._bounds.get(group), self.floor)

    def update(self, bounds: Mapping[Value, Bound]) -> None:
        self._bounds.update(bounds)

    def drop(self, group: Value) -> None:
        self._bounds.pop(group, None)

    def own(self, group: Value) -> Bound | None:
        """The bound that is kept of a group, even if the floor has passed it."""
        return self._bounds.get(group)

    def raise_to(self, floor: Bound, prune: bool = True) -> None:
        """Raise the floor. Without ``prune`` all bounds stay, because the floor may have to go back."""
        self.floor = floor
        if prune and len(self._bounds) > self._room:
            self._bounds = dict(self.items())
            self._room = max(_FEW, 2 * len(self._bounds))

    def items(self) -> Iterator[tuple[Value, Bound]]:
        """The groups that are above the floor."""
        for group, bound in self._bounds.items():
            if self.floor is None or bound > self.floor:
                yield group, bound

    def __len__(self) -> int:
        """How many bounds are kept, including those that the floor has passed."""
        return len(self._bounds)
