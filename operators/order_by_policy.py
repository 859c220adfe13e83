"""An order whose groups are known, or retire: all groups together are promised about too (DESIGN section 3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.base import Part, read_text, text_part
from oop.operators.group_bounds import prefix_bounds_grouped
from oop.operators.order_progress import GROUPS, OrderProgress
from oop.punctuation import Policy
from oop.punctuation.group_promises import Promise
from oop.punctuation.progress_groups import Grouped
from oop.punctuation.trackers import NthGreatest, Tracker

_TRACKER, _VALUE = 64, 40  # bytes of a group, and of each number that is kept of it, as Python has them


class ByPolicy(OrderProgress):
    """Groups that are known, or that retire, so that something can be promised about all rows, as a source does it
    (DESIGN section 3)."""

    def __init__(self, policy: Policy, on: str) -> None:
        self.progress = Grouped(policy, on)
        self._bytes, self._rows = 0, len(self.progress.trackers)  # as last counted, and rows since

    @property
    def nbytes(self) -> int:
        """Asked for after every batch: groups are counted anew when as many rows have come as there are groups, and
        in between each row is taken for a group of its own."""
        trackers = self.progress.trackers
        if self._rows >= len(trackers):
            self._bytes, self._rows = sum(map(_size, trackers.values())), 0
        return self._bytes + self._rows * (_TRACKER + _VALUE)

    def observe(self, batch: pa.RecordBatch) -> np.ndarray:
        self._rows += batch.num_rows
        times = views.times(batch.column(self.progress.attribute))
        return prefix_bounds_grouped(self.progress, times, *map(batch.column, self.progress.columns))

    def promises(self) -> Iterator[Promise]:
        return self.progress.together()

    def save(self) -> Iterator[Part]:
        yield text_part(GROUPS, self.progress.state())

    def load(self, parts: Mapping[str, pa.RecordBatch | None]) -> None:
        part = parts.get(GROUPS)
        if part is not None:
            said: Any = read_text(part)
            self.progress.restore(said)
            self._rows = len(self.progress.trackers)


def _size(tracker: Tracker) -> int:
    return _TRACKER + _VALUE * (len(tracker.top) if isinstance(tracker, NthGreatest) else 1)
