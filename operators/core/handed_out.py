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
from oop.kernels.checks import Array, Bools
from oop.kernels.signatures.programs import TrainProgramBase
from oop.kernels.views import Column
from oop.operators.core.writing import BOOL, Computed, RowsCode, Stored


class HandedOut:
    def __init__(self, rows: RowsCode) -> None:
        self.schema, self.sources = rows.schema, rows.sources
        sources = rows.sources
        self._computed = [source for source in sources if isinstance(source, Computed)]
        self._places = [source.place for source in sources if isinstance(source, Stored)]
        self._take = pc.get_function("take")

    def batches(self, train: Sequence[pa.RecordBatch], program: TrainProgramBase) -> Iterator[pa.RecordBatch]:
        """The rows of a train that a program has run, in a batch for each batch that has any of them."""
        values = program.columns
        computed = [_to_arrow(*values[source.output], source) for source in self._computed]
        kept = program.kept
        start = at = 0
        for batch in train:
            rows = batch.num_rows
            if kept is None:
                end, stored = at + rows, [batch.column(place) for place in self._places]
            else:
                end = int(np.searchsorted(kept, start + rows))
                numbers = pa.array(kept[at:end] - start)
                stored = [self._take.call([batch.column(place), numbers]) for place in self._places]
            if end > at:
                yield self._batch(stored, computed, at, end - at)
            start, at = start + rows, end

    def _batch(self, stored: list[pa.Array], computed: list[pa.Array], at: int, rows: int) -> pa.RecordBatch:
        arrays = [
            stored.pop(0) if isinstance(source, Stored) else computed[source.output].slice(at, rows)
            for source in self.sources
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _to_arrow(values: Array, valid: Bools | None, source: Computed) -> pa.Array:
    if source.kind == BOOL:
        return pa.array(values.view(np.bool_), mask=None if valid is None else ~valid)
    kind = views.kind_of(source.type)
    if kind == "uint":  # computed in 64 bits with a sign, and then checked to fit its type
        values = values.view(np.uint64)
    return views.to_arrow(Column(kind, values, None, valid), source.type)
