"""Open sessions as parts to save: by slices of the time at which they end, so that closing removes parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import pyarrow as pa

from oop.kernels import views
from oop.kernels.signatures.sessions import OPEN
from oop.operators.core.keys import read_key
from oop.operators.core.parts import Part
from oop.operators.core.slice_parts import SliceParts
from oop.operators.session.filed import FiledSessions
from oop.operators.session.table import SessionTable


class SessionParts:
    """Saves the open sessions of a table, each time only the slices that changed."""

    def __init__(self, table: SessionTable) -> None:
        self.table = table
        self._parts = SliceParts()

    def save(self) -> Iterator[Part]:
        """The slices that changed since the last time."""
        filed = self.table.keep_filed()
        filed.refresh()
        return self._parts.save(filed.due.shift, filed.due.take_changes(), partial(self._part, filed))

    def _part(self, filed: FiledSessions, number: int) -> pa.RecordBatch | None:
        if number not in filed.due:
            return None
        slots = filed.places(number)
        self.table.sessions["state"][slots] = OPEN
        records = self.table.read(slots)
        columns = [*self.table.key_arrays(records).values(), pa.array(records["start"]), pa.array(records["end"])]
        columns += [column for a in self.table.accumulators for column in a.take(slots).to_arrow()]
        return pa.RecordBatch.from_arrays(columns, names=[str(i) for i in range(len(columns))])

    def load(self, parts: Mapping[str, pa.RecordBatch | None]) -> None:
        self.table.begin()
        due = self.table.keep_filed().due
        shift, found = self._parts.load(parts)
        if shift is None:
            return
        due.shift = shift
        due.are_known(number for number, _ in found if number is not None)
        for _, part in found:
            self._load(part)
        if due.shift == shift:
            due.take_changes()  # the slices are as they were saved, so none counts as changed

    def _load(self, part: pa.RecordBatch) -> None:
        width = len(self.table.shape.keys)
        partials, at = self.table.shape.accumulators(), width + 2
        for found in partials:
            found.load_arrow(part.columns[at : at + found.saved_columns])
            at += found.saved_columns
        starts, ends = (views.times(part.column(place)) for place in (width, width + 1))
        self.table.restore([read_key(key) for key in part.columns[:width]], starts, ends, partials)
