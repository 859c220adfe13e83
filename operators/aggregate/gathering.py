"""Rows on their way to another process are gathered into partial aggregates, so that fewer are encoded and shuffled.

This is the low-level half of two-level aggregation (OOP paper, section 6) for rows that all leave soon, at the end of a
task: nothing waits for a promise, so no partial has to make way for another one. The groups are held as an aggregate
holds its own (`operators/groups/store.py`), and a program fills them in the same way. All of them leave when they are
many. If rows hardly become fewer, because almost each is a group of its own, they pass as they are for a while.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from oop.frozen import frozen
from oop.operators.core.keys import read_key
from oop.operators.core.marks import is_late, mark_partial
from oop.operators.core.partials import Partials
from oop.operators.groups.shape import Shape
from oop.operators.groups.store import Store
from oop.operators.groups.targets import StoreTargets


@frozen()
class GatheringLimits:
    """It is judged after the ``first`` rows whether they become fewer, and more closely after the first ``enough``.

    ``repeats`` is the share of rows that must find their group there, or the groups are too many. ``worth`` is the most
    partials for each row that pay. ``most`` groups are held. ``passing`` rows pass before it is tried again, each
    further time twice as many.
    """

    first: int = 1 << 16
    enough: int = 1 << 18
    repeats: float = 1 / 4
    worth: float = 0.5
    most: int = 1 << 17
    passing: int = 1 << 22


LIMITS = GatheringLimits()
"""A row that leaves is encoded and shuffled. More groups would need more memory than the processor has close by
(`benchmarks/spark.py`)."""


class Gathering:
    """The partial aggregates of the rows that have come, until they leave."""

    def __init__(self, partials: Partials[Shape], limits: GatheringLimits = LIMITS) -> None:
        self.partials, self.limits = partials, limits
        self.store = Store(partials.shape)
        self.targets = StoreTargets(self.store)
        """Where a program puts rows; `took` must follow."""
        self.passing = 0
        """How many rows still pass."""
        self._given_up = 0
        self._rows = self._made = 0  # since rows were last judged; partials that have left count

    def take(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Partials that leave, or the rows themselves. Late rows pass: whether one still counts is known only where
        the groups live."""
        if is_late(batch):
            yield batch
        elif self.passing:
            self.passed(batch.num_rows)
            yield batch
        elif batch.num_rows:
            shape = self.partials.shape
            keys = [read_key(batch.column(name)) for name in shape.keys]
            self.store.update(self.partials.slots(batch), keys, shape.prepare(batch))
            yield from self.took(batch.num_rows)

    def passed(self, rows: int) -> None:
        """So many rows have passed."""
        self.passing = max(0, self.passing - rows)

    def took(self, rows: int) -> Iterator[pa.RecordBatch]:
        """So many rows have come. The result is the partials that leave: all, if they are many, or of no use."""
        limits, held = self.limits, self.store.held
        self._rows += rows
        rows = self._rows
        if rows >= limits.first:
            made, closer = self._made + held, rows >= limits.enough
            if rows - made < limits.repeats * rows or (closer and made > limits.worth * rows):
                self.passing = limits.passing << self._given_up
                self._given_up += 1
                yield from self.drain()
                self._rows = self._made = 0
                return
            if closer:
                self._rows, self._made = 0, -held
        if held >= limits.most:
            yield from self.drain()

    def drain(self) -> Iterator[pa.RecordBatch]:
        """All partials leave."""
        store, shape = self.store, self.partials.shape
        self._made += store.held
        for number in sorted(store.tables):
            table = store.take_where(number, np.ones(len(store.tables[number]), np.bool_))
            if table is not None:
                keys = list(table.key_arrays().values())
                yield mark_partial(shape.to_batch(table.slots(), keys, table.accumulators, self.partials.slot_name))
