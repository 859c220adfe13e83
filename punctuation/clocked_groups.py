"""The policy `timer` by group: what the groups' rows imply, as the last tick of the wall clock saw it (OOP paper,
A.1.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from oop.punctuation.patterns import Bound, Value
from oop.punctuation.policy_fields import PolicyFields
from oop.punctuation.progress import Clocked
from oop.punctuation.progress_groups import GroupedProgress
from oop.punctuation.trackers import greater, no_time


class ClockedGroups(GroupedProgress):
    """The running policy `timer` by group: each tick takes a picture of the groups' bounds. A lull is one of the whole
    source.

    Between two ticks the picture alone is in force, for the rest as well. A tick looks only at the groups that had rows
    since the last one, and at those that retire.
    """

    ticks: ClassVar[bool] = True

    def __init__(self, policy: PolicyFields, attribute: str, lull: Bound) -> None:
        super().__init__(policy, attribute)
        self.clock = Clocked(policy, attribute, lull)
        self.picture: dict[Value, Bound] = {}
        self.picture_rest: Bound | None = None
        # groups whose bounds in the picture are new since promises were last asked for
        self.pictured: dict[Value, None] = {}

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
        new = dict(super()._news())
        self.picture.update(new)
        self.pictured.update(dict.fromkeys(new))

    def _retire(self, group: Value) -> None:
        super()._retire(group)
        self.picture.pop(group, None)
        self.pictured.pop(group, None)

    def due(self, bound: Bound | None, promised: Bound | None) -> bool:
        return self.clock.due(bound, promised)

    def _rest_now(self) -> Bound | None:
        return greater(self.clock.ticked, self.picture_rest)

    def _news(self) -> Iterator[tuple[Value, Bound]]:
        for group in self.pictured:
            yield group, self.picture[group]
        self.pictured.clear()

    def state(self) -> Any:
        picture = [list(self.picture.items()), self.picture_rest, list(self.pictured)]
        return {**super().state(), "clock": self.clock.state(), "picture": picture}

    def restore(self, state: Any) -> None:
        super().restore(state)
        self.clock.restore(state["clock"])
        groups, self.picture_rest, new = state["picture"]
        self.picture = dict(self._read(groups))
        self.pictured = dict.fromkeys(map(self._key, new))
