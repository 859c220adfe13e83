"""The common base of sort and number, which hold every row until its time is promised.

They put all rows into one order, so only a promise about all rows may release rows: a group that is ahead waits for the
others. Only that promise crosses. It is passed on unchanged, after the rows that it releases.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from oop.operators.core.context import Context
from oop.operators.core.marks import is_late
from oop.operators.core.operator import Element, Held, Keeping, Kept
from oop.operators.core.ordering import order_by_time, order_rows
from oop.operators.core.parts import Part
from oop.operators.core.spec import Spec, UsedColumns
from oop.operators.core.times import show_time
from oop.operators.rows.layout import check_takeable
from oop.operators.rows.waiting_rows import WaitingRows
from oop.punctuation import END, Frontier, Punctuation
from oop.punctuation.crossing import Carried, Crossing
from oop.punctuation.group_promises import Advance
from oop.punctuation.patterns import Bound
from oop.punctuation.search import above


def by_time(on: str) -> Carried:
    """Only what is promised about the time of all rows crosses."""
    return Carried({on: [(on, None)]}, {}, holds=True)


class Releasing(Spec):
    """The base of both specs: ``on`` is the time, ``ties`` are the columns that decide among rows of one time."""

    on: str
    ties: tuple[str, ...]

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        for field in inputs[0]:
            check_takeable(field)
        return inputs[0]

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        return by_time(self.on)

    def needs(self, wanted: UsedColumns, inputs: Sequence[pa.Schema]) -> list[UsedColumns]:
        return [None if wanted is None else (wanted & set(inputs[0].names)) | {self.on, *self.ties}]

    def blocking(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> str | None:
        return self.on if frontiers[0].bound(self.on) is None else None


class ReleasingOperator(Keeping, ABC):
    """``late_unused`` counts admitted late rows, which cannot be used: the rows that they belong between have left.
    ``releases`` says which promises release rows, whether or not a consumer asks for these promises."""

    def __init__(self, spec: Releasing, context: Context) -> None:
        super().__init__(spec, context)
        self.spec = spec
        self.releases = by_time(spec.on)
        (needed,) = spec.needs(context.wanted, context.inputs)
        self.rows = WaitingRows(context.held(needed), spec.on)

    def kept(self) -> Iterable[Kept]:
        return (self.rows,)

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterable[Element]:
        if is_late(batch):
            self.late_unused += batch.num_rows
        else:
            self.rows.add(batch)
        return ()

    def released(self, new: Advance, port: int) -> Iterator[Element]:
        for rows in self._in_order(self.releases.translate(self.ports.frontiers)):
            yield self.leaving(rows)
        yield from self.ports.promises(new)

    @abstractmethod
    def leaving(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The output for rows that leave, which come in their order."""

    def _in_order(self, frontier: Frontier) -> Iterator[pa.RecordBatch]:
        """The rows that the frontier covers, in order of time. Slices come in that order, and no time is in two."""
        waiting: list[pa.RecordBatch] = []
        count = 0
        for rows in self.rows.take_covered(frontier):
            valueless = not self._has_times(rows)
            if waiting and (valueless or count + rows.num_rows > self.batch_rows):
                yield from self._sorted(pa.concat_batches(waiting))
                waiting, count = [], 0
            if valueless:
                yield from self._sorted(rows, valueless=True)
            else:
                waiting.append(rows)
                count += rows.num_rows
        if waiting:
            yield from self._sorted(pa.concat_batches(waiting))

    def _has_times(self, rows: pa.RecordBatch) -> bool:
        first = rows.column(self.spec.on)[0].as_py()
        return first is not None and first == first

    def _sorted(self, rows: pa.RecordBatch, valueless: bool = False) -> Iterator[pa.RecordBatch]:
        ties = [rows.column(name) for name in self.spec.ties]
        if valueless:
            order = order_rows([rows.column(self.spec.on), *ties])
        else:
            order = order_by_time(self.rows.times(rows), ties)
        yield from self.rows.released(rows, order, self.batch_rows)

    def oldest(self) -> Held | None:
        """The row that will leave next."""
        return held_row(self.rows.least(), len(self.rows), self.spec.on, self.rows.schema)

    def save(self) -> Iterator[Part]:
        yield from self.save_common()
        yield from self.rows.save()

    def load(self, parts: Iterable[Part]) -> None:
        self.rows.load(self.load_common(parts))


def held_row(least: Bound | None, count: int, on: str, schema: pa.Schema) -> Held | None:
    """The row with the least time, and what would release it. ``count`` rows are held, also without a time."""
    if least is None:
        return Held("rows without a time", 0, END) if count else None
    return Held(f"the row with {on} = {show_time(least, schema.field(on).type)}", 0, Punctuation({on: above(least)}))
