"""Judges order by a policy, as a source judges its rows. It serves slack in time, and orders that also promise about
all groups together, because their groups are known or retire."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.assume.progress import GROUPS, OrderProgress
from oop.operators.core.parts import Part, read_text, text_part
from oop.operators.source.judges import judge_of
from oop.punctuation import Policy
from oop.punctuation.group_promises import Promise
from oop.punctuation.trackers import Tracker

_TRACKER, _VALUE = 64, 40  # the bytes in Python of a group, and of each number that is kept for it


class ByPolicy(OrderProgress):
    """Judges and promises as a source with that policy would for the same rows (OOP paper, section 3.2).

    >>> import oop
    >>> seen = ByPolicy(oop.slack(3), "ts")
    >>> seen.observe(pa.record_batch({"ts": [7, 5, 3]}))[1:].tolist(), list(seen.promises())
    ([4, 4], [Punctuation(ts < 4)])
    """

    def __init__(self, policy: Policy, on: str) -> None:
        self.progress = policy.start(on)
        self.judge = judge_of(self.progress)
        self._bytes, self._rows = 0, len(self.progress.trackers_now())  # the bytes as last counted, and rows since

    @property
    def nbytes(self) -> int:
        """An estimate, because it is asked for after every batch. Groups are counted when as many rows have come as
        there are groups; in between each row is taken for a group of its own."""
        trackers = self.progress.trackers_now()
        if self._rows >= len(trackers):
            self._bytes, self._rows = sum(map(_size, trackers)), 0
        return self._bytes + self._rows * (_TRACKER + _VALUE)

    def observe(self, batch: pa.RecordBatch) -> np.ndarray:
        self._rows += batch.num_rows
        times = views.times(batch.column(self.progress.attribute))
        return self.judge.bounds(times, batch)

    def promises(self) -> Iterator[Promise]:
        return self.progress.together()

    def save(self) -> Iterator[Part]:
        yield text_part(GROUPS, self.progress.state())

    def load(self, parts: Mapping[str, pa.RecordBatch | None]) -> None:
        part = parts.get(GROUPS)
        if part is not None:
            said: Any = read_text(part)
            self.progress.restore(said)
            self._rows = len(self.progress.trackers_now())


def _size(tracker: Tracker) -> int:
    return _TRACKER + _VALUE * tracker.kept
