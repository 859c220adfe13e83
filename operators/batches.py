"""Batches of a size that suits whoever takes them: a large one costs a pause, a small one costs more than its rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa


def cut(batch: pa.RecordBatch, most: int) -> Iterator[pa.RecordBatch]:
    """The rows of a batch, at most so many at a time; nothing is copied.

    >>> [part.num_rows for part in cut(pa.record_batch({"ts": [1, 2, 3]}), 2)]
    [2, 1]
    """
    if batch.num_rows <= most:
        yield batch
        return
    for start in range(0, batch.num_rows, most):
        yield batch.slice(start, most)


def coupled(batches: Iterable[pa.RecordBatch], most: int) -> Iterator[pa.RecordBatch]:
    """Small ones together, large ones cut.

    >>> small, large = pa.record_batch({"ts": [1, 2]}), pa.record_batch({"ts": [3, 4, 5, 6, 7, 8]})
    >>> [batch.num_rows for batch in coupled([small, small, large, small], 5)]
    [4, 5, 3]
    """
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        for part in cut(batch, most):
            if waiting and rows + part.num_rows > most:
                yield couple(waiting)
                waiting, rows = [], 0
            waiting.append(part)
            rows += part.num_rows
    if waiting:
        yield couple(waiting)


def couple(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Some as one."""
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
