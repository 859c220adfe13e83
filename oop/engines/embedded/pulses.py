"""A pulse notes when a box last promised, and how long a promise that came to it waited (OOP paper, section 5.1:
"timer-driven punctuation also serves to detect operator failure and monitor query latency").

A pulse costs a look at the clock for each promise that comes or leaves, so boxes have one only with `silent_for=`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oop.engines.embedded.boxes import Box
from oop.punctuation import END, GroupPromises, Punctuation
from oop.punctuation.group_promises import Promise
from oop.punctuation.patterns import Bound


class Pulse:
    """The pulse of one box. ``since`` is when the box last promised, or when the run began. ``waiting`` is when the
    first promise came that the box has not answered by one of its own."""

    def __init__(self, box: Box, now: Callable[[], Bound]) -> None:
        self.box, self.now = box, now
        self.since = now()
        self.waiting: Bound | None = None
        self.said: Promise | None = None
        self.answers, self.total, self.longest = 0, 0.0, 0.0
        self.rows, self.batches = 0, 0  # how many the box had put out at the time ``since``
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
        """Note that an input has promised more, even if the promise helps no consumer and does not leave it."""
        place = self._how_far()
        if place != self._place:
            self._place = place
            self._spoke(now)

    def _how_far(self) -> Any:
        if not self.box.node.is_source:
            return None
        operator = self.box.input_operator
        given = operator.ports.frontiers[0].bound(operator.spec.time)
        # what policies have promised is read too, because one without groups also makes promises within a batch, which
        # its gate never sees
        return self.box.promises_in, given, operator.gate.offered, *(p.promised for p in operator.progress)

    @property
    def promised(self) -> Punctuation | None:
        """The last promise that was new. Of a promise about several groups, the part about the last group."""
        if self.box.frontier.ended:
            return END
        stamps = self.box.stamps  # inputs have stamps, which also note promises that do not leave the input
        said = self.said if stamps is None else stamps.last
        return list(said)[-1] if isinstance(said, GroupPromises) else said
