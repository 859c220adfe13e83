"""Rows are reduced to partial aggregates where this pays: the table of a `Preaggregate`, sized by what it sees.

A size that was given stays. Any other grows while aggregates of one window are in each other's way. If rows hardly
become fewer, because almost each is a group of its own, they pass as they are for a while.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from oop.frozen import frozen
from oop.kernels.signatures.flush import Discipline
from oop.operators.aggregate.flush import Flush
from oop.operators.core.batches import BATCH_ROWS
from oop.operators.core.marks import is_late
from oop.operators.core.partials import Partials
from oop.operators.groups.partial_table import PartialTable

_GROWTH = 4
_COLLIDED = 1 / 16  # of the rows: so many collisions show that a table is too small
_PASSING = 4_194_304  # rows that pass before it is tried again; each further time twice as many


@frozen()
class Sizing:
    """The first and the greatest size of a table. ``repeats`` is the share of rows that must find their group
    there, or the groups are too many for any table; ``worth`` is the most partials for each row that pay."""

    least: int
    most: int
    repeats: float
    worth: float


HERE = Sizing(1 << 14, 1 << 16, 1 / 8, 0.2)
"""In one process, where a look-up that misses the cache costs more than it saves."""


class Reducing:
    """``table`` is None while rows pass, and before the first row."""

    def __init__(self, partials: Partials, flush: Flush, sizing: Sizing = HERE, in_order: bool = False) -> None:
        self.partials, self.sizing = partials, sizing
        self.slots = flush.slots
        self.discipline = Discipline(in_order, 0 if in_order else flush.i, flush.next_slot)
        if self.slots is None:
            self.discipline = replace(self.discipline, next_slot=True)  # footnote 1: the better policy
        self.by_time = not flush.m and not in_order  # no partial waits until it is in the way
        self.size = self.slots or sizing.least
        self.batch_rows = BATCH_ROWS
        self.table: PartialTable | None = None
        self.bound: int | None = None
        self.passing = 0  # rows that still pass
        self.passed = self.reduced = 0
        self._given_up = 0
        self._rows = self._made = self._collided = 0  # since the table was last judged
        if self.slots is not None:
            self._started()  # before the first row: making a large table takes a while

    @property
    def note(self) -> str:
        """What has become of rows so far, in words."""
        made = self._made + (0 if self.table is None else self.table.made)
        state = f"{self.size:,} slots" if not self.passing else "rows pass: almost each is a group of its own"
        return f"{self.reduced:,} rows became {made:,} partials, {self.passed:,} passed; {state}"

    def take(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Partials that leave, or the rows themselves. Late rows pass: whether one still counts is known only where
        the groups live."""
        if is_late(batch):
            yield batch
            return
        if self.passing:
            self.passing = max(0, self.passing - batch.num_rows)
            self.passed += batch.num_rows
            yield batch
            return
        if batch.num_rows:
            yield from self._started().take_in(batch, self.batch_rows)
            self.reduced += batch.num_rows
            self._rows += batch.num_rows
            if self.slots is None:
                yield from self._judge()

    def _started(self) -> PartialTable:
        if self.table is None:
            self.table = PartialTable(self.partials, self.size, self.discipline, self.by_time)
            if self.bound is not None:
                self.table.advance(self.bound)
        return self.table

    def _judge(self) -> Iterator[pa.RecordBatch]:
        """Is the table of no use, or too small? It is looked at when there was a row for each slot, and more closely
        when there were several."""
        table, rows, sizing = self.table, self._rows, self.sizing
        assert table is not None
        if rows < self.size:
            return
        closer = rows >= _GROWTH * self.size
        if rows - table.made < sizing.repeats * rows or (closer and table.made > sizing.worth * rows):
            yield from self.drain()
            self.size, self.passing = sizing.least, _PASSING << self._given_up
            self._given_up += 1
        elif table.table.collided - self._collided > _COLLIDED * rows and self.size < sizing.most:
            yield from self.drain()
            self.size = min(_GROWTH * self.size, sizing.most)
        elif closer:
            self._made += table.made
            self._rows, table.made, self._collided = 0, 0, table.table.collided

    def advance(self, bound: int) -> None:
        """Slots of time below the bound are complete."""
        self.bound = bound
        if self.table is not None:
            self.table.advance(bound)

    def due(self, below: int) -> None:
        """Partials of panes below the bound will have to leave soon."""
        if self.table is not None:
            self.table.due(below)

    def flush(self, below: int) -> Iterator[pa.RecordBatch]:
        """The partials of panes below the bound leave."""
        if self.table is not None:
            yield from self.table.flush(below, self.batch_rows)

    def settle(self) -> Iterator[pa.RecordBatch]:
        """Partials that were pushed out leave if there are enough of them, or if they hold a promise back."""
        if self.table is not None:
            yield from self.table.settle(self.batch_rows)

    def drain(self) -> Iterator[pa.RecordBatch]:
        """All partials leave, and the memory of the table is freed."""
        if self.table is not None:
            yield from self.table.flush(None, self.batch_rows)
            self._made += self.table.made
            self._rows = self._collided = 0
            self.table = None  # only now: it is held until the last batch has left

    def save(self) -> tuple[list[int], pa.RecordBatch | None]:
        """The numbers to save, and what the table holds."""
        batch, state = (None, ()) if self.table is None else self.table.save()
        made = 0 if self.table is None else self.table.made
        counts = [self.size, self.passing, self.passed, self.reduced, self._given_up]
        judged = [self._rows, self._made, self._collided, made]
        return [*counts, *judged, *state], batch

    def load(self, numbers: list[int], batch: pa.RecordBatch | None) -> None:
        """Load what `save` gave."""
        self.size, self.passing, self.passed, self.reduced, self._given_up = numbers[:5]
        self._rows, self._made, self._collided, made = numbers[5:9]
        self.table = None
        if batch is not None:
            self.table = PartialTable(self.partials, self.size, self.discipline, self.by_time)
            self.table.load(batch, tuple(numbers[9:]))
            self.table.made = made
            self.bound = self.table.table.state[0]
