"""Calendar windows: hours, days, weeks, months, quarters, years as a clock on the wall shows them.

Window ``w`` begins at the first instant at which local time had reached the begin of unit ``w·every`` since 1970, and
ends where the next one begins. So windows tile time whatever clocks do: a day has 23 or 25 hours when the clock is
changed, begins at 1:00 where midnight was skipped, at the first of two midnights, and is empty where the whole day was.

>>> berlin = Calendar("day", 1, "Europe/Berlin", "s")
>>> noon = np.array([1711800000])  # 2024-03-30 12:00 UTC; the clock was set forward in the night after
>>> wid = berlin.wids(noon)[0]
>>> [int(berlin.end(w) - berlin.start(w)) // 3600 for w in (wid[0], wid[0] + 1)]
[24, 23]
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from oop.errors import TimeError
from oop.frozen import frozen
from oop.operators.windows.zones import clock, years_of
from oop.punctuation.patterns import Bound

UNITS = {"hour": 1, "day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}
"""The units, and their greatest length in days."""
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_FAR = 2**52  # days: beyond, NumPy's months overflow
_MONDAY = 3  # days from Monday to Thursday, the first of January 1970


@frozen()
class Calendar:
    """``zone`` None: times are local already. ``ticks`` is the unit of the times: s, ms, us, ns, or D for days."""

    unit: str
    every: int
    zone: str | None
    ticks: str
    overlaps = False
    tumbles = True
    gaps = False

    @property
    def per_day(self) -> int:
        return 1 if self.ticks == "D" else _PER_SECOND[self.ticks] * 86_400

    @property
    def limit(self) -> int:
        """The distance from 1970 within which a time's window and the next one fit into 64 bits."""
        margin = (2 * UNITS[self.unit] * self.every + 400) * self.per_day
        return min(2**63 - margin, _FAR * self.per_day)

    def wids(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The window of each time. Windows tile time, so if there are fewer windows than rows, rows are looked up among
        the starts of the windows."""
        if not len(times):
            return times, times
        ends = np.array([times.min(), times.max()])
        if max(-int(ends[0]), int(ends[1])) >= self.limit:
            raise TimeError(
                f"a time is too close to the limit of 64-bit integers for windows of {self.every} {self.unit}",
                hint="cast the time column to a coarser unit first",
            )
        first, last = self._numbers(ends).tolist()
        if first == last:
            found = np.full(len(times), first)
        elif last - first < len(times):
            found = first + np.searchsorted(_starts(self, first, last), times, side="right") - 1
        else:
            found = self._numbers(times)
        return found, found

    def wid_bound(self, bound: Bound) -> int:
        """The window that contains the bound: every one below it has ended."""
        # No time lies beyond the limit, so a bound beyond it says no more than a bound at the limit.
        at = max(-self.limit, min(self.limit, math.ceil(bound)))
        return int(self._numbers(np.array([at]))[0])

    def start(self, wid: Bound) -> Bound:
        return int(self._instants(np.array([int(wid)]))[0])

    def end(self, wid: Bound) -> Bound:
        return self.start(int(wid) + 1)

    def edges(self, wids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        known, places = np.unique(wids, return_inverse=True)  # rows are of few windows
        return self._instants(known)[places], self._instants(known + 1)[places]

    def _numbers(self, times: np.ndarray) -> np.ndarray:
        """The window of each time."""
        local = times
        if self.zone is not None:
            local = clock(self.zone, years_of(times, self.ticks), _PER_SECOND[self.ticks]).local(times)
        if self.unit in _MONTHS:
            months = local.view(f"M8[{self.ticks}]").astype("M8[M]").astype(np.int64)
            return months // (_MONTHS[self.unit] * self.every)
        if self.unit == "hour":
            return local // (self.per_day // 24 * self.every)
        days = local // self.per_day
        return days // self.every if self.unit == "day" else (days + _MONDAY) // (7 * self.every)

    def _instants(self, wids: np.ndarray) -> np.ndarray:
        """Where windows begin."""
        local = self._locals(wids)
        if self.zone is None:
            return local
        near = 2 * self.per_day  # a year's first instants may be in the year before, or after
        years = {y for apart in (-near, near) for y in years_of(local + apart, self.ticks)}
        return clock(self.zone, tuple(sorted(years)), _PER_SECOND[self.ticks]).first(local)

    def _locals(self, wids: np.ndarray) -> np.ndarray:
        """The local times at which windows begin."""
        units = wids * self.every
        if self.unit == "hour":
            return units * (self.per_day // 24)
        if self.unit in _MONTHS:
            days = (units * _MONTHS[self.unit]).view("M8[M]").astype("M8[D]").astype(np.int64)
        else:
            days = units if self.unit == "day" else units * 7 - _MONDAY
        return days * self.per_day


@lru_cache(maxsize=64)
def _starts(calendar: Calendar, first: int, last: int) -> np.ndarray:
    return calendar._instants(np.arange(first, last + 1))
