"""Running policies by group: a bound for each group, and one for the rest, that is for all groups without their own
(OOP paper, A.1.1).

The cost of a step depends on the groups that changed, not on how many there are. The group with the least active bound
and the next one to retire are on heaps (`slowest.py`), bounds that the rest has passed are dropped from time to time
(`above.py`), and only groups that had rows since are asked for promises.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, ClassVar

from oop.punctuation.above import Above
from oop.punctuation.group_promises import GroupPromises, Promise, one_by_one, where
from oop.punctuation.named_groups import as_group
from oop.punctuation.patterns import Bound, Value
from oop.punctuation.policy_fields import PolicyFields
from oop.punctuation.progress import Progress
from oop.punctuation.promise import Punctuation
from oop.punctuation.remembered import ABSENT, Remembered
from oop.punctuation.slowest import Slowest
from oop.punctuation.trackers import Tracker, greater, no_time, number


class GroupedProgress(Progress):
    """A tracker for each group, and the rest: ordered and slack, by group.

    Active groups hold the rest back: the rest's bound is the least bound of an active group. With ``groups`` these
    groups are always active and others never are. With ``idle`` a group is active from its first row until the stream's
    greatest value is more than ``idle`` ahead of the group's.
    """

    joins_batches: ClassVar[bool] = False

    def __init__(self, policy: PolicyFields, attribute: str) -> None:
        super().__init__(policy, attribute)
        self.columns = policy.columns
        self.idle = number(policy.idle)
        self.fixed = policy.groups is not None
        self.trackers: dict[Value, Tracker] = {self._key(g): policy.tracker() for g in policy.groups or ()}
        self.floors: dict[Value, Bound] = {}  # where a group that came back resumed
        self.retired = Above()  # bounds of retired groups that the rest, which is its floor, has not reached yet
        self.given = Above()  # what was promised; its floor is what was promised about all rows
        self.greatest: Bound | None = None
        self.moved = dict.fromkeys(self.trackers)  # groups with rows since promises were last asked for
        self._remembered: Remembered | None = None
        self._enter_all()

    def _key(self, group: Value) -> Value:
        return as_group(group, len(self.columns) > 1)

    def _enter_all(self) -> None:
        """Derive what is known of the groups from their trackers and floors."""
        self._unbound: set[Value] = set()  # active groups about which nothing can be promised
        self._by_bound = Slowest()  # finds the active group with the least bound, which is the rest's
        self._by_greatest = Slowest()  # finds the group that has been silent for longest, and so retires first
        for group in self.trackers:
            self._enter(group)

    def _enter(self, group: Value) -> None:
        """Take an active group into account for the rest."""
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
    def is_independent(self) -> bool:  # type: ignore[override]
        """Without a rest, groups have nothing to do with each other."""
        return not self.fixed and self.idle is None

    def active(self, groups: Sequence[Value]) -> list[Tracker] | None:
        """The trackers of these groups; None if one is not active, unless there is no rest: then it becomes active.
        After the trackers have seen rows, `saw` must be called."""
        if not self.is_independent and not self.trackers.keys() >= set(groups):
            return None
        if self._remembered is not None:
            for group in groups:
                self._note(self._remembered, group)
        trackers = self.trackers
        for group in groups:
            if group not in trackers:
                trackers[group] = self.policy.tracker()
        return [trackers[group] for group in groups]

    def saw(self, groups: Iterable[Value], greatest: Bound) -> None:
        """The trackers of these groups have seen rows up to ``greatest``."""
        self.greatest = greater(self.greatest, greatest)
        self.moved.update(dict.fromkeys(groups))
        for group in self._unbound.intersection(groups):
            self._enter_bound(group)

    def observe(self, values: Iterable[Bound], groups: Iterable[Value] | None = None) -> list[Bound | None]:
        assert groups is not None
        before = []
        for value, group in zip(values, groups, strict=True):
            before.append(self._observe(value, self._key(group)))
        return before

    def _observe(self, value: Bound, group: Value) -> Bound | None:
        if group in self.trackers and self._idle(self.trackers[group]):
            self._retire(group)
        if group in self.trackers:
            bound = self.bound_of(group)
        else:
            self._advance_rest()
            bound = self.retired.at(group)
        if not no_time(value) and (bound is None or value >= bound):
            self._see(value, group, bound)
        return bound

    def _see(self, value: Bound, group: Value, floor: Bound | None) -> None:
        if self._remembered is not None:
            self._note(self._remembered, group)
        tracker = self.trackers.get(group)
        if tracker is None:
            if self.fixed:
                return
            tracker = self.trackers[group] = self.policy.tracker()
            self.retired.drop(group)
            if floor is not None:
                self.floors[group] = floor
            tracker.see(value)
            self._enter(group)
        else:
            tracker.see(value)
            if group in self._unbound:
                self._enter_bound(group)
        self.moved[group] = None
        self.greatest = greater(self.greatest, value)

    def _retire(self, group: Value) -> None:
        if self._remembered is not None:
            self._note(self._remembered, group)
        bound = self.bound_of(group)
        del self.trackers[group]
        self.floors.pop(group, None)
        self.moved.pop(group, None)
        self._leave(group)
        if bound is not None:  # the rest may be held back by other groups, but this still holds for this group
            self.retired.update({group: bound})

    def _leave(self, group: Value) -> None:
        """The group no longer counts for the rest."""
        self._unbound.discard(group)
        self._by_bound.leave(group)
        self._by_greatest.leave(group)

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
        slowest = None if self._unbound else self._by_bound.find(self.bound_of)
        if slowest is not None and (self.rest is None or slowest[1] > self.rest):
            self.retired.raise_to(slowest[1], prune=self._remembered is None)
        return self.rest

    @property
    def rest(self) -> Bound | None:
        """What holds for groups that are not active."""
        return self.retired.floor

    def _greatest_of(self, group: Value) -> Bound | None:
        return self.trackers[group].greatest

    def promises(self) -> Iterator[Punctuation]:
        return one_by_one(self.together())

    def together(self) -> Iterator[Promise]:
        self._remembered = None
        rest = self._rest_now()
        if self.due(rest, self.given.floor):
            assert rest is not None
            self.given.raise_to(rest)
            yield Punctuation({self.attribute: rest})  # no active bound is below it: it holds for all
        given = self.given.at
        new = {g: b for g, b in self._news() if self.due(b, given(g))}
        self.given.update(new)
        if new:
            yield GroupPromises(self.columns, self.attribute, new)

    def _rest_now(self) -> Bound | None:
        """What can be promised about all rows."""
        return self._advance_rest()

    def _news(self) -> Iterator[tuple[Value, Bound]]:
        """The groups whose bounds may have changed since this was last asked for."""
        for group in self.moved:
            bound = self.bound_of(group)
            if bound is not None:
                yield group, bound
        self.moved.clear()

    def so_far(self) -> Iterator[Punctuation]:
        if self.given.floor is not None:
            yield Punctuation({self.attribute: self.given.floor})
        for group, bound in self.given.items():
            yield Punctuation({self.attribute: bound}, where(self.columns, group))

    def trackers_now(self) -> Collection[Tracker]:
        return self.trackers.values()

    def told_groups(self) -> Iterable[Value]:
        return (group for group, _ in self.given.items())

    def slowest(self) -> list[Value]:
        """The active groups that hold the rest back: those about which least can be promised."""
        bounds = {g: self.bound_of(g) for g in self.trackers}
        least = min((-math.inf if b is None else b for b in bounds.values()), default=None)
        return [g for g, b in bounds.items() if (-math.inf if b is None else b) == least]

    def remember(self) -> Remembered:
        """What `go_back` needs: it notes the groups that change from now on, and not all that there are."""
        self._remembered = Remembered(self.greatest, self.rest)
        return self._remembered

    def _note(self, mark: Remembered, group: Value) -> None:
        """The group is about to change."""
        if group not in mark.groups:
            tracker = self.trackers.get(group)
            seen = ABSENT if tracker is None else tracker.state()
            mark.groups[group] = seen, self.floors.get(group), self.retired.own(group)

    def go_back(self, mark: Remembered) -> None:
        self._remembered = None
        self.greatest, self.retired.floor = mark.greatest, mark.rest
        for group, (seen, floor, retired) in mark.groups.items():
            for known in (self.trackers, self.floors, self.moved):
                known.pop(group, None)
            self._leave(group)
            self.retired.drop(group)
            if retired is not None:
                self.retired.update({group: retired})
            if floor is not None:
                self.floors[group] = floor
            if seen is not ABSENT:
                self.trackers[group] = self.policy.tracker()
                self.trackers[group].restore(seen)
                self.moved[group] = None  # it may have been there: then its bound is still to be promised
                self._enter(group)

    def state(self) -> Any:
        return {
            "trackers": [(g, t.state()) for g, t in self.trackers.items()],
            "floors": list(self.floors.items()),
            "retired": list(self.retired.items()),
            "given": list(self.given.items()),
            "moved": list(self.moved),
            "scalars": [self.greatest, self.rest, self.given.floor],
        }

    def restore(self, state: Any) -> None:
        self.trackers = {}
        for group, saved in state["trackers"]:
            tracker = self.trackers[self._key(group)] = self.policy.tracker()
            tracker.restore(saved)
        self.greatest, rest, given_rest = state["scalars"]
        self.floors = dict(self._read(state["floors"]))
        self.retired = Above(rest, self._read(state["retired"]))
        self.given = Above(given_rest, self._read(state["given"]))
        self.moved = dict.fromkeys(map(self._key, state["moved"]))
        self._enter_all()

    def _read(self, bounds: Iterable[tuple[Value, Bound]]) -> Iterator[tuple[Value, Bound]]:
        return ((self._key(group), bound) for group, bound in bounds)
