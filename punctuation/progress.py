"""Running policies: the bound that the rows seen so far imply, for one attribute.

This is the executable specification, a row at a time. The input operator takes whole batches through a kernel where
one computes the same (slack by time without groups); `greatest` is the state that both share.

Lateness does not depend on batches: `observe` gives, for each row, the bound implied by the rows *before* it.
Late rows, and rows without a time (null, NaN), change nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import Any

from oop.punctuation.durations import Duration
from oop.punctuation.patterns import Bound, Value, group_value
from oop.punctuation.policies import AtEnd, Policy, Punctuated, Slack, SlackRows, Timer
from oop.punctuation.promise import Punctuation


def _number(duration: Duration | None) -> Bound | None:
    if duration is None or isinstance(duration, int | float):
        return duration
    raise ValueError(f"the duration {duration!r} is not a number yet: call in_units on the policy first")


def _no_time(value: Bound | None) -> bool:
    return value is None or value != value


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
    """Slack by rows: the (n+1)-th greatest seen (Aurora's "out of order by n", papers/000 section 5.2)."""

    __slots__ = ("n", "top")

    def __init__(self, n: int) -> None:
        self.n = n
        self.top: list[Bound] = []  # a heap of the n+1 greatest

    @property
    def bound(self) -> Bound | None:
        return self.top[0] if len(self.top) > self.n else None

    @property
    def greatest(self) -> Bound | None:
        return max(self.top, default=None)

    def see(self, value: Bound) -> None:
        if len(self.top) <= self.n:
            heapq.heappush(self.top, value)
        elif value > self.top[0]:
            heapq.heapreplace(self.top, value)

    def state(self) -> Any:
        return list(self.top)

    def restore(self, state: Any) -> None:
        self.top = list(state)


Tracker = Greatest | NthGreatest


def _tracker(policy: Policy) -> Tracker:
    if isinstance(policy, SlackRows):
        return NthGreatest(policy.rows)
    slack = policy.bound if isinstance(policy, Slack) else policy.slack if isinstance(policy, Timer) else 0
    return Greatest(_number(slack) or 0)


def _greater(a: Bound | None, b: Bound | None) -> Bound | None:
    if a is None or b is None:
        return b if a is None else a
    return max(a, b)


class Progress:
    """A policy without groups. Also the base: at_end and punctuated observe nothing."""

    def __init__(self, policy: Policy, attribute: str) -> None:
        self.policy = policy
        self.attribute = attribute
        self.every = _number(policy.every)
        self.promised: Bound | None = None

    def observe(self, values: Iterable[Bound], groups: Iterable[Value] | None = None) -> list[Bound | None]:
        return [None for _ in values]

    def promises(self) -> Iterator[Punctuation]:
        """What can be promised now and is worth it: the bound has reached the next multiple of ``every``."""
        return iter(())

    def tick(self, now: Bound) -> None:
        """The wall clock moved."""

    def due(self, bound: Bound | None, promised: Bound | None) -> bool:
        """Has the bound reached a new step of ``every``, counted on a fixed grid so that batches do not matter?"""
        if bound is None or (promised is not None and bound <= promised):
            return False
        return self.every is None or promised is None or bound // self.every > promised // self.every

    def state(self) -> Any:
        return self.promised

    def restore(self, state: Any) -> None:
        self.promised = state


class Linear(Progress):
    """ordered and slack, for the stream as a whole."""

    def __init__(self, policy: Policy, attribute: str) -> None:
        super().__init__(policy, attribute)
        self.tracker = _tracker(policy)

    @property
    def bound(self) -> Bound | None:
        return self.tracker.bound

    def observe(self, values: Iterable[Bound], groups: Iterable[Value] | None = None) -> list[Bound | None]:
        before = []
        for value in values:
            before.append(self.tracker.bound)
            if not _no_time(value):
                self.tracker.see(value)
        return before

    def promises(self) -> Iterator[Punctuation]:
        bound = self.bound
        if bound is not None and self.due(bound, self.promised):
            self.promised = bound
            yield Punctuation({self.attribute: bound})

    def state(self) -> Any:
        return {"promised": self.promised, "tracker": self.tracker.state()}

    def restore(self, state: Any) -> None:
        self.promised = state["promised"]
        self.tracker.restore(state["tracker"])


class Clocked(Linear):
    """timer: the guard and the promises know what the last tick saw (paper, A.1.1)."""

    def __init__(self, policy: Timer, attribute: str) -> None:
        super().__init__(policy, attribute)
        self.lull = _number(policy.lull) or 0
        self.ticked: Bound | None = None
        self.last: Bound | None = None

    @property
    def bound(self) -> Bound | None:
        return self.ticked

    def observe(self, values: Iterable[Bound], groups: Iterable[Value] | None = None) -> list[Bound | None]:
        before = []
        for value in values:
            before.append(self.ticked)
            if not _no_time(value) and (self.ticked is None or value >= self.ticked):
                self.tracker.see(value)
        return before

    def tick(self, now: Bound) -> None:
        if self.every is not None and self.last is not None and now - self.last < self.every:
            return
        self.last = now
        candidates = [b for b in (self.ticked, self.tracker.bound, now - self.lull) if b is not None]
        self.ticked = max(candidates)

    def due(self, bound: Bound | None, promised: Bound | None) -> bool:
        return bound is not None and (promised is None or bound > promised)  # ``every`` is the clock's here

    def state(self) -> Any:
        return {**super().state(), "ticked": self.ticked, "last": self.last}

    def restore(self, state: Any) -> None:
        super().restore(state)
        self.ticked, self.last = state["ticked"], state["last"]


class Grouped(Progress):
    """ordered and slack, by group, with the rest.

    Active groups hold the rest back: the rest's bound is the least bound of an active group. With ``groups`` these are
    active throughout and others never; with ``idle`` a group is active from its first row until the stream's greatest
    value is more than ``idle`` ahead of the group's.
    """

    def __init__(self, policy: Policy, attribute: str) -> None:
        super().__init__(policy, attribute)
        assert policy.by is not None
        self.by = policy.by
        self.idle = _number(policy.idle)
        self.fixed = policy.groups is not None
        self.trackers: dict[Value, Tracker] = {group_value(g): _tracker(policy) for g in policy.groups or ()}
        self.floors: dict[Value, Bound] = {}  # where a group that came back resumed
        self.retired: dict[Value, Bound] = {}  # bounds of retired groups that the rest has not reached yet
        self.greatest: Bound | None = None
        self.rest: Bound | None = None
        self.given: dict[Value, Bound] = {}
        self.given_rest: Bound | None = None

    def observe(self, values: Iterable[Bound], groups: Iterable[Value] | None = None) -> list[Bound | None]:
        assert groups is not None
        before = []
        for value, group in zip(values, groups, strict=True):
            before.append(self._observe(value, group_value(group)))
        return before

    def _observe(self, value: Bound, group: Value) -> Bound | None:
        if group in self.trackers and self._idle(self.trackers[group]):
            self._retire(group)
        if group in self.trackers:
            bound = self.bound_of(group)
        else:
            bound = _greater(self._advance_rest(), self.retired.get(group))
        if not _no_time(value) and (bound is None or value >= bound):
            self._see(value, group, bound)
        return bound

    def _see(self, value: Bound, group: Value, floor: Bound | None) -> None:
        tracker = self.trackers.get(group)
        if tracker is None:
            if self.fixed:
                return
            tracker = self.trackers[group] = _tracker(self.policy)
            self.retired.pop(group, None)
            if floor is not None:
                self.floors[group] = floor
        tracker.see(value)
        self.greatest = _greater(self.greatest, value)

    def _retire(self, group: Value) -> None:
        bound = self.bound_of(group)
        del self.trackers[group]
        self.floors.pop(group, None)
        if bound is not None:  # few rows (slack by rows) hold the rest back, yet this much may be promised
            self.retired[group] = bound

    def _idle(self, tracker: Tracker) -> bool:
        if self.idle is None or self.greatest is None or tracker.greatest is None:
            return False
        return self.greatest - tracker.greatest > self.idle

    def bound_of(self, group: Value) -> Bound | None:
        """The bound of an active group: its policy's, or where it resumed if that is greater."""
        return _greater(self.trackers[group].bound, self.floors.get(group))

    def _advance_rest(self) -> Bound | None:
        """The least active bound; groups that have been idle for too long retire here."""
        if not self.fixed and self.idle is None:
            return None
        for group in [g for g, t in self.trackers.items() if self._idle(t)]:
            self._retire(group)
        least: Bound | None = None
        for group in self.trackers:
            bound = self.bound_of(group)
            if bound is None:
                return self.rest
            least = bound if least is None else min(least, bound)
        if least is not None and (self.rest is None or least > self.rest):
            self.rest = least
            self.retired = {g: b for g, b in self.retired.items() if b > least}
        return self.rest

    def promises(self) -> Iterator[Punctuation]:
        rest = self._advance_rest()
        if rest is not None and self.due(rest, self.given_rest):
            self.given_rest = rest
            self.given = {g: b for g, b in self.given.items() if b > rest}
            yield Punctuation({self.attribute: rest})  # no active bound is below it: it holds for all
        for group in self.trackers:
            bound = self.bound_of(group)
            given = self.given.get(group, self.given_rest)
            if bound is not None and self.due(bound, given):
                self.given[group] = bound
                yield Punctuation({self.attribute: bound}, {self.by: group})

    def state(self) -> Any:
        return {
            "trackers": [(g, t.state()) for g, t in self.trackers.items()],
            "floors": list(self.floors.items()),
            "retired": list(self.retired.items()),
            "given": list(self.given.items()),
            "scalars": [self.greatest, self.rest, self.given_rest],
        }

    def restore(self, state: Any) -> None:
        self.trackers = {}
        for group, saved in state["trackers"]:
            tracker = self.trackers[group_value(group)] = _tracker(self.policy)
            tracker.restore(saved)
        self.floors = {group_value(g): b for g, b in state["floors"]}
        self.retired = {group_value(g): b for g, b in state["retired"]}
        self.given = {group_value(g): b for g, b in state["given"]}
        self.greatest, self.rest, self.given_rest = state["scalars"]


class ClockedGroups(Grouped):
    """timer by group: each tick takes a picture of the groups' bounds; a lull is one of the whole source.

    Between two ticks the picture alone is in force, for the rest as well.
    """

    def __init__(self, policy: Timer, attribute: str) -> None:
        super().__init__(policy, attribute)
        self.clock = Clocked(policy, attribute)
        self.picture: dict[Value, Bound] = {}
        self.picture_rest: Bound | None = None

    def _observe(self, value: Bound, group: Value) -> Bound | None:
        bound = _greater(self.clock.ticked, self.picture.get(group, self.picture_rest))
        if not _no_time(value) and (bound is None or value >= bound):
            self._see(value, group, self.picture_rest)
        return bound

    def tick(self, now: Bound) -> None:
        before = self.clock.last
        self.clock.tick(now)
        if self.clock.last == before:
            return
        self.picture_rest = self._advance_rest()
        bounds = {g: self.bound_of(g) for g in self.trackers}
        self.picture = {g: b for g, b in bounds.items() if b is not None}

    def promises(self) -> Iterator[Punctuation]:
        rest = _greater(self.clock.ticked, self.picture_rest)
        if rest is not None and (self.given_rest is None or rest > self.given_rest):
            self.given_rest = rest
            self.given = {g: b for g, b in self.given.items() if b > rest}
            yield Punctuation({self.attribute: rest})
        for group, bound in self.picture.items():
            given = _greater(self.given.get(group), self.given_rest)
            if given is None or bound > given:
                self.given[group] = bound
                yield Punctuation({self.attribute: bound}, {self.by: group})

    def state(self) -> Any:
        picture = [list(self.picture.items()), self.picture_rest]
        return {**super().state(), "clock": self.clock.state(), "picture": picture}

    def restore(self, state: Any) -> None:
        super().restore(state)
        self.clock.restore(state["clock"])
        groups, self.picture_rest = state["picture"]
        self.picture = {group_value(g): b for g, b in groups}


def start(policy: Policy, attribute: str) -> Progress:
    """The running instance of a policy whose durations are numbers."""
    if isinstance(policy, AtEnd | Punctuated):
        return Progress(policy, attribute)
    if isinstance(policy, Timer):
        return Clocked(policy, attribute) if policy.by is None else ClockedGroups(policy, attribute)
    return Linear(policy, attribute) if policy.by is None else Grouped(policy, attribute)


__all__ = ["Clocked", "ClockedGroups", "Grouped", "Linear", "Progress", "start"]
