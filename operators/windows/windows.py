"""What `Bucket` and `Aggregate` need to know of windows, whatever decides where they begin and end.

A grid (`bucket.py`) has windows of one length, a calendar (`calendar.py`) days or months, a landmark
(`oop.operators.aggregate.landmark`) windows that all begin at one time.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from oop.punctuation.patterns import Bound


class Windows(Protocol):
    """Windows by number (wid), in the units of the attribute they are on. A greater wid never ends earlier.

    Numbers and edges fit 64 bits: `wids` raises TimeError for a time whose window, or the one after it, would not, and
    `wid_bound`, which may be given bounds far from any row, stays within them (see `Calendar.limit`).
    """

    @property
    def overlaps(self) -> bool:
        """May a time be in several windows, which are composed of panes?"""
        ...

    @property
    def tumbles(self) -> bool:
        """Is every time in exactly one window?"""
        ...

    @property
    def gaps(self) -> bool:
        """May a time be in no window?"""
        ...

    def wids(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The first and last window of every time; first > last where it is in none (OOP paper, A.2.2: wids)."""
        ...

    def wid_bound(self, bound: Bound) -> int | None:
        """The least wid that may still get a row under ``t < bound``; None if no bound says anything."""
        ...

    def start(self, wid: Bound) -> Bound: ...

    def end(self, wid: Bound) -> Bound: ...

    def edges(self, wids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Start and end of many windows."""
        ...
