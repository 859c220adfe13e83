"""The rows of a batch after which early results are shown, where they are shown after every n-th row.

An operator whose windows are numbered by arrival (Tumble) has the rows of each window counted from its first; for
other operators all rows are counted. Either way the batches do not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa


@runtime_checkable
class NumbersWindows(Protocol):
    """An operator that has one open window, ``run``, and tells of the rows that come which window each is in."""

    run: int

    def windows_of(self, batch: pa.RecordBatch) -> np.ndarray: ...


class RowSteps:
    """``seen`` rows have come, of the ``window`` that is open where windows are told apart.

    >>> steps = RowSteps(2, None)
    >>> [(piece.num_rows, due) for piece, due in steps.pieces(pa.record_batch({"v": [1, 2, 3]}))]
    [(2, True), (1, False)]
    >>> [(piece.num_rows, due) for piece, due in steps.pieces(pa.record_batch({"v": [4, 5]}))]
    [(1, True), (1, False)]
    """

    def __init__(self, rows: int, of: object) -> None:
        self.rows = rows
        self.of = of if isinstance(of, NumbersWindows) else None
        self.seen, self.window = 0, 0

    def pieces(self, batch: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, bool]]:
        """The batch cut behind each row after which results are looked at, and whether they are after each piece."""
        if not batch.num_rows:
            return
        counts = self._counts(batch)
        self.seen = int(counts[-1])
        ends = np.flatnonzero(counts % self.rows == 0) + 1
        start = 0
        for end in ends.tolist():
            yield batch.slice(start, end - start), True
            start = end
        if start < batch.num_rows:
            yield batch.slice(start), False

    def _counts(self, batch: pa.RecordBatch) -> np.ndarray:
        """The number of each row, from 1, among all rows or among those of its window."""
        numbers = np.arange(1, batch.num_rows + 1)
        if self.of is None:
            return numbers + self.seen
        windows = self.of.windows_of(batch)
        if self.of.run != self.window:  # a promise has ended the window that was counted
            self.seen = 0
        begins = np.diff(windows, prepend=self.of.run) != 0
        begun = np.maximum.accumulate(np.where(begins, numbers - 1, 0))  # the rows before the window of each
        self.window = int(windows[-1])
        return np.asarray(numbers - begun + np.where(windows == self.of.run, self.seen, 0))

    def state(self) -> Any:
        return [self.seen, self.window]

    def restore(self, state: Any) -> None:
        self.seen, self.window = state
