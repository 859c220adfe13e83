"""Open sessions as parts to save: by slices of the time at which they end, so that closing removes parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.kernels.reference_sessions import OPEN
from oop.operators.base import Part, read_text, text_part
from oop.operators.keys import read_key
from oop.operators.session_table import SessionTable

_SLICE = "slice/"


class SessionParts:
    """What has been saved of a table, and what is to be said of it next."""

    def __init__(self, table: SessionTable) -> None:
        self.table = table
        self._saved: set[int] = set()

    def save(self) -> Iterator[Part]:
        """The slices that changed since the last time."""
        table, filed = self.table, self.table.keep_filed()
        filed.refresh()
        yield text_part("shift", filed.due.shift)
        for number in filed.due.take_changes():
            if number in filed.due:
                slots = filed.places(number)
                table.sessions["state"][slots] = OPEN
                yield f"{_SLICE}{number}", self._part(slots)
                self._saved.add(number)
            elif number in self._saved:
                yield f"{_SLICE}{number}", None
                self._saved.discard(number)

    def _part(self, slots: np.ndarray) -> pa.RecordBatch:
        records = self.table.read(slots)
        columns = [*self.table.key_arrays(records).values(), pa.array(records["start"]), pa.array(records["end"])]
        columns += [column for a in self.table.accumulators for column in a.take(slots).to_arrow()]
        return pa.RecordBatch.from_arrays(columns, names=[str(i) for i in range(len(columns))])

    def load(self, parts: Mapping[str, pa.RecordBatch | None]) -> None:
        self.table.begin()
        due = self.table.keep_filed().due
        self._saved = set()
        said = parts.get("shift")
        if said is None:
            return
        shift = read_text(said)
        assert isinstance(shift, int)
        due.shift = shift
        for key, part in parts.items():
            if part is not None and key.startswith(_SLICE):
                self._load(part)
                self._saved.add(int(key.removeprefix(_SLICE)))
        if due.shift == shift:
            due.take_changes()  # they are as they were saved

    def _load(self, part: pa.RecordBatch) -> None:
        width = len(self.table.shape.keys)
        partials, at = self.table.shape.accumulators(), width + 2
        for partial in partials:
            partial.load_arrow(part.columns[at : at + partial.saved_columns])
            at += partial.saved_columns
        starts, ends = (views.times(part.column(place)) for place in (width, width + 1))
        self.table.restore([read_key(key) for key in part.columns[:width]], starts, ends, partials)
