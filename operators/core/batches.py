"""Batches of a size that suits whoever takes them: a large one costs a pause, a small one costs more than its rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

import pyarrow as pa

from oop.kernels.dictionaries import concat_batches


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
    return map(couple, together((part for batch in batches for part in cut(batch, most)), most))


T = TypeVar("T", bound=Sized)


def together(parts: Iterable[T], most: int) -> Iterator[list[T]]:
    """Parts in this order, as many in a row as have no more than so many rows.

    >>> list(together(["ab", "c", "defg"], 4))
    [['ab', 'c'], ['defg']]
    """
    waiting: list[T] = []
    rows = 0
    for part in parts:
        size = len(part)
        if waiting and rows + size > most:
            yield waiting
            waiting, rows = [], 0
        waiting.append(part)
        rows += size
    if waiting:
        yield waiting


def couple(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Some as one."""
    return concat_batches(batches)
