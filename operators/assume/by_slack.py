"""Judges order up to a slack of n rows, by the n + 1 greatest values of each group so far (Aurora paper, section
5.2.2).

A row is out of order by n if more than n rows of its group before it are greater, which means that it is below the
(n+1)-th greatest value so far. So that value can be promised for the group once rows out of order are set aside. All
rows count, also those that are set aside: they are below the (n+1)-th greatest value, and do not change it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from oop.kernels import dispatch, views
from oop.operators.assume.order import Order
from oop.operators.assume.progress import GroupedOrderProgress


class BySlack(GroupedOrderProgress):
    """Keeps the n + 1 greatest values of each group so far; the least of them is the bound.

    >>> rows = pa.record_batch({"Time": [1, 4, 2, 5, 3]})
    >>> seen = BySlack(Order("Time", slack=1), rows.schema)
    >>> seen.observe(rows)[2:].tolist(), list(seen.promises())
    ([1, 2, 4], [Punctuation(Time < 4)])
    """

    def __init__(self, order: Order, schema: pa.Schema) -> None:
        super().__init__(order, schema)
        floating = pa.types.is_floating(schema.field(order.on).type)
        self.type = pa.float64() if floating else pa.int64()
        self.dtype = np.dtype(np.float64 if floating else np.int64)
        self._begin()

    def _begin(self) -> None:
        self.rows = dispatch.kernels().RowBounds(self.order.slack, self.dtype)

    @property
    def nbytes(self) -> int:
        return self.groups.nbytes + self.rows.nbytes

    def observe(self, batch: pa.RecordBatch) -> np.ndarray:
        ids = self._enter(batch)
        bounds: np.ndarray = self.rows.push(ids, views.times(batch.column(self.order.on)))
        return bounds

    def bounds(self, ids: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.rows.bounds(ids)
        return found

    def _kept(self) -> pa.Array:
        ids, values = self.rows.held()
        ends = np.cumsum(np.bincount(ids, minlength=len(self.groups)))
        offsets = pa.array(np.concatenate([[0], ends]), pa.int64())
        return pa.LargeListArray.from_arrays(offsets, pa.array(values, self.type))

    def _restore(self, kept: pa.Array) -> None:
        self._begin()
        if len(kept):
            sizes = np.diff(kept.offsets.to_numpy())
            self.rows.push(np.repeat(np.arange(len(kept)), sizes), views.times(kept.flatten()))
