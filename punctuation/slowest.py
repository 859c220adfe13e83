"""Which of many groups is least, where the value of each only ever grows: found without a look at all of them.

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


class Slowest:
    """A heap of what the groups had when it last looked: only one that is on top has to be looked at again."""

    def __init__(self) -> None:
        self._heap: list[tuple[Bound, int, Value]] = []
        self._entered: dict[Value, int] = {}  # which entry of a group counts: it may leave and come back with less
        self._entries = 0

    def enter(self, group: Value, value: Bound) -> None:
        self._entries += 1  # groups themselves may have no order
        self._entered[group] = self._entries
        heapq.heappush(self._heap, (value, self._entries, group))

    def leave(self, group: Value) -> None:
        self._entered.pop(group, None)

    def find(self, value_of: Callable[[Value], Bound | None]) -> tuple[Value, Bound] | None:
        """The group that has the least value, and that; None if no group is there."""
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
