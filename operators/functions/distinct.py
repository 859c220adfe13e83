"""count_distinct, exactly: a table of pairs (group, value), and how many each group has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.kernels.views import Column
from oop.operators.core.keys import Coded, Key, KeyTable, read_key
from oop.operators.expressions.expr import Expr
from oop.operators.functions.accumulators import Accumulator, Prepared
from oop.operators.functions.function import ColumnFunction, Function, as_column, is_scalar
from oop.operators.functions.rows_by_group import RowsByGroup, as_held, held_type

_GONE = -1
_FEW = 4096  # pairs of cleared groups that may stay in any case
_GROUP = "uint32"  # no table has more groups; beside a value of 32 bits it fits into one word


class DistinctCounts(Accumulator):
    """Counts the different values of each group. Values are equal as keys are: NaN equals NaN, and −0.0 equals 0.0.

    The pairs stand in a table while values come in. Copies and parts of an accumulator have them as rows, and a table
    is made of those only when more values come.

    In the table a group has a code, by default its own number. A group that was cleared gets another code with
    its next value, so that its old pairs may stay; they are taken out when they are many.
    """

    fields = (("counts", np.int64),)
    varies = True

    def __init__(self, source: pa.DataType, result: pa.DataType) -> None:
        super().__init__(held_type(source), result)
        self._start()

    def _start(self) -> None:
        self._table: KeyTable | None = None
        self._rows: RowsByGroup | None = None
        self._codes: np.ndarray | None = None  # the code of each group, once a group was cleared
        self._groups = np.zeros(0, np.int64)  # the group of each code, or _GONE
        self._gones = 0  # pairs of codes that are gone

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
        table.map([Column(_GROUP, self._coded(ids)), values], len(ids), rows)
        new = table.codes.columns()[0].data[before:].astype(np.int64)
        if len(new):
            self.kernels.add_count(new if self._codes is None else self._groups[new], None, self.counts)

    def _coded(self, ids: np.ndarray) -> np.ndarray:
        """The codes of groups; a group without one gets the next."""
        if self._codes is None:
            return ids.astype(np.uint32)
        if self.size > len(self._codes):
            more = np.full(self.size - len(self._codes) + len(self._codes) // 2, _GONE)
            self._codes = np.append(self._codes, more)
        codes = self._codes[ids]
        if (codes == _GONE).any():
            new = np.unique(ids[codes == _GONE])
            self._codes[new] = len(self._groups) + np.arange(len(new))
            self._groups = np.append(self._groups, new)
            codes = self._codes[ids]
        return codes.astype(np.uint32)

    def _pairs_table(self) -> KeyTable:
        if self._table is None:
            self._table = KeyTable([_GROUP, views.key_kind(self.source)])
            if self._rows is not None:  # these rows are distinct, and counted already
                ids, [values] = self._rows.ids, self._rows.columns
                self._table.map([Column(_GROUP, ids.astype(np.uint32)), read_key(values)], len(ids))
                self._rows = None
        return self._table

    def pairs(self) -> RowsByGroup:
        """The distinct values and their groups, in any order."""
        if self._table is not None:
            codes, values = self._table.arrays([pa.uint32(), self.source])
            groups = views.column(codes).data.astype(np.int64)
            if self._codes is None:
                return RowsByGroup(groups, (values,))
            rows = RowsByGroup(self._groups[groups], (values,))
            return rows.take(np.flatnonzero(rows.ids != _GONE)) if self._gones else rows
        return RowsByGroup(np.zeros(0, np.int64), (pa.array([], self.source),)) if self._rows is None else self._rows

    def merge(self, ids: np.ndarray, other: Accumulator) -> None:
        assert isinstance(other, DistinctCounts)
        rows = other.pairs().to(ids)
        if len(rows):
            self._put(rows.ids, read_key(rows.columns[0]))

    def result(self) -> pa.Array:
        return pa.array(self.counts)

    def empty(self) -> Accumulator:
        out = super().empty()
        assert isinstance(out, DistinctCounts)
        out._start()
        return out

    def _with(self, arrays: Accumulator, rows: RowsByGroup) -> Accumulator:
        assert isinstance(arrays, DistinctCounts)
        arrays._rows = rows
        return arrays

    def copy(self) -> Accumulator:
        return self._with(super().copy(), self.pairs())

    def take(self, indices: np.ndarray) -> Accumulator:
        return self._with(super().take(indices), self.pairs().of_groups(indices))

    def take_results(self, indices: np.ndarray) -> Accumulator:
        return super().take(indices)  # the counts are enough

    def clear(self, ids: np.ndarray) -> None:
        self._gones += int(self.counts[ids].sum())
        super().clear(ids)
        table = self._pairs_table()
        if self._codes is None:
            self._codes = np.arange(self.size)
            self._groups = np.arange(self.size)
        codes = self._codes[ids[ids < len(self._codes)]]
        self._groups[codes[codes != _GONE]] = _GONE
        self._codes[ids[ids < len(self._codes)]] = _GONE
        if 2 * self._gones > len(table) + _FEW or len(self._groups) > 4 * self.size + _FEW:
            rows = self.pairs()
            self._start()
            self._rows = rows

    @classmethod
    def concat(cls, pieces: Sequence[Accumulator]) -> Accumulator:
        held = [piece for piece in pieces if isinstance(piece, DistinctCounts)]
        return held[0]._with(super().concat(pieces), RowsByGroup.of_each((p.pairs(), p.size) for p in held))

    @property
    def nbytes(self) -> int:
        held = (self._table, self._rows, self._codes)
        return super().nbytes + self._groups.nbytes + sum(part.nbytes for part in held if part is not None)

    def to_arrow(self) -> list[pa.Array]:
        return self.pairs().by_group().lists(self.size)

    def load_arrow(self, columns: Sequence[pa.Array]) -> None:
        self._forget_parts()
        self.size = len(columns[0])
        self._start()
        self._rows = RowsByGroup.of_lists(columns)
        self._arrays["counts"] = views.column(columns[0].value_lengths()).data.astype(np.int64)


def _valid(values: Key) -> np.ndarray | None:
    """Which values are valid; None: all."""
    if isinstance(values, Coded):
        return None if values.values.valid is None else values.values.valid[values.codes]
    return values.valid


class CountDistinct(ColumnFunction):
    name = "count_distinct"

    def accumulator(self, source: pa.DataType) -> Accumulator | None:
        return DistinctCounts(source, pa.int64()) if is_scalar(source) else None

    @property
    def rows_held(self) -> float:
        return math.inf


def count_distinct(of: str | Expr) -> Function:
    """How many different values, exactly. Nulls are left out; NaN equals NaN, and −0.0 equals 0.0.

    Each group holds its values: state grows with their number.

    >>> import oop, pyarrow as pa
    >>> s = oop.source(pa.table({"ts": [1, 2, 3], "src": ["a", "b", "a"]}), time="ts", punctuate=oop.ordered())
    >>> s.window(oop.tumbling(10)).agg(sources=oop.count_distinct("src")).run().to_table()["sources"].to_pylist()
    [2]
    """
    return CountDistinct(as_column(of))
