"""Arcs: the queues between boxes (Aurora's word for an edge of the network), in which small batches become trains.

On their way to other threads rows may overtake promises; promises never overtake rows.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, TypeGuard, TypeVar

import pyarrow as pa

from oop.operators.core.batches import BATCH_ROWS, TRAIN_ROWS, can_join, concat
from oop.operators.core.marks import route_of, without_route
from oop.operators.core.operator import Element
from oop.punctuation import GroupPromises, Punctuation
from oop.punctuation.group_promises import Advance, Promise

BoxT = TypeVar("BoxT")
"""What an arc leads to: a `Box`, which is built on this module."""
OVERTAKING_ROWS = BATCH_ROWS  # rows that cross to other threads from behind a promise, at most


class Arc(Generic[BoxT]):
    """A queue from a box to one port of another, or to the reader of the result (``target`` is None). ``route`` is the
    output of a split that the arc carries. Batches that are joined here have at most ``batch_rows`` together."""

    def __init__(self, target: BoxT | None, port: int, route: int | None, batch_rows: int = BATCH_ROWS) -> None:
        self.batch_rows = batch_rows
        self.target = target
        self.port = port
        self.route = route
        self.queue: deque[Element] = deque()
        self.queued_rows = 0
        self.peak_rows = 0
        self.rows = 0
        self.promises = 0
        self.queued_promises = 0

    def put(self, element: Element) -> None:
        if isinstance(element, pa.RecordBatch):
            if self.route is not None:
                if route_of(element) != self.route:
                    return
                element = without_route(element)
            self.rows += element.num_rows
            self.queued_rows += element.num_rows
            self.peak_rows = max(self.peak_rows, self.queued_rows)
        else:
            self.promises += 1 if isinstance(element, Punctuation) else len(element)
            self.queued_promises += 1
        self.queue.append(element)

    def take_advance(self) -> Advance:
        """The promises at the head of the queue; none if rows are there. A promise about all rows comes alone. Promises
        about groups come together if they stand in a row, because a source promises about all its groups in a row."""
        first = self.queue[0]
        if isinstance(first, pa.RecordBatch):
            return ()
        if isinstance(first, Punctuation) and not first.where:
            self.queue.popleft()
            self.queued_promises -= 1
            return (first,)
        found: list[Promise] = []
        while self.queue and _is_promise(promise := self.queue[0]):
            if isinstance(promise, Punctuation) and not promise.where:
                break
            found.append(promise)
            self.queue.popleft()
        self.queued_promises -= len(found)
        return found

    def take_element(self) -> Element:
        """The next element: a promise, or rows as `take` gives them."""
        element = self.queue[0]
        if isinstance(element, pa.RecordBatch):
            return self.take()
        self.queue.popleft()
        self.queued_promises -= 1
        return element

    def drop_promises(self) -> None:
        """Drop the promises at the head of the queue, for a reader who wants only rows."""
        queue = self.queue
        while queue and not isinstance(queue[0], pa.RecordBatch):
            queue.popleft()
            self.queued_promises -= 1

    def take(self) -> pa.RecordBatch:
        """The next rows. Small batches that stand in a row are joined, never across a promise."""
        first = self.queue[0]
        assert isinstance(first, pa.RecordBatch)
        if len(self.queue) == 1 or first.num_rows >= TRAIN_ROWS or not isinstance(self.queue[1], pa.RecordBatch):
            # most batches have nothing to be joined with
            self.queued_rows -= first.num_rows
            self.queue.popleft()
            return first
        batches = self.take_batches(TRAIN_ROWS)
        whole = concat(batches)
        if whole is not None:
            return whole
        self.queue.extendleft(reversed(batches[1:]))
        self.queued_rows += sum(batch.num_rows for batch in batches[1:])
        return batches[0]

    def take_batches(self, enough: int) -> list[pa.RecordBatch]:
        """The next batches, up to a promise, to a batch that cannot be joined with them, or to ``enough`` rows."""
        batches: list[pa.RecordBatch] = []
        rows = 0
        while self.queue and rows < enough:
            following = self.queue[0]
            if not isinstance(following, pa.RecordBatch) or (batches and not can_join(batches[0], following)):
                break
            if batches and rows + following.num_rows > self.batch_rows:
                break
            self.queue.popleft()
            batches.append(following)
            rows += following.num_rows
        self.queued_rows -= rows
        return batches

    def take_past_promises(self, enough: int) -> tuple[list[pa.RecordBatch], list[Punctuation]]:
        """The next batches, also from behind linear promises, and the promises that were passed. Of several promises
        about an attribute only the last is given, because it implies the earlier ones. Only a limited number of rows
        may overtake, because a promise should not wait long."""
        batches: list[pa.RecordBatch] = []
        promises: dict[str, Punctuation] = {}
        rows = 0
        while self.queue and rows < enough:
            following = self.queue[0]
            if isinstance(following, pa.RecordBatch):
                if batches and not can_join(batches[0], following):
                    break
                batches.append(following)
                rows += following.num_rows
            elif batches and isinstance(following, Punctuation) and len(following.below) == 1 and not following.where:
                promises.update(dict.fromkeys(following.below, following))
                self.queued_promises -= 1
                enough = min(enough, rows + OVERTAKING_ROWS)
            else:
                break
            self.queue.popleft()
        self.queued_rows -= rows
        return batches, list(promises.values())


def _is_promise(element: Element) -> TypeGuard[Promise]:
    return isinstance(element, Punctuation | GroupPromises)


def count_promises(promise: Promise) -> int:
    return len(promise) if isinstance(promise, GroupPromises) else 1
