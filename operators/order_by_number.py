"""An order on `Tup#`: rows are numbered as they arrive, so none is out of order (papers/000, footnote 4)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from oop.operators.order import Order
from oop.operators.order_progress import ByGroup
from oop.operators.partition_rows import places_of


class ByNumber(ByGroup):
    """An order on `Tup#`: row i of a group has the number i, and after n rows the next have n and more. So what a
    row must not be below is its own number."""

    def __init__(self, order: Order, schema: pa.Schema) -> None:
        super().__init__(order, schema)
        self.counts = np.zeros(0, np.int64)

    @property
    def nbytes(self) -> int:
        return self.groups.nbytes + self.counts.nbytes

    def observe(self, batch: pa.RecordBatch) -> np.ndarray:
        ids = self._enter(batch)
        new = np.zeros(len(self.groups) - len(self.counts), np.int64)
        before = np.concatenate([self.counts, new])
        rows = np.bincount(ids, minlength=len(before))
        self.counts = before + rows
        return before[ids] + places_of(ids)

    def bounds(self) -> np.ndarray:
        return self.counts

    def _kept(self) -> pa.Array:
        return pa.array(self.counts)

    def _restore(self, kept: pa.Array) -> None:
        self.counts = np.array(kept.to_pylist(), np.int64)
