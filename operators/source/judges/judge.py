"""What a judge is: a running policy's say about whole batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, TypeAlias

import numpy as np
import pyarrow as pa

from oop.kernels import dispatch
from oop.operators.core.train import Helps
from oop.punctuation.patterns import Bound
from oop.punctuation.progress import Progress

Greater: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Of late rows at least, and at most, how many greater ones came before each."""


class Judge(ABC):
    """Judges the rows of batches by a running policy, which has seen them then. Times are there, and no NaN."""

    looks: ClassVar[bool] = False
    """Can it tell at one look, by `passes`, that no row of a batch is late?"""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.attribute = progress.attribute
        self.kernels = dispatch.kernels()

    @abstractmethod
    def bounds(self, times: np.ndarray, rows: pa.RecordBatch) -> np.ndarray:
        """For each row the bound that the rows before it imply; the least number where they imply none."""

    def judge(self, times: np.ndarray, rows: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray, Greater | None]:
        """Which rows are late, their bounds, and where it is known how many greater ones came before the late ones."""
        bounds = self.bounds(times, rows)
        return self.kernels.mark_late(times, bounds), bounds, None

    def passes(self, times: np.ndarray, helps: Helps | None = None, ends: Sequence[int] = ()) -> bool:
        """Is one look enough: no row is late, and no promise on the way helps? Then it has seen the rows; else, and if
        it cannot tell, nothing has changed. ``ends`` are those of the batches that were coupled into this one."""
        return False

    def rise(self) -> Bound | None:
        """After rows that passed: the bound to be promised now, if there is one; it counts as promised then."""
        return self.progress.rise()

    def resume(self, rows: int) -> None:  # noqa: B027 - most judges remember nothing of their own
        """The policy is where it was after so many rows."""
