"""Slack by time: a row is late iff it is below the greatest time before it minus the slack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pyarrow as pa

from oop.kernels.checks import INT64
from oop.operators.core.train import Helps
from oop.operators.source.judges.judge import Judge
from oop.punctuation import Punctuation
from oop.punctuation.patterns import Bound
from oop.punctuation.progress import Linear, Progress
from oop.punctuation.trackers import Greatest


class ByGreatest(Judge):
    """One look at the times is enough for most batches: a kernel says whether any row is late, and how far they go."""

    looks: ClassVar[bool] = True

    def __init__(self, progress: Progress) -> None:
        super().__init__(progress)
        assert isinstance(progress, Linear) and type(progress.tracker) is Greatest  # its kernels know this bound alone
        self.tracker = progress.tracker

    def bounds(self, times: np.ndarray, rows: pa.RecordBatch) -> np.ndarray:
        tracker = self.tracker
        bounds, tracker.greatest = self.kernels.prefix_bounds(times, tracker.greatest, tracker.slack)
        return bounds

    def passes(self, times: np.ndarray, helps: Helps | None = None, ends: Sequence[int] = ()) -> bool:
        tracker, progress = self.tracker, self.progress
        before = tracker.greatest
        greatest: Bound | None
        if len(times) == 1 and times.dtype == INT64:  # a live batch may be one row, and a kernel costs more than this
            time = times.item()
            late, greatest = before is not None and time < before - tracker.slack, time
            if before is not None and before > time:
                greatest = before
        else:
            late, greatest = self.kernels.scan_times(times, before, tracker.slack)
        if late:
            return False
        tracker.greatest = greatest
        if greatest is None or (progress.every is None and len(ends) <= 1):
            return True
        bound = greatest - tracker.slack
        if progress.due(bound, progress.promised):
            if helps is None or helps(Punctuation({self.attribute: bound})):
                tracker.greatest = before
                return False
            progress.promised = bound  # the steps up to this one help no consumer, so they count as promised
        return True

    def rise(self) -> Bound | None:
        greatest, progress = self.tracker.greatest, self.progress
        if greatest is None:
            return None
        bound = greatest - self.tracker.slack
        if progress.promised is not None and bound <= progress.promised:
            return None
        progress.promised = bound
        return bound
