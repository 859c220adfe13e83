"""Count distinct, exactly: a table of pairs (group, value), and how many each group has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.kernels.views import Column
from oop.operators.accumulators import Accumulator, Prepared
from oop.operators.keys import Coded, Key, KeyTable, read_key
from oop.operators.rows_by_group import Rows, as_held, held_type

_GROUP = "uint32"  # a table has room for fewer groups; beside a value of 32 bits it fits into one word


class CountDistinct(Accumulator):
    """Values are equal as keys are: NaN is NaN, −0.0 is 0.0. The pairs stand in a table while values come in; copies
    and parts of an accumulator have them as rows, and a table is made of those only when more values come."""

    fields = (("counts", np.int64),)
    varies = True

    def __init__(self, source: pa.DataType, result: pa.DataType) -> None:
        super().__init__(held_type(source), result)
        self._table: KeyTable | None = None
        self._rows: Rows | None = None

    @property
    def saved_columns(self) -> int:
        return 1

    def prepare(self, values: pa.Array | None) -> Prepared:
        assert values is not None
        return read_key(as_held(values))

    def update(self, ids: np.ndarray, values: Any) -> None:
        valid = _valid(values)
        rows = None if valid is None else np.flatnonzero(valid)
        if len(ids if rows is None else rows):
            self._put(ids, values, rows)

    def _put(self, ids: np.ndarray, values: Key, rows: np.ndarray | None = None) -> None:
        table = self._pairs_table()
        before = len(table)
        table.map([Column(_GROUP, ids.astype(np.uint32)), values], len(ids), rows)
        new = table.codes.columns()[0].data[before:]
        if len(new):
            self.kernels.add_count(new.astype(np.int64), None, self.counts)

    def _pairs_table(self) -> KeyTable:
        if self._table is None:
            self._table = KeyTable([_GROUP, views.key_kind(self.source)])
            if self._rows is not None:  # they are distinct, and counted
                ids, [values] = self._rows.ids, self._rows.columns
                self._table.map([Column(_GROUP, ids.astype(np.uint32)), read_key(values)], len(ids))
                self._rows = None
        return self._table

    def pairs(self) -> Rows:
        """The distinct values and their groups, in any order."""
        if self._table is not None:
            groups, values = self._table.arrays([pa.uint32(), self.source])
            return Rows(views.column(groups).data.astype(np.int64), (values,))
        return Rows(np.zeros(0, np.int64), (pa.array([], self.source),)) if self._rows is None else self._rows

    def merge(self, ids: np.ndarray, other: Accumulator) -> None:
        assert isinstance(other, CountDistinct)
        rows = other.pairs().to(ids)
        if len(rows):
            self._put(rows.ids, read_key(rows.columns[0]))

    def result(self) -> pa.Array:
        return pa.array(self.counts)

    def empty(self) -> Accumulator:
        out = super().empty()
        assert isinstance(out, CountDistinct)
        out._table = out._rows = None
        return out

    def _with(self, arrays: Accumulator, rows: Rows) -> Accumulator:
        assert isinstance(arrays, CountDistinct)
        arrays._rows = rows
        return arrays

    def copy(self) -> Accumulator:
        return self._with(super().copy(), self.pairs())

    def take(self, indices: np.ndarray) -> Accumulator:
        return self._with(super().take(indices), self.pairs().of_groups(indices))

    def clear(self, ids: np.ndarray) -> None:
        super().clear(ids)
        self._table, self._rows = None, self.pairs().without(ids, self.size)

    @classmethod
    def concat(cls, parts: Sequence[Accumulator]) -> Accumulator:
        out, start, moved = super().concat(parts), 0, []
        for part in parts:
            assert isinstance(part, CountDistinct)
            rows = part.pairs()
            moved.append(Rows(rows.ids + start, rows.columns))
            start += part.size
        assert isinstance(out, CountDistinct)
        return out._with(out, Rows.concat(moved))

    @property
    def nbytes(self) -> int:
        table, rows = self._table, self._rows
        return super().nbytes + (0 if table is None else table.nbytes) + (0 if rows is None else rows.nbytes)

    def to_arrow(self) -> list[pa.Array]:
        return self.pairs().by_group().lists(self.size)

    def load_arrow(self, columns: Sequence[pa.Array]) -> None:
        self.size = len(columns[0])
        self._table, self._rows = None, Rows.of_lists(columns)
        self._arrays["counts"] = views.column(columns[0].value_lengths()).data.astype(np.int64)


def _valid(values: Key) -> np.ndarray | None:
    """Which values are there; None: all."""
    if isinstance(values, Coded):
        return None if values.values.valid is None else values.values.valid[values.codes]
    return values.valid
