"""When a box last promised, and how long a promise that came to it waited: what a monitor notes (OOP paper, section
5.1: "timer-driven punctuation also serves to detect operator failure and monitor query latency").

A pulse costs a look at the clock for each promise that comes or leaves, so boxes have one only if it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oop.engines.embedded.boxes import Box
from oop.punctuation import END, GroupPromises, Punctuation
from oop.punctuation.group_promises import Promise
from oop.punctuation.patterns import Bound


class Pulse:
    """The pulse of one box. ``since`` is when it last promised, or when the run began. ``waiting`` is when the first
    promise came that it has not answered by one of its own."""

    def __init__(self, box: Box, now: Callable[[], Bound]) -> None:
        self.box, self.now = box, now
        self.since = now()
        self.waiting: Bound | None = None
        self.said: Promise | None = None
        self.answers, self.total, self.longest = 0, 0.0, 0.0
        self.rows, self.batches = 0, 0  # how many had been put out at that time
        self._place = self._how_far()

    def came(self) -> None:
        """A promise has come in."""
        if self.waiting is None:
            self.waiting = self.now()

    def left(self, promise: Promise) -> None:
        """A promise leaves."""
        now = self.now()
        if self.waiting is not None:
            took = float(now - self.waiting)
            self.answers, self.total, self.longest = self.answers + 1, self.total + took, max(self.longest, took)
            self.waiting = None
        self.said = promise
        self._spoke(now)

    def _spoke(self, now: Bound) -> None:
        self.since, self.rows, self.batches = now, self.box.rows_out, self.box.batches_out

    def look(self, now: Bound) -> None:
        """An input also makes promises that help nobody and do not leave it; they count as speaking."""
        place = self._how_far()
        if place != self._place:
            self._place = place
            self._spoke(now)

    def _how_far(self) -> Any:
        if not self.box.node.is_source:
            return None
        operator = self.box.input_operator
        given = operator.ports.frontiers[0].bound(operator.spec.time)
        # within a batch, a policy without groups also makes promises that its gate never sees
        return self.box.promises_in, given, operator.gate.offered, *(p.promised for p in operator.progress)

    @property
    def promised(self) -> Punctuation | None:
        """The last promise that was new. If it was about several groups, the promise about the last of them."""
        if self.box.frontier.ended:
            return END
        stamps = self.box.stamps  # inputs have stamps, because some of their promises help nobody and do not leave
        said = self.said if stamps is None else stamps.last
        return list(said)[-1] if isinstance(said, GroupPromises) else said
