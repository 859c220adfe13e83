"""Running policies by group: a bound for each group, and one for the rest, that is for all groups without their own
(paper, A.1.1)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from oop.punctuation.group_promises import GroupPromises, Promise, one_by_one
from oop.punctuation.patterns import Bound, Value, group_value
from oop.punctuation.policies import Policy, Timer
from oop.punctuation.progress import Clocked, Progress
from oop.punctuation.promise import Punctuation
from oop.punctuation.slowest import Slowest
from oop.punctuation.trackers import Tracker, greater, no_time, number, start_tracker


class Grouped(Progress):
    """ordered and slack, by group, with the rest.

    Active groups hold the rest back: the rest's bound is the least bound of an active group. With ``groups`` these are
    active throughout and others never; with ``idle`` a group is active from its first row until the stream's greatest
    value is more than ``idle`` ahead of the group's.
    """

    judges = True

    def __init__(self, policy: Policy, attribute: str) -> None:
        super().__init__(policy, attribute)
        assert policy.by is not None
        self.by = policy.by
        self.idle = number(policy.idle)
        self.fixed = policy.groups is not None
        self.trackers: dict[Value, Tracker] = {group_value(g): start_tracker(policy) for g in policy.groups or ()}
        self.floors: dict[Value, Bound] = {}  # where a group that came back resumed
        self.retired: dict[Value, Bound] = {}  # bounds of retired groups that the rest has not reached yet
        self.greatest: Bound | None = None
        self.rest: Bound | None = None
        self.given: dict[Value, Bound] = {}
        self.given_rest: Bound | None = None
        self._enter_all()

    def _enter_all(self) -> None:
        """What is known of the groups, from their trackers and floors."""
        self.moved = set(self.trackers)  # groups of rows since promises were last asked for
        self._unbound: set[Value] = set()  # active groups of which nothing can be said
        self._by_bound = Slowest()  # whose bound is least: the rest's
        self._by_greatest = Slowest()  # who has been silent for longest, and so retires first
        for group in self.trackers:
            self._enter(group)

    def _enter(self, group: Value) -> None:
        """Takes an active group into account for the rest."""
        if self.is_independent:
            return
        greatest = self.trackers[group].greatest
        if greatest is not None and self.idle is not None:
            self._by_greatest.enter(group, greatest)
        self._unbound.add(group)
        self._enter_bound(group)

    def _enter_bound(self, group: Value) -> None:
        bound = self.bound_of(group)
        if bound is not None:
            self._unbound.discard(group)
            self._by_bound.enter(group, bound)

    @property
    def is_independent(self) -> bool:
        """Without a rest, groups have nothing to do with each other."""
        return not self.fixed and self.idle is None

    def active(self, groups: Sequence[Value]) -> list[Tracker] | None:
        """The trackers of these groups, if all are active. Once these have seen their rows, say so: `saw`."""
        if self.is_independent:
            return [self.trackers.setdefault(group, start_tracker(self.policy)) for group in groups]
        if not self.trackers.keys() >= set(groups):
            return None
        return [self.trackers[group] for group in groups]

    def saw(self, groups: Iterable[Value], greatest: Bound) -> None:
        """The trackers of these groups have seen rows up to ``greatest``."""
        self.greatest = greater(self.greatest, greatest)
        self.moved.update(groups)
        for group in self._unbound.intersection(groups):
            self._enter_bound(group)

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
            bound = greater(self._advance_rest(), self.retired.get(group))
        if not no_time(value) and (bound is None or value >= bound):
            self._see(value, group, bound)
        return bound

    def _see(self, value: Bound, group: Value, floor: Bound | None) -> None:
        tracker = self.trackers.get(group)
        if tracker is None:
            if self.fixed:
                return
            tracker = self.trackers[group] = start_tracker(self.policy)
            self.retired.pop(group, None)
            if floor is not None:
                self.floors[group] = floor
            tracker.see(value)
            self._enter(group)
        else:
            tracker.see(value)
            if group in self._unbound:
                self._enter_bound(group)
        self.moved.add(group)
        self.greatest = greater(self.greatest, value)

    def _retire(self, group: Value) -> None:
        bound = self.bound_of(group)
        del self.trackers[group]
        self.floors.pop(group, None)
        self.moved.discard(group)
        self._unbound.discard(group)
        self._by_bound.leave(group)
        self._by_greatest.leave(group)
        if bound is not None:  # few rows (slack by rows) hold the rest back, yet this much may be promised
            self.retired[group] = bound

    def _idle(self, tracker: Tracker) -> bool:
        if self.idle is None or self.greatest is None or tracker.greatest is None:
            return False
        return tracker.greatest < self.greatest - self.idle

    def bound_of(self, group: Value) -> Bound | None:
        """The bound of an active group: its policy's, or where it resumed if that is greater."""
        return greater(self.trackers[group].bound, self.floors.get(group))

    def _advance_rest(self) -> Bound | None:
        """The least active bound; groups that have been idle for too long retire here."""
        if self.is_independent:
            return None
        while (last := self._by_greatest.find(self._greatest_of)) is not None and self._idle(self.trackers[last[0]]):
            self._retire(last[0])
        if self._unbound:
            return self.rest
        slowest = self._by_bound.find(self.bound_of)
        if slowest is not None and (self.rest is None or slowest[1] > self.rest):
            self.rest = least = slowest[1]
            self.retired = {g: b for g, b in self.retired.items() if b > least}
        return self.rest

    def _greatest_of(self, group: Value) -> Bound | None:
        return self.trackers[group].greatest

    def promises(self) -> Iterator[Punctuation]:
        return one_by_one(self.together())

    def together(self) -> Iterator[Promise]:
        rest = self._advance_rest()
        if rest is not None and self.due(rest, self.given_rest):
            self.given_rest = rest
            self.given = {g: b for g, b in self.given.items() if b > rest}
            yield Punctuation({self.attribute: rest})  # no active bound is below it: it holds for all
        bounds = {g: b for g in self.trackers if g in self.moved and (b := self.bound_of(g)) is not None}
        self.moved.clear()
        get = self.given.get
        new = {g: b for g, b in bounds.items() if self.due(b, get(g, self.given_rest))}
        self.given.update(new)
        if new:
            yield GroupPromises((self.by,), self.attribute, new)

    def so_far(self) -> Iterator[Punctuation]:
        if self.given_rest is not None:
            yield Punctuation({self.attribute: self.given_rest})
        for group, bound in self.given.items():
            yield Punctuation({self.attribute: bound}, {self.by: group})

    def slowest(self) -> list[Value]:
        """The active groups that hold the rest back: those about which least can be promised."""
        bounds = {g: self.bound_of(g) for g in self.trackers}
        least = min((-math.inf if b is None else b for b in bounds.values()), default=None)
        return [g for g, b in bounds.items() if (-math.inf if b is None else b) == least]

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
            tracker = self.trackers[group_value(group)] = start_tracker(self.policy)
            tracker.restore(saved)
        self.floors = {group_value(g): b for g, b in state["floors"]}
        self.retired = {group_value(g): b for g, b in state["retired"]}
        self.given = {group_value(g): b for g, b in state["given"]}
        self.greatest, self.rest, self.given_rest = state["scalars"]
        self._enter_all()


class ClockedGroups(Grouped):
    """timer by group: each tick takes a picture of the groups' bounds; a lull is one of the whole source.

    Between two ticks the picture alone is in force, for the rest as well.
    """

    ticks = True

    def __init__(self, policy: Timer, attribute: str) -> None:
        super().__init__(policy, attribute)
        self.clock = Clocked(policy, attribute)
        self.picture: dict[Value, Bound] = {}
        self.picture_rest: Bound | None = None

    def _observe(self, value: Bound, group: Value) -> Bound | None:
        bound = greater(self.clock.ticked, self.picture.get(group, self.picture_rest))
        if not no_time(value) and (bound is None or value >= bound):
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

    def together(self) -> Iterator[Promise]:
        rest = greater(self.clock.ticked, self.picture_rest)
        if rest is not None and (self.given_rest is None or rest > self.given_rest):
            self.given_rest = rest
            self.given = {g: b for g, b in self.given.items() if b > rest}
            yield Punctuation({self.attribute: rest})
        new = {}
        for group, bound in self.picture.items():
            given = greater(self.given.get(group), self.given_rest)
            if given is None or bound > given:
                new[group] = bound
        self.given.update(new)
        if new:
            yield GroupPromises((self.by,), self.attribute, new)

    def state(self) -> Any:
        picture = [list(self.picture.items()), self.picture_rest]
        return {**super().state(), "clock": self.clock.state(), "picture": picture}

    def restore(self, state: Any) -> None:
        super().restore(state)
        self.clock.restore(state["clock"])
        groups, self.picture_rest = state["picture"]
        self.picture = {group_value(g): b for g, b in groups}
