"""Slack by rows: a row is late iff more than n greater ones came before it (Aurora's "out of order by n", Aurora paper,
section 5.2.2). How many greater rows came before a late row is measured (`slack_needed.py`)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from oop.operators.source.judges.judge import Greater, Judge
from oop.operators.source.slack_needed import SlackNeeded
from oop.punctuation.patterns import Bound
from oop.punctuation.progress import Linear, Progress
from oop.punctuation.trackers import NthGreatest


class ByRank(Judge):
    """``arrivals`` are the last rows that came, from the first that was judged on."""

    def __init__(self, progress: Progress) -> None:
        super().__init__(progress)
        assert isinstance(progress, Linear) and type(progress.tracker) is NthGreatest
        self.tracker = progress.tracker
        self.arrivals: SlackNeeded | None = None
        self.first_row = 0  # the number of rows that came before this judge was started

    def resume(self, rows: int) -> None:
        self.arrivals, self.first_row = None, rows

    def bounds(self, times: np.ndarray, rows: pa.RecordBatch) -> np.ndarray:
        tracker = self.tracker
        top = np.sort(np.array(tracker.top, times.dtype))
        bounds, top = self.kernels.prefix_bounds_rows(times, top, tracker.n)
        tracker.restore(top.tolist())  # ascending: already a heap
        return bounds

    def judge(self, times: np.ndarray, rows: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray, Greater | None]:
        before = self.tracker.greatest
        late, bounds, _ = super().judge(times, rows)
        places = np.flatnonzero(late)
        greater = self.measure(times, places, before) if len(places) else None
        self.came(times, before, self.tracker.greatest)
        return late, bounds, greater

    def measure(self, times: np.ndarray, late: np.ndarray, before: Bound | None) -> Greater:
        """At least and at most how many greater rows came before the late ones, which are at these places of the rows
        that come. ``before`` is the greatest value before all of these."""
        return self._since(before).greater(times, late)

    def came(self, times: np.ndarray, before: Bound | None, greatest: Bound | None) -> None:
        """Take note of rows that have come; ``greatest`` is the greatest value behind them."""
        self._since(before).add(times, greatest)

    def _since(self, greatest: Bound | None) -> SlackNeeded:
        if self.arrivals is None:
            self.arrivals = SlackNeeded(self.tracker.n, self.first_row, greatest)
        return self.arrivals
