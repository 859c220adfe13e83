"""Of each group the rows that come first in an order: top, collect, and first and last of values that are no numbers.

Rows are ordered by something (the time, or the values themselves), then by value. A batch is cut down to what may
count before it is held, so that a group never holds much more than its limit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from oop.operators.accumulators import Accumulator, Prepared
from oop.operators.rows_by_group import HoldsRows, Rows, as_held, held_type
from oop.operators.words import ranks


@dataclass(frozen=True)
class Order:
    """Least first, or with ``most`` greatest; at most ``limit`` rows a group. A null loses every tie, or with
    ``nulls=False`` is left out."""

    most: bool
    limit: int
    nulls: bool = False


class Ranked(HoldsRows):
    """Rows are values and what they are ordered by; values alone are ordered by themselves. Gives a list a group."""

    order: Order

    def __init__(self, source: pa.DataType, by: pa.DataType | None, order: Order, result: pa.DataType) -> None:
        super().__init__(source, result, [held_type(source), *([] if by is None else [held_type(by)])])
        self.order = order

    def empty(self) -> Ranked:
        out = super().empty()
        assert isinstance(out, Ranked)
        out.order = self.order
        return out

    @property
    def kept(self) -> tuple[object, ...]:
        return *super().kept, self.order

    def prepare(self, values: Any) -> Prepared:
        arrays = values if isinstance(values, tuple) else (values,)
        return tuple(map(as_held, arrays))

    def update(self, ids: np.ndarray, values: Any) -> None:
        self.add(self.settle(Rows(ids, values)))

    def settle(self, rows: Rows) -> Rows:
        words, valid = ranks(rows.columns[0])
        keys = [words]
        wanted = None if self.order.nulls else valid
        if len(rows.columns) > 1:
            by, known = ranks(rows.columns[1], zeros_equal=True)
            keys.append(by)
            if known is not None:
                wanted = known if wanted is None else wanted & known
        if self.order.most:
            keys = [~key for key in keys]
        if valid is not None and self.order.nulls:
            # numbers under a null mean nothing
            keys[0:1] = [np.where(valid, keys[0], 0), ~valid]
        chosen = np.arange(len(rows)) if wanted is None else np.flatnonzero(wanted)
        order = chosen[np.lexsort([key[chosen] for key in [*keys, rows.ids]])]
        ids = rows.ids[order]
        starts = np.flatnonzero(np.diff(ids, prepend=-1))
        places = np.arange(len(ids)) - np.repeat(starts, np.diff(starts, append=len(ids)))
        return rows.take(order[places < self.order.limit])

    def result(self) -> pa.Array:
        lists = self.rows().lists(self.size, null=True)[0]
        return lists if lists.type == self.type else lists.cast(self.type)


class RankedOne(Ranked):
    """Gives the value of the one row, or null."""

    def result(self) -> pa.Array:
        rows = self.rows()
        places = np.zeros(self.size, np.int64)
        there = np.zeros(self.size, np.bool_)
        places[rows.ids], there[rows.ids] = np.arange(len(rows)), True
        values = rows.columns[0].take(pa.array(places, mask=~there))
        if values.type == self.type:
            return values
        try:
            return values.cast(self.type)
        except pa.ArrowNotImplementedError:
            return pa.array(values.to_pylist(), self.type)


def first_of(source: pa.DataType, by: pa.DataType, *, most: bool) -> Accumulator:
    """First, or last, of values of any type by anything that has an order."""
    return RankedOne(source, by, Order(most, 1, nulls=True), source)


def list_of(source: pa.DataType, by: pa.DataType | None, *, most: bool, limit: int) -> Accumulator:
    """The values of the least, or greatest, rows as a list."""
    return Ranked(source, by, Order(most, limit), pa.list_(held_type(source)))
