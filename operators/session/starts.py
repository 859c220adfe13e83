"""The start of the earliest open session, which limits the promise about ``window_start``.

Sessions are filed by slices of their start when they are made, and again when a row lowers their start. A session that
has gone stays in its slice until that slice is the first. So a look costs one slice now and then, instead of all open
sessions at every promise.
"""

from __future__ import annotations

import numpy as np

from oop.kernels.signatures.sessions import OPEN
from oop.operators.core.time_slices import TimeSlices

_SLACK = 4_096  # the slices may always have this many entries of sessions that are gone


class Starts:
    """``span`` and ``whole`` are those of `TimeSlices`."""

    def __init__(self, span: int | float, whole: bool) -> None:
        self._span, self._whole = span, whole
        self._slices = TimeSlices(span, whole)
        self._least: tuple[int, int | float] | None = None  # the slot of the earliest session, and its start

    @property
    def nbytes(self) -> int:
        return self._slices.nbytes

    def add(self, slots: np.ndarray, sessions: np.ndarray) -> None:
        """File sessions that are new, or begin earlier than before."""
        if not len(slots):
            return
        starts = sessions["start"][slots]
        self._slices.add(slots, starts)
        first = int(np.argmin(starts))
        if self._least is not None and starts[first] < self._least[1]:
            self._least = int(slots[first]), starts[first].item()

    def least(self, sessions: np.ndarray, count: int) -> int | float | None:
        """The least start of the ``count`` sessions that are open."""
        if self._least is not None:
            slot, start = self._least
            if sessions["state"][slot] & OPEN and sessions["start"][slot] == start:
                return start
        if self._slices.nbytes > 4 * (4 * count + _SLACK):
            self._slices = TimeSlices(self._span, self._whole)
            self._slices.add(np.flatnonzero(sessions["state"] & OPEN), sessions["start"][sessions["state"] & OPEN > 0])
        self._least = None
        for number in self._slices.numbers():
            slots = self._slices.places(number)
            starts = sessions["start"][slots]
            # A slot may have been reused since; the session that has it now is filed under its own start.
            here = (sessions["state"][slots] & OPEN > 0) & (self._slices.numbers_of(starts) == number)
            slots, starts = slots[here], starts[here]
            self._slices.replace(number, slots)
            if len(slots):
                first = int(np.argmin(starts))
                self._least = int(slots[first]), starts[first].item()
                break
        return None if self._least is None else self._least[1]
