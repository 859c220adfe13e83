"""Rows to partial aggregates, where it pays: the table of a `Preaggregate`, sized by what it sees.

Where a size is given it stays. Else it grows while aggregates of one window are in each other's way; and where rows
hardly become fewer, because almost each is a group of its own, they pass as they are for a while.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from oop.kernels.reference_flush import Discipline
from oop.operators.flush import Flush
from oop.operators.marks import is_late
from oop.operators.partial_table import Partials, PartialTable

_GROWTH = 4
_COLLIDED = 1 / 16  # of the rows: what is lost to a table that is too small
_PASSING = 4_194_304  # rows that pass before it is tried again


@dataclass(frozen=True)
class Sizing:
    """The first and the greatest size of a table, and how many partials a row may become for it to pay."""

    least: int
    most: int
    worth: float


THREADS = Sizing(1 << 14, 1 << 16, 0.2)
"""On the way to other threads: parting a row costs less than a look-up that misses the cache."""
WORKERS = Sizing(1 << 16, 1 << 20, 0.7)
"""On the way to other processes: a row is encoded and shuffled, and a partial is wider than most rows."""


class Reducing:
    """``table`` is None while rows pass, and before the first."""

    def __init__(self, partials: Partials, flush: Flush, sizing: Sizing = WORKERS, in_order: bool = False) -> None:
        self.partials, self.sizing = partials, sizing
        self.slots = flush.slots
        self.discipline = Discipline(in_order, 0 if in_order else flush.i, flush.next_slot)
        if self.slots is None:
            self.discipline = replace(self.discipline, next_slot=True)
        self.size = self.slots or sizing.least
        self.table: PartialTable | None = None
        self.bound: int | None = None
        self.passing = 0  # rows that still pass
        self.passed = 0
        self.reduced = 0
        self._rows = self._made = self._collided = 0  # since the table was last judged

    @property
    def note(self) -> str:
        """What has become of it so far."""
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
            yield from self._started().take_in(batch)
            self.reduced += batch.num_rows
            self._rows += batch.num_rows
            if self.slots is None:
                yield from self._judge()

    def _started(self) -> PartialTable:
        if self.table is None:
            self.table = PartialTable(self.partials, self.size, self.discipline)
            if self.bound is not None:
                self.table.advance(self.bound)
        return self.table

    def _judge(self) -> Iterator[pa.RecordBatch]:
        """Is the table too small, or of no use? Known when every slot could have been used several times."""
        table = self.table
        assert table is not None
        if self._rows < _GROWTH * self.size:
            return
        collided = table.table.collided - self._collided
        grows = collided > _COLLIDED * self._rows and self.size < self.sizing.most
        if grows or table.made > self.sizing.worth * self._rows:
            yield from self.drain()
            self.passing = 0 if grows else _PASSING
            self.size = min(_GROWTH * self.size, self.sizing.most) if grows else self.sizing.least
        else:
            self._made += table.made
            self._rows, table.made, self._collided = 0, 0, table.table.collided

    def advance(self, bound: int) -> None:
        """Slots of time below the bound are complete."""
        self.bound = bound
        if self.table is not None:
            self.table.advance(bound)

    def least(self) -> int | None:
        """The first slot of time that something is held of."""
        return None if self.table is None else self.table.least()

    def flush(self, below: int) -> Iterator[pa.RecordBatch]:
        """What is held of slots of time below the bound leaves."""
        if self.table is not None:
            yield from self.table.flush(below)

    def drain(self) -> Iterator[pa.RecordBatch]:
        """All leaves, and the memory with it."""
        if self.table is not None:
            table, self.table = self.table, None
            yield from table.flush(None)
            self._made += table.made
            self._rows = self._collided = 0

    def save(self) -> tuple[list[int], pa.RecordBatch | None]:
        """Numbers, and what the table holds."""
        batch, state = (None, ()) if self.table is None else self.table.save()
        made = 0 if self.table is None else self.table.made
        counts = [self.size, self.passing, self.passed, self.reduced, self._rows, self._made, self._collided, made]
        return [*counts, *state], batch

    def load(self, numbers: list[int], batch: pa.RecordBatch | None) -> None:
        """What `save` gave."""
        self.size, self.passing, self.passed, self.reduced, self._rows, self._made, self._collided = numbers[:7]
        self.table = None
        if batch is not None:
            self.table = PartialTable(self.partials, self.size, self.discipline)
            self.table.load(batch, tuple(numbers[8:]))
            self.table.made = numbers[7]
            self.bound = self.table.table.state[0]
