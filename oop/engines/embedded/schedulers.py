"""Schedulers decide which box runs next, and how many rows it takes (as in the Scheduling paper).

A scheduler is an object with one method: `turn` takes the boxes of a plan, inputs first, and gives one round of
(box, rows).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Protocol

from oop.engines.embedded.boxes import Box


class Scheduler(Protocol):
    """A scheduler that has a number ``train`` also limits by it how many rows a source joins into one batch."""

    def turn(self, boxes: Sequence[Box]) -> Iterable[tuple[Box, int | None]]:
        """One round: each box to run, with the most rows that it takes (None: all that wait, up to a turn)."""
        ...


class MinCost:
    """The whole plan is one superbox, which is traversed so that each box is called as seldom as possible: a box runs
    after all boxes that feed it, on all rows that wait, up to a turn (Scheduling paper, section 4.1.2: Min-Cost).

    >>> MinCost()
    MinCost()
    """

    joins_boxes = True
    """May boxes become one program, so that they have no turns of their own (`superbox.py`)?"""

    def turn(self, boxes: Sequence[Box]) -> Iterable[tuple[Box, int | None]]:
        """One round: every box takes all that waits.

        >>> list(MinCost().turn(["source", "filter"]))
        [('source', None), ('filter', None)]
        """
        return zip(boxes, repeat(None))

    def __repr__(self) -> str:
        return "MinCost()"


class RoundRobin:
    """Every box in turn, each taking a train of at most ``train`` rows (Scheduling paper, section 4.2: trains).

    >>> RoundRobin(train=1000)
    RoundRobin(train=1000)
    """

    def __init__(self, train: int = 65_536) -> None:
        if train < 1:
            raise ValueError(f"a train has at least one row, not {train}")
        self.train = train
        self._first = 0

    def turn(self, boxes: Sequence[Box]) -> Iterator[tuple[Box, int | None]]:
        """One round: every box takes a train.

        >>> rounds = RoundRobin(train=10)
        >>> list(rounds.turn(["source", "filter"])), list(rounds.turn(["source", "filter"]))
        ([('source', 10), ('filter', 10)], [('filter', 10), ('source', 10)])
        """
        # the round begins one box further each time, so that no box is always last
        for i in range(len(boxes)):
            yield boxes[(self._first + i) % len(boxes)], self.train
        self._first = (self._first + 1) % max(1, len(boxes))

    def __repr__(self) -> str:
        return f"RoundRobin(train={self.train})"
