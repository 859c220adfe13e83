"""Rows are gathered into partial aggregates, which all leave soon: at the end of a task, or with their window.

This is the low-level half of two-level aggregation (OOP paper, section 6) without slots: nothing is evicted. Partials
leave with their window, at the end of a task, or all together when there are too many. The groups are held as an
aggregate holds its own (`operators/groups/store.py`), and a program fills them in the same way. If rows hardly become
fewer, because almost each is a group of its own, they pass as they are for a while.
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
from oop.operators.groups.table import Table
from oop.operators.groups.targets import StoreTargets


@frozen()
class GatheringLimits:
    """When gathering is given up: after ``first`` rows, if fewer than the share ``repeats`` of them found their group.
    After ``enough`` rows also if there are more than ``worth`` partials per row; then counting begins anew.

    All partials leave when ``most`` groups are held. When gathering was given up, ``passing`` rows pass before it is
    tried again, each further time twice as many.
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
        self.targets = GatheringTargets(self)
        """Where a program puts rows; `settle` must follow."""
        self.rows_to_pass = 0
        """How many rows still pass."""
        self._times_given_up = 0
        self._rows = self._made = 0  # since rows were last judged; partials that have left count
        self._reduced = self._partials_out = 0  # in all

    @property
    def note(self) -> str:
        """What has become of rows so far, in words."""
        state = "; rows pass: almost each is a group of its own" if self.rows_to_pass else ""
        return f"{self._reduced:,} rows became {self._partials_out + self.store.held:,} partials{state}"

    @property
    def numbers(self) -> list[int]:
        """What is to be saved beside the groups."""
        judged = [self.rows_to_pass, self._times_given_up, self._rows, self._made]
        return [*judged, self._reduced, self._partials_out]

    @numbers.setter
    def numbers(self, saved: list[int]) -> None:
        self.rows_to_pass, self._times_given_up, self._rows, self._made = saved[:4]
        self._reduced, self._partials_out = saved[4:]

    def slots(self) -> set[int]:
        """The slots that something is held of."""
        return {int(slot) for table in self.store.tables.values() for slot in np.unique(table.slots())}

    def least(self) -> int | None:
        """The first of them."""
        if not self.store.tables:
            return None
        table = self.store.tables[min(self.store.tables)]
        return int(table.slots().min()) if table.slotted else table.slot

    def take(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Partials that leave, or the rows themselves. Late rows pass: whether one still counts is known only where
        the groups live."""
        if is_late(batch):
            yield batch
        elif self.rows_to_pass:
            self.rows_to_pass = max(0, self.rows_to_pass - batch.num_rows)
            yield batch
        elif batch.num_rows:
            shape = self.partials.shape
            keys = [read_key(batch.column(name)) for name in shape.keys]
            self.store.update(self.partials.slots(batch), keys, shape.prepare(batch))
            self.came(batch.num_rows)
            yield from self.settle()

    def came(self, rows: int) -> None:
        """So many rows have come into the groups."""
        self._rows += rows
        self._reduced += rows

    def settle(self) -> Iterator[pa.RecordBatch]:
        """The partials that leave because rows have come: all, if they are many, or of no use."""
        limits, held, rows = self.limits, self.store.held, self._rows
        if rows >= limits.first:
            made, closer = self._made + held, rows >= limits.enough
            if rows - made < limits.repeats * rows or (closer and made > limits.worth * rows):
                self.rows_to_pass = limits.passing << self._times_given_up
                self._times_given_up += 1
                yield from self.drain()
                self._rows = self._made = 0
                return
            if closer:
                self._rows, self._made = 0, -held
        if held >= limits.most:
            yield from self.drain()

    def drain(self) -> Iterator[pa.RecordBatch]:
        """All partials leave."""
        store = self.store
        for number in sorted(store.tables):
            table = store.take_where(number, np.ones(len(store.tables[number]), np.bool_))
            if table is not None:
                yield self._leaving(table)

    def leave_below(self, bound: int) -> Iterator[pa.RecordBatch]:
        """The partials of slots below the bound leave, where a slot is a window."""
        return map(self._leaving, self.store.take_below(bound))

    def _leaving(self, table: Table) -> pa.RecordBatch:
        self._made += len(table)
        self._partials_out += len(table)
        keys = list(table.key_arrays().values())
        slot_name = self.partials.slot_name
        return mark_partial(self.partials.shape.to_batch(table.slots(), keys, table.accumulators, slot_name))


class GatheringTargets(StoreTargets):
    """Where a program's rows go."""

    def __init__(self, gathering: Gathering) -> None:
        super().__init__(gathering.store)
        self.gathering = gathering

    @property
    def fits(self) -> bool:
        return not self.gathering.rows_to_pass

    def took(self, numbers: list[int], rows: list[int]) -> None:
        super().took(numbers, rows)
        self.gathering.came(sum(rows))
