"""An order on `Tup#`: rows are numbered as they arrive, so none is out of order (Aurora paper, footnote 4)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from oop.operators.aggregate.partition_rows import places_of
from oop.operators.assume.order import Order
from oop.operators.assume.progress import GroupedOrderProgress
from oop.operators.core.growing import with_room


class ByNumber(GroupedOrderProgress):
    """Row i of a group has the number i, so after n rows the next ones have n or more. The bound that a row must not be
    below is its own number."""

    def __init__(self, order: Order, schema: pa.Schema) -> None:
        super().__init__(order, schema)
        self.counts = np.zeros(0, np.int64)  # rows of each group, with room for more groups

    @property
    def nbytes(self) -> int:
        return self.groups.nbytes + self.counts.nbytes

    def observe(self, batch: pa.RecordBatch) -> np.ndarray:
        ids = self._enter(batch)
        self.counts = with_room(self.counts, len(self.groups), 0)
        numbers = self.counts[ids] + places_of(ids)
        if len(ids) < len(self.counts):  # few rows of many groups
            np.add.at(self.counts, ids, 1)
        else:
            self.counts += np.bincount(ids, minlength=len(self.counts))
        return numbers

    def bounds(self, ids: np.ndarray) -> np.ndarray:
        return self.counts[ids]

    def _kept(self) -> pa.Array:
        return pa.array(self.counts[: len(self.groups)])

    def _restore(self, kept: pa.Array) -> None:
        self.counts = np.array(kept.to_pylist(), np.int64)
