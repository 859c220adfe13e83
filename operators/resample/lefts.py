"""The left rows that a `Resample` holds, ascending (Aurora paper, section 5.2.2.4).

Only the value of a left row is in results. If latency is measured, the time when it entered is kept as well (`qos.py`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from oop.frozen import frozen
from oop.kernels import views
from oop.operators.core.coverage import INT64_MAX
from oop.operators.passing.qos import ENTERED


@frozen(eq=False)
class LeftRows:
    """``stamps`` are the times when the rows entered; None if latency is not measured.

    >>> rows = LeftRows(np.array([10, 20, 30])).merged(LeftRows(np.array([15])))
    >>> rows.values.tolist(), rows.numbers_below(np.array([15, 40])).tolist(), rows.from_number(3).values.tolist()
    ([10, 15, 20, 30], [1, 4], [30])
    >>> rows.from_number(3).values.base is None
    True
    """

    values: np.ndarray
    stamps: np.ndarray | None = None

    @classmethod
    def empty(cls, dtype: Any, stamped: bool) -> LeftRows:
        return cls(np.zeros(0, dtype), np.zeros(0, np.int64) if stamped else None)

    @classmethod
    def read(cls, batch: pa.RecordBatch, on: str, stamped: bool) -> LeftRows:
        """The rows of a batch, each with a value."""
        return cls(views.times(batch.column(on)), _numbers(batch.column(ENTERED)) if stamped else None)._sorted()

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes) + (0 if self.stamps is None else int(self.stamps.nbytes))

    def _sorted(self) -> LeftRows:
        if self.stamps is None:
            return LeftRows(np.sort(self.values, kind="stable"))
        order = np.argsort(self.values, kind="stable")
        return LeftRows(self.values[order], self.stamps[order])

    def merged(self, others: LeftRows) -> LeftRows:
        """These rows and others, merged in order; of equal ones these come first."""
        values = np.concatenate([self.values, others.values])
        if self.stamps is None or others.stamps is None:
            return LeftRows(values)._sorted()
        return LeftRows(values, np.concatenate([self.stamps, others.stamps]))._sorted()

    def from_number(self, number: int) -> LeftRows:
        """A copy of the rows from this number on, which keeps no memory of the others alive."""
        return LeftRows(self.values[number:].copy(), None if self.stamps is None else self.stamps[number:].copy())

    def numbers_below(self, bounds: np.ndarray) -> np.ndarray:
        """How many values are below each bound; all of them if the bound is the end."""
        found = np.searchsorted(self.values, bounds, "left")
        ended = bounds == (math.inf if self.values.dtype == np.float64 else INT64_MAX)
        return np.where(ended, len(self.values), found)

    def to_batch(self) -> pa.RecordBatch:
        return pa.record_batch({"at": self.values, **({} if self.stamps is None else {"entered": self.stamps})})

    @classmethod
    def from_batch(cls, batch: pa.RecordBatch, stamped: bool) -> LeftRows:
        """The rows from a batch that `to_batch` made."""
        return cls(_numbers(batch.column(0)).copy(), _numbers(batch.column(1)).copy() if stamped else None)


def _numbers(column: pa.Array) -> np.ndarray:
    return views.column(column).data
