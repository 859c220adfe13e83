"""Rows that wait for their turn, because a function depends on their order.

Such a function is given a window's rows in order of the attribute that windows are on, rows of one value in order of
arrival. So the identity of the Aurora paper, section 5.2.2.2, holds for every function: an Aggregate with slack n gives
what one without slack gives behind a BSort of slack n. A row's turn has come when a promise covers it, because then no
lesser row of its group follows. Behind an order of slack n about n rows of each group wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.core.coverage import INT64_MAX, as_float, as_int64, bounds_of_rows, group_columns
from oop.operators.core.group_values import of_column
from oop.operators.core.parts import Part
from oop.operators.core.times import is_whole
from oop.operators.rows.layout import held_as, plain_schema
from oop.operators.windows.bucket import WID_END, WID_START
from oop.punctuation import Frontier
from oop.punctuation.patterns import Value

_ROWS = "in turn"
_FEW = 4_096  # this few rows are left waiting, instead of being looked at for every promise


class RowsInTurn:
    """Rows in order of arrival, with the numbers of their windows. ``on`` decides whose turn it is, within the groups
    of ``keys``; of the other columns only those in ``needed`` are kept. This relies on `Bucket` to send a promise about
    ``on`` before the promise about windows that follows from it."""

    def __init__(self, schema: pa.Schema, on: str, keys: Sequence[str], needed: frozenset[str]) -> None:
        self.on, self.keys = on, tuple(keys)
        self.schema = plain_schema(pa.schema([f for f in schema if f.name in {on, *keys, *needed}]))
        self.whole = is_whole(schema.field(on).type)
        self._saved = self._changed = False
        self._use([])

    def _use(self, batches: list[pa.RecordBatch]) -> None:
        self._batches = batches
        self._rows = sum(batch.num_rows for batch in batches)
        self.nbytes = sum(batch.nbytes for batch in batches)
        self.first = min((_least(batch) for batch in batches), default=INT64_MAX)
        """The least window that a row waits for."""
        self._enough = max(_FEW, 2 * self._rows)
        self._changed = True

    def __len__(self) -> int:
        return self._rows

    def add(self, batch: pa.RecordBatch) -> None:
        held = held_as(batch, self.schema)
        self._batches.append(held)
        self._rows += held.num_rows
        self.nbytes += held.nbytes
        self.first = min(self.first, _least(held))
        self._changed = True

    def rows(self) -> pa.RecordBatch:
        """All rows that wait, in order of arrival."""
        if len(self._batches) != 1:
            whole = pa.concat_batches(self._batches) if self._batches else pa.RecordBatch.from_pylist([], self.schema)
            self._batches = [whole]
        return self._batches[0]

    def are_due(self, wid: int) -> bool:
        """Must the rows be looked at, if windows below ``wid`` are promised? Yes if one waits for such a window, or if
        very many wait, some of them perhaps needlessly."""
        return self._rows > 0 and (wid > self.first or self._rows >= self._enough)

    def take_covered(self, frontier: Frontier) -> pa.RecordBatch:
        """Remove and give, in order, the rows whose turn has come: no lesser row of their group can follow."""
        rows = self.rows()
        if frontier.ended:
            return self.take(np.ones(rows.num_rows, np.bool_))
        keys = {k: rows.column(k) for k in self.keys}
        bounds = bounds_of_rows(frontier, self.on, keys, as_int64 if self.whole else as_float)
        return self.take(views.times(rows.column(self.on)) < bounds)

    def take(self, chosen: np.ndarray) -> pa.RecordBatch:
        """Remove and give some of the rows, in order."""
        rows = self.rows()
        taken = np.flatnonzero(chosen)
        if len(taken) < rows.num_rows:
            self._use([rows.filter(pa.array(~chosen))])
        else:
            self._use([])
        times = views.times(rows.column(self.on))
        return rows.take(pa.array(taken[np.argsort(times[taken], kind="stable")]))

    def with_column(self, name: str, values: np.ndarray) -> None:
        """Replace the values of a column, for all rows that wait."""
        rows = self.rows()
        self._use([rows.set_column(rows.schema.get_field_index(name), self.schema.field(name), pa.array(values))])

    def oldest(self, frontier: Frontier) -> tuple[int, dict[str, Value]] | None:
        """The first window that a row waits for, and that row's group by the columns that promises name."""
        if not self._rows:
            return None
        rows = self.rows()
        row = int(np.argmin(_wids(rows)))
        by = [c for c in group_columns(frontier) if c in self.keys]
        return self.first, {c: of_column(rows.column(c).slice(row, 1))[0] for c in by}

    def save(self) -> Iterator[Part]:
        """All rows as one part: they are few."""
        if self._changed and (self._rows or self._saved):
            yield _ROWS, self.rows() if self._rows else None
            self._saved = bool(self._rows)
        self._changed = False

    def load(self, parts: Mapping[str, pa.RecordBatch | None]) -> None:
        part = parts.get(_ROWS)
        self._use([] if part is None else [part])
        self._saved, self._changed = part is not None, False


def in_each_window(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Repeat each row for each of its windows, because each window may take it at another time."""
    if WID_END not in batch.schema.names:
        return batch
    first, last = (views.column(batch.column(name)).data for name in (WID_START, WID_END))
    counts = last - first + 1
    rows = np.repeat(np.arange(len(first)), counts)
    wids = pa.array(first[rows] + np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts))
    taken = batch.take(pa.array(rows))
    for name in (WID_START, WID_END):
        taken = taken.set_column(taken.schema.get_field_index(name), name, wids)
    return taken


def _wids(rows: pa.RecordBatch) -> np.ndarray:
    found: np.ndarray = views.column(rows.column(WID_START)).data
    return found


def _least(rows: pa.RecordBatch) -> int:
    return int(_wids(rows).min(initial=INT64_MAX))
