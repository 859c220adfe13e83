"""How far a promise may go while held rows leave one by one: no bound goes further than the least value still held."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.core.coverage import matching
from oop.punctuation import Punctuation


class Lowered:
    """A promise that held rows lower. ``leaving`` are the rows that leave, in this order, ``kept`` those that stay. A
    row counts if it is of the groups that the promise is about.

    >>> leaving, kept = (pa.record_batch({"start": t}) for t in ([3, 1, 6], [8]))
    >>> low = Lowered(Punctuation({"start": 20}), leaving, kept)
    >>> [str(low.after(rows)) for rows in range(4)]
    ['start < 1', 'start < 1', 'start < 6', 'start < 8']
    """

    def __init__(self, promise: Punctuation, leaving: pa.RecordBatch, kept: pa.RecordBatch) -> None:
        self.promise = promise
        self.least = {a: _least(a, promise, leaving, kept) for a in promise.below}

    def after(self, rows: int) -> Punctuation:
        """The promise that holds once so many rows have left."""
        below = {}
        for attribute, bound in self.promise.below.items():
            least = self.least[attribute][rows]
            below[attribute] = bound if least == _most(least.dtype) else min(bound, least.item())
        return Punctuation(below, self.promise.where)


def _least(attribute: str, promise: Punctuation, leaving: pa.RecordBatch, kept: pa.RecordBatch) -> np.ndarray:
    """The least values that are held once 0, 1, … rows have left."""
    values, staying = _values(attribute, promise, leaving), _values(attribute, promise, kept)
    last = staying.min() if len(staying) else _most(values.dtype)
    return np.minimum.accumulate(np.append(values, last)[::-1])[::-1]


def _values(attribute: str, promise: Punctuation, rows: pa.RecordBatch) -> np.ndarray:
    """The attribute of each row; the greatest number for a row that does not count, or has no value."""
    column = rows.column(attribute)
    floating = pa.types.is_floating(column.type)
    values = np.full(rows.num_rows, _most(np.float64 if floating else np.int64))
    known = views.booleans(column.is_valid())
    values[known] = held_values(column.drop_null())
    counts = matching(Punctuation({}, promise.where), rows)
    if floating:
        counts = counts & ~np.isnan(values)
    values[~counts] = _most(values.dtype)
    return values


def held_values(column: pa.Array) -> np.ndarray:
    """The numbers by which held rows lower a bound; an unsigned key beyond all times counts as the last time.

    >>> held_values(pa.array([5, 2**64 - 1], pa.uint64())).tolist() == [5, 2**63 - 2]
    True
    """
    if pa.types.is_uint64(column.type):
        return np.minimum(views.column(column).data, np.uint64(_most(np.int64) - 1)).astype(np.int64)
    return views.times(column)


def _most(dtype: object) -> int | float:
    return np.iinfo(np.int64).max if dtype == np.int64 else np.inf
