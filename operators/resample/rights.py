"""The right rows that a `Resample` holds, as they came, with their groups (Aurora paper, section 5.2.2.4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.core.group_values import of_column
from oop.operators.core.keys import KeyTable, read_key
from oop.operators.rows.layout import as_type, held_as, plain_schema
from oop.operators.rows.pieces import append_beside, one_piece
from oop.punctuation.patterns import Group

RightPiece = tuple[pa.RecordBatch, np.ndarray, np.ndarray]
"""Rows, their times, and the numbers of their groups."""


class RightRows:
    """Groups are numbered as they come: ``values`` has their values by number, ``numbers`` maps values to numbers."""

    def __init__(self, schema: pa.Schema, on: str, keys: Sequence[str]) -> None:
        self.schema, self.on, self.keys = schema, on, tuple(keys)
        self._plain = plain_schema(schema)
        self._kinds = [views.key_kind(schema.field(k).type) for k in keys]
        self.clear()

    def clear(self) -> None:
        self.groups = KeyTable(self._kinds)
        self.values: list[Group] = []
        self.numbers: dict[Group, int] = {}
        self._pieces: list[RightPiece] = []
        self._count = 0
        self.nbytes = 0  # a plain number, because another thread may read it

    def __len__(self) -> int:
        return self._count

    def enter(self, batch: pa.RecordBatch) -> np.ndarray:
        """The number of each row's group. New groups get the next numbers."""
        known = len(self.values)
        if self.keys:
            ids = self.groups.map([read_key(batch.column(k)) for k in self.keys], batch.num_rows)
        else:
            ids = np.zeros(batch.num_rows, np.int64)
        if len(ids) and int(ids.max()) >= known:
            new, rows = np.unique(ids, return_index=True)
            first = pa.array(rows[new >= known])
            columns = [of_column(batch.column(k).take(first)) for k in self.keys]
            self.values += list(zip(*columns, strict=True)) if self.keys else [()]
            self.numbers.update((group, i) for i, group in enumerate(self.values[known:], known))
        return ids

    def add(self, batch: pa.RecordBatch, ids: np.ndarray) -> None:
        if not batch.num_rows:
            return
        held = held_as(batch, self._plain)
        self._append(held, views.times(held.column(self.on)).copy(), ids)

    def _append(self, batch: pa.RecordBatch, times: np.ndarray, ids: np.ndarray) -> None:
        self._count += len(ids)
        self.nbytes += batch.nbytes + times.nbytes + ids.nbytes
        append_beside(self._pieces, (batch, times, ids))

    def all(self) -> RightPiece:
        """The rows, their times and groups, in one piece."""
        self._pieces = [one_piece(self._pieces)]
        return self._pieces[0]

    def keep(self, needed: np.ndarray) -> None:
        """Keep the needed rows and free the others. If no row is needed, all groups are forgotten, too."""
        batch, times, ids = self.all()
        self._pieces, self._count, self.nbytes = [], 0, 0
        if needed.any():
            self._append(batch.filter(pa.array(needed)), times[needed], ids[needed])
        else:
            self.clear()

    def is_crowded(self) -> bool:
        return len(self.values) > 2 * self._count + 1_024

    def regroup(self) -> None:
        """Renumber the groups, without those that have no rows."""
        batch, _, _ = self.all()
        self.clear()
        self.add(batch, self.enter(batch))

    def columns(self, names: Sequence[str], rows: np.ndarray) -> list[pa.Array]:
        """These columns of some rows, in their own types."""
        taken = self.all()[0].select(list(names)).take(pa.array(rows))
        return [as_type(c, self.schema.field(n).type) for n, c in zip(names, taken.columns, strict=True)]
