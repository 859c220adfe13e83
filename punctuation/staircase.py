"""`Staircase`: an antichain of bounds on two attributes, kept in order (OOP paper, section 7).

As the bounds on the first attribute rise, those on the second fall: corners are the steps of a staircase. So the corner
that might imply another is found by bisection, and the corners that a new one implies stand side by side.

>>> steps = Staircase("ts", "ts_right")
>>> steps.add(5, 9), steps.add(7, 3), steps.covers((4, False), (9, False)), steps.covers((6, False), (4, False))
(None, None, True, False)
>>> steps.add(6, 4), list(steps)
(None, [{'ts': 5, 'ts_right': 9}, {'ts': 6, 'ts_right': 4}, {'ts': 7, 'ts_right': 3}])
>>> steps.add(8, 4), list(steps)
(None, [{'ts': 5, 'ts_right': 9}, {'ts': 8, 'ts_right': 4}])
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from operator import neg

from oop.punctuation.patterns import Bound, Value

At = tuple[Value, bool]
"""A bound (with False), or a value (with True): the bound of a corner must be strictly greater than a value."""


class Staircase:
    """``rising`` are the bounds on the attribute ``first``, ``falling`` those on the other."""

    __slots__ = ("falling", "first", "rising", "second")

    def __init__(self, first: str, second: str) -> None:
        self.first, self.second = first, second
        self.rising: list[Bound] = []
        self.falling: list[Bound] = []

    def above(self, at: At) -> int:
        """The number of the step that reaches ``at`` on the first attribute, and furthest on the second; the number of
        steps if none does."""
        value, strictly = at
        return (bisect_right if strictly else bisect_left)(self.rising, value)

    def covers(self, first: At, second: At) -> bool:
        """Is there a corner that reaches both?"""
        place = self.above(first)
        if place == len(self.rising):
            return False
        value, strictly = second
        reached = self.falling[place]
        return bool(value < reached if strictly else value <= reached)

    def add(self, first: Bound, second: Bound) -> None:
        """Put a corner that is not implied in the place of those that it implies."""
        end = bisect_right(self.rising, first)
        begin = bisect_left(self.falling, -second, 0, end, key=neg)
        self.rising[begin:end], self.falling[begin:end] = [first], [second]

    def drop(self, attribute: str, bound: Bound) -> None:
        """Forget corners that a bound on one of the attributes implies."""
        if attribute == self.first:
            end = bisect_right(self.rising, bound)
            del self.rising[:end], self.falling[:end]
        elif attribute == self.second:
            begin = bisect_left(self.falling, -bound, key=neg)
            del self.rising[begin:], self.falling[begin:]

    def remove(self, first: Bound) -> None:
        """Forget one corner."""
        place = self.rising.index(first)
        del self.rising[place], self.falling[place]

    def corner(self, place: int) -> dict[str, Bound]:
        return {self.first: self.rising[place], self.second: self.falling[place]}

    def copy(self) -> Staircase:
        out = Staircase(self.first, self.second)
        out.rising, out.falling = self.rising.copy(), self.falling.copy()
        return out

    def __len__(self) -> int:
        return len(self.rising)

    def __iter__(self) -> Iterator[dict[str, Bound]]:
        for bounds in zip(self.rising, self.falling, strict=True):
            yield {self.first: bounds[0], self.second: bounds[1]}
