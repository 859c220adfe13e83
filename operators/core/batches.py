"""Batches of a good size for their consumers: a large batch delays others, a small one costs more than its rows.

Operators and both engines join small batches and cut large ones with these functions and by these sizes. Elements,
which may be promises, are joined in `train.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import TypeVar

import pyarrow as pa

from oop.kernels.dictionaries import concat_batches

BATCH_ROWS = 65_536
"""The most rows of an output batch, by default."""
TRAIN_ROWS = 8_192
"""Batches smaller than this are joined before a box takes them: from this size on, the fixed cost of a batch is small
beside the cost of its rows."""
CROSSING_ROWS = 262_144
"""Rows that cross to other threads, to other processes or into a file together, because each crossing has a fixed
cost."""


def cut(batch: pa.RecordBatch, most: int) -> Iterator[pa.RecordBatch]:
    """The rows of a batch in batches of at most ``most`` rows; nothing is copied.

    >>> [piece.num_rows for piece in cut(pa.record_batch({"ts": [1, 2, 3]}), 2)]
    [2, 1]
    """
    if batch.num_rows <= most:
        yield batch
        return
    for start in range(0, batch.num_rows, most):
        yield batch.slice(start, most)


def resized(batches: Iterable[pa.RecordBatch], most: int) -> Iterator[pa.RecordBatch]:
    """The rows in batches of at most ``most`` rows: small batches are joined, large ones are cut.

    >>> small, large = pa.record_batch({"ts": [1, 2]}), pa.record_batch({"ts": [3, 4, 5, 6, 7, 8]})
    >>> [batch.num_rows for batch in resized([small, small, large, small], 5)]
    [4, 5, 3]
    """
    return map(concat_batches, together((piece for batch in batches for piece in cut(batch, most)), most))


T = TypeVar("T", bound=Sized)


def together(items: Iterable[T], most: int) -> Iterator[list[T]]:
    """The items in their order, in lists of at most ``most`` rows; a larger item stands alone.

    >>> list(together(["ab", "c", "defg"], 4))
    [['ab', 'c'], ['defg']]
    """
    waiting: list[T] = []
    rows = 0
    for item in items:
        size = len(item)
        if waiting and rows + size > most:
            yield waiting
            waiting, rows = [], 0
        waiting.append(item)
        rows += size
    if waiting:
        yield waiting


def can_join(a: pa.RecordBatch, b: pa.RecordBatch) -> bool:
    """Have two batches the same columns and the same marks? Only such batches may be joined."""
    return bool(a.schema.equals(b.schema, check_metadata=True))


def in_runs(batches: Iterable[pa.RecordBatch], enough: float = float("inf")) -> Iterator[list[pa.RecordBatch]]:
    """Runs of consecutive batches that are alike; a run ends when it has ``enough`` rows.

    >>> one, other = pa.record_batch({"ts": [1, 2]}), pa.record_batch({"at": [1, 2]})
    >>> [len(run) for run in in_runs([one, one, one, other, one], 3)]
    [2, 1, 1, 1]
    """
    run: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        if run and (rows >= enough or not can_join(run[0], batch)):
            yield run
            run, rows = [], 0
        run.append(batch)
        rows += batch.num_rows
    if run:
        yield run


def concat(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch | None:
    """The batches as one, or None where Arrow cannot join them: a joined dictionary may have more values than its
    indices can count."""
    if len(batches) == 1:
        return batches[0]
    try:
        return concat_batches(batches)
    except pa.ArrowInvalid:
        return None


def as_one(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """The batches as one, or as they are where Arrow cannot join them."""
    whole = concat(batches)
    return batches if whole is None else [whole]
