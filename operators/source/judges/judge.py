"""The base of judges, which apply a running policy to whole batches."""

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
"""For each late row, at least and at most how many greater rows came before it."""


class Judge(ABC):
    """Judges the rows of batches by a running policy, which takes them in. All times are present, and none is NaN."""

    looks: ClassVar[bool] = False
    """Can it tell at one look, by `passes`, that no row of a batch is late?"""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.attribute = progress.attribute
        self.kernels = dispatch.kernels()

    @abstractmethod
    def bounds(self, times: np.ndarray, rows: pa.RecordBatch) -> np.ndarray:
        """For each row the bound that the rows before it imply; the least number of the type if they imply none."""

    def judge(self, times: np.ndarray, rows: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray, Greater | None]:
        """Which rows are late, the bounds of all rows, and if known, how many greater rows came before the late
        ones."""
        bounds = self.bounds(times, rows)
        return self.kernels.find_late(times, bounds), bounds, None

    def passes(self, times: np.ndarray, helps: Helps | None = None, ends: Sequence[int] = ()) -> bool:
        """Does one look tell that no row is late and no promise on the way helps? If so, the policy has taken the rows
        in; if not, or if it cannot tell, nothing has changed. ``ends`` are the ends of the batches that were joined
        into this one."""
        return False

    def rise(self) -> Bound | None:
        """The bound to be promised after rows that passed, if there is a new one. It counts as promised from then
        on."""
        return self.progress.rise()

    def resume(self, rows: int) -> None:  # noqa: B027 - most judges remember nothing of their own
        """Take note that the policy was restored to its state after ``rows`` rows."""
