"""Trackers: the bound that the values seen so far imply, of one group or of a stream as a whole.

A policy whose bounds follow from rows gives its tracker (`Policy.tracker`). A tracker that depends on the greatest
value alone, in whatever way, derives from `Greatest` and defines `bound`.
"""

from __future__ import annotations

import heapq
from typing import Any, ClassVar

from oop.punctuation.durations import Duration
from oop.punctuation.patterns import Bound


class Tracker:
    """What is remembered of the values of one group, or of the whole stream. The bound never retreats, and values below
    it do not move it."""

    __slots__ = ("greatest",)
    needs_greatest_alone: ClassVar[bool] = False
    """Is the greatest of many values all that it would remember of them?"""

    def __init__(self) -> None:
        self.greatest: Bound | None = None

    @property
    def bound(self) -> Bound | None:
        """What no later value is below, unless it is late."""
        raise NotImplementedError

    @property
    def kept(self) -> int:
        """How many numbers it keeps."""
        return 1

    def see(self, value: Bound) -> None:
        raise NotImplementedError

    def state(self) -> Any:
        raise NotImplementedError

    def restore(self, state: Any) -> None:
        raise NotImplementedError


class Greatest(Tracker):
    """Slack by time: the greatest value seen, less slack."""

    __slots__ = ("slack",)
    needs_greatest_alone: ClassVar[bool] = True

    def __init__(self, slack: Bound = 0) -> None:
        self.slack = slack
        self.greatest: Bound | None = None

    @property
    def bound(self) -> Bound | None:
        return None if self.greatest is None else self.greatest - self.slack

    def see(self, value: Bound) -> None:
        if self.greatest is None or value > self.greatest:
            self.greatest = value

    def state(self) -> Any:
        return self.greatest

    def restore(self, state: Any) -> None:
        self.greatest = state


class NthGreatest(Tracker):
    """Slack by rows: the (n+1)-th greatest seen (Aurora's "out of order by n", Aurora paper, section 5.2.2)."""

    __slots__ = ("n", "top")

    def __init__(self, n: int) -> None:
        self.n = n
        self.top: list[Bound] = []  # a heap of the n+1 greatest
        self.greatest: Bound | None = None

    @property
    def bound(self) -> Bound | None:
        return self.top[0] if len(self.top) > self.n else None

    @property
    def kept(self) -> int:
        return len(self.top)

    def see(self, value: Bound) -> None:
        self.greatest = greater(self.greatest, value)
        if len(self.top) <= self.n:
            heapq.heappush(self.top, value)
        elif value > self.top[0]:
            heapq.heapreplace(self.top, value)

    def state(self) -> Any:
        return list(self.top)

    def restore(self, state: Any) -> None:
        self.top = list(state)
        self.greatest = max(self.top, default=None)


def number(duration: Duration | None) -> Bound | None:
    if duration is None or isinstance(duration, int | float):
        return duration
    raise ValueError(f"the duration {duration!r} is not a number yet: call in_units on the policy first")


def no_time(value: Bound | None) -> bool:
    """Is the value null or NaN?"""
    return value is None or value != value


def greater(a: Bound | None, b: Bound | None) -> Bound | None:
    """The greater of two bounds, of which either may be unknown."""
    if a is None or b is None:
        return b if a is None else a
    return max(a, b)
