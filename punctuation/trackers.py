"""Trackers: the bound that the values seen so far imply, of one group or of a stream as a whole."""

from __future__ import annotations

import heapq
from typing import Any

from oop.punctuation.durations import Duration
from oop.punctuation.patterns import Bound
from oop.punctuation.policies import Policy, Slack, SlackRows, Timer


class Greatest:
    """The bound of one group, or of the whole stream, under slack by time."""

    __slots__ = ("greatest", "slack")

    def __init__(self, slack: Bound) -> None:
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


class NthGreatest:
    """Slack by rows: the (n+1)-th greatest seen ("out of order by n": Aurora paper, section 5.2)."""

    __slots__ = ("greatest", "n", "top")

    def __init__(self, n: int) -> None:
        self.n = n
        self.top: list[Bound] = []  # a heap of the n+1 greatest
        self.greatest: Bound | None = None

    @property
    def bound(self) -> Bound | None:
        return self.top[0] if len(self.top) > self.n else None

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


Tracker = Greatest | NthGreatest


def start_tracker(policy: Policy) -> Tracker:
    """The tracker of a policy whose durations are numbers."""
    if isinstance(policy, SlackRows):
        return NthGreatest(policy.rows)
    slack = policy.bound if isinstance(policy, Slack) else policy.slack if isinstance(policy, Timer) else 0
    return Greatest(number(slack) or 0)


def number(duration: Duration | None) -> Bound | None:
    if duration is None or isinstance(duration, int | float):
        return duration
    raise ValueError(f"the duration {duration!r} is not a number yet: call in_units on the policy first")


def no_time(value: Bound | None) -> bool:
    """Null or NaN."""
    return value is None or value != value


def greater(a: Bound | None, b: Bound | None) -> Bound | None:
    """The greater of two bounds, of which either may be unknown."""
    if a is None or b is None:
        return b if a is None else a
    return max(a, b)
