"""`HandedOut`: batches of the rows that come to the end of a program which has no state (`ProgramWriter.rows`).

Columns that are as they came are taken from the batches of the train, without a copy where no row was left out. Columns
that the program computed become Arrow arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oop.kernels import views
from oop.kernels.checks import Array, Bools, Ints
from oop.kernels.signatures.programs import TrainProgramBase
from oop.kernels.views import Column
from oop.operators.core.writing import BOOL, ComputedColumn, RowsCode, Stored


class HandedOut:
    """The columns of such batches."""

    def __init__(self, rows: RowsCode) -> None:
        self.schema, self.sources = rows.schema, rows.sources
        self._computed = [source for source in rows.sources if isinstance(source, ComputedColumn)]
        self._places = [source.place for source in rows.sources if isinstance(source, Stored)]
        self._take = pc.get_function("take")

    def rows(self, train: Sequence[pa.RecordBatch], program: TrainProgramBase) -> HandedRows:
        """The rows of a train that a program has run."""
        values = program.columns
        computed = [_to_arrow(*values[source.output], source) for source in self._computed]
        return HandedRows(self, train, computed, program.kept)

    def stored(self, batch: pa.RecordBatch, rows: Array | slice) -> list[pa.Array]:
        """The columns that are as they came, in these rows of a batch."""
        columns = [batch.column(place) for place in self._places]
        if isinstance(rows, slice):
            whole = rows.stop - rows.start == batch.num_rows
            return columns if whole else [column[rows] for column in columns]
        numbers = pa.array(rows)
        return [self._take.call([column, numbers]) for column in columns]

    def batch(self, stored: list[pa.Array], computed: list[pa.Array], at: int, rows: int) -> pa.RecordBatch:
        arrays = [
            stored.pop(0) if isinstance(source, Stored) else computed[source.output].slice(at, rows)
            for source in self.sources
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


class HandedRows:
    """The rows of one train, which may be handed out little by little. ``kept`` are the numbers in the train of those
    that came through; None: all."""

    def __init__(
        self, out: HandedOut, train: Sequence[pa.RecordBatch], computed: list[pa.Array], kept: Ints | None
    ) -> None:
        self.out, self.train, self.computed, self.kept = out, train, computed, kept
        self._number = 0  # of the batch that comes next
        self._start = 0  # the number of its first row
        self._done = 0  # rows that have been looked at
        self._at = 0  # rows that have been handed out

    def until(self, place: int | None) -> Iterator[pa.RecordBatch]:
        """The rows before this one of the train (None: all), in a batch for each batch that has any of them."""
        while self._number < len(self.train):
            batch = self.train[self._number]
            end = self._start + batch.num_rows
            stop = end if place is None else min(place, end)
            if stop > self._done:
                first, self._done = self._done, stop
                yield from self._rows(batch, first, stop)
            if stop < end:
                return
            self._number, self._start = self._number + 1, end

    def _rows(self, batch: pa.RecordBatch, first: int, stop: int) -> Iterator[pa.RecordBatch]:
        start, at, rows = self._start, self._at, slice(first - self._start, stop - self._start)
        if self.kept is None:
            end, stored = stop, self.out.stored(batch, rows)
        else:
            end = int(np.searchsorted(self.kept, stop))
            if end == at:
                return
            stored = self.out.stored(batch, self.kept[at:end] - start)
        self._at = end
        yield self.out.batch(stored, self.computed, at, end - at)


def _to_arrow(values: Array, valid: Bools | None, source: ComputedColumn) -> pa.Array:
    if source.kind == BOOL:
        return pa.array(values.view(np.bool_), mask=None if valid is None else ~valid)
    kind = views.kind_of(source.type)
    if kind == "uint":  # computed in 64 bits with a sign, and then checked to fit its type
        values = values.view(np.uint64)
    return views.to_arrow(Column(kind, values, None, valid), source.type)
