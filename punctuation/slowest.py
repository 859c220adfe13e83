"""Finds the least of many groups, each with a value that only ever grows, without a look at all of them.

>>> ahead = {"a": 1, "b": 2}
>>> least = Slowest()
>>> least.enter("a", 1), least.enter("b", 2)
(None, None)
>>> ahead["a"] = 5
>>> least.find(ahead.get)
('b', 2)
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

from oop.punctuation.patterns import Bound, Value

_FEW = 16


class Slowest:
    """A heap of the values that the groups had when they were last looked at: only the group on top has to be looked at
    again. Entries of groups that have left stay until they are on top, or until they are more than half of all."""

    def __init__(self) -> None:
        self._heap: list[tuple[Bound, int, Value]] = []
        self._entered: dict[Value, int] = {}  # which entry of a group counts: it may leave and come back with less
        self._entries = 0

    def enter(self, group: Value, value: Bound) -> None:
        self._entries += 1  # orders entries of equal values, because groups may have no order
        self._entered[group] = self._entries
        heapq.heappush(self._heap, (value, self._entries, group))
        if len(self._heap) > 2 * len(self._entered) + _FEW:
            self._heap = [entry for entry in self._heap if self._entered.get(entry[2]) == entry[1]]
            heapq.heapify(self._heap)

    def leave(self, group: Value) -> None:
        self._entered.pop(group, None)

    def __len__(self) -> int:
        """How many entries are kept, those of groups that have left included."""
        return len(self._heap)

    def find(self, value_of: Callable[[Value], Bound | None]) -> tuple[Value, Bound] | None:
        """The group that has the least value, and the value; None if there is no group."""
        while self._heap:
            before, entry, group = self._heap[0]
            value = value_of(group) if self._entered.get(group) == entry else None
            if value is None:
                heapq.heappop(self._heap)
            elif value > before:
                heapq.heapreplace(self._heap, (value, entry, group))
            else:
                return group, value
        return None
