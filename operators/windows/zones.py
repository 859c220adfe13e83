"""Local time in a zone, for whole arrays: what the clock on the wall shows, and when it first showed a time.

A clock that is set back shows some times twice. Windows need one that never runs backwards, so the local time here is
the greatest that the clock has shown so far: it stands still until the hour that it was set back by has passed.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache, lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

_DAY = 86_400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CYCLE = 400  # years: then the calendar repeats, with its weekdays, and with it every rule of a zone
_FIRST, _LAST = 2, 9998  # years that Python's datetime has whole, with a day to spare on both sides
_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)")


class ZoneOffsets(NamedTuple):
    """Pieces of time in which a zone's clock runs evenly; each year begins with a new one. In ticks of a column."""

    since: np.ndarray  # in UTC
    offset: np.ndarray  # local time less UTC
    before: np.ndarray  # all local times shown before the piece are below this
    after: np.ndarray  # all local times shown up to the end of the piece are below this

    def local(self, times: np.ndarray) -> np.ndarray:
        """The greatest local time that was shown up to each time."""
        piece = np.searchsorted(self.since, times, side="right") - 1
        return np.maximum(times + self.offset[piece], self.before[piece] - 1)

    def first(self, local: np.ndarray) -> np.ndarray:
        """The first instant at which the clock showed each local time or a later one."""
        piece = np.searchsorted(self.after, local, side="right")
        return np.maximum(self.since[piece], local - self.offset[piece])


@cache
def zone_of(name: str) -> tzinfo:
    """A zone by its IANA name, or an offset as Arrow writes it; ValueError if there is none.

    >>> zone_of("+05:30").utcoffset(None)
    datetime.timedelta(seconds=19800)
    """
    fixed = _OFFSET.fullmatch(name)
    if fixed:
        sign, hours, minutes = fixed.groups()
        return timezone((1 if sign == "+" else -1) * timedelta(hours=int(hours), minutes=int(minutes)))
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as wrong:
        raise ValueError(f"no time zone {name!r} is known; zones are named as 'Europe/Berlin' or '+05:30'") from wrong


@lru_cache(maxsize=256)
def clock(name: str, years: tuple[int, ...], per_second: int) -> ZoneOffsets:
    """The clock of a zone in these years of UTC, which ascend; they need not follow each other."""
    pieces = np.array([piece for year in years for piece in _year(name, year)], np.int64) * per_second
    return ZoneOffsets(*pieces.T.copy())


def years_of(times: np.ndarray, unit: str) -> tuple[int, ...]:
    """The years of UTC that times fall in, perhaps with some in between."""
    if not len(times):
        return (1970,)
    ends = _years(np.array([times.min(), times.max()]), unit).tolist()
    if ends[1] - ends[0] < _CYCLE:
        return tuple(range(ends[0], ends[1] + 1))
    return tuple(np.unique(_years(times, unit)).tolist())


def _years(times: np.ndarray, unit: str) -> np.ndarray:
    return times.view(f"M8[{unit}]").astype("M8[Y]").astype(np.int64) + 1970


def _new_year(year: int) -> int:
    return int(np.datetime64(year - 1970, "Y").astype("M8[D]").astype(np.int64)) * _DAY


@cache
def _year(name: str, year: int) -> list[tuple[int, int, int, int]]:
    """The rows of a `ZoneOffsets` for one year, in seconds."""
    known = year
    if not _FIRST <= year <= _LAST:  # before the first rule of the zone, or under its last one, which holds forever
        known = _FIRST + (year - _FIRST) % _CYCLE if year < _FIRST else _LAST - (_LAST - year) % _CYCLE
    moved = _new_year(year) - _new_year(known)
    begin, end = _new_year(known), _new_year(known + 1)
    # No zone was ever moved by more than a day and a bit, so what was shown more than two days ago has been passed.
    changes = _changes(zone_of(name), begin - 2 * _DAY, end)
    rows = []
    reached = changes[0][0] + changes[0][1]
    for (since, offset), (until, _) in zip(changes, [*changes[1:], (end, 0)], strict=True):
        before, reached = reached, max(reached, until + offset)
        if until > begin:
            since = max(since, begin)
            rows.append((since + moved, offset, before + moved, reached + moved))
    return rows


def _changes(zone: tzinfo, begin: int, end: int) -> list[tuple[int, int]]:
    """When the zone's offset changes from ``begin`` on, and to what.

    The offset is sampled once a day, and where it differs the second of the change is found by bisection. That is
    enough, because no zone has ever changed twice within three days (a test checks all of them).
    """
    found = [(begin, _offset(zone, begin))]
    for day in range(begin, end, _DAY):
        until = min(day + _DAY, end)
        now, then = found[-1][1], _offset(zone, until)
        if now == then:
            continue
        low, high = day, until
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _offset(zone, middle) == now else (low, middle)
        if high < end:
            found.append((high, then))
    return found


def _offset(zone: tzinfo, seconds: int) -> int:
    offset = (_EPOCH + timedelta(seconds=seconds)).astimezone(zone).utcoffset()
    assert offset is not None
    return round(offset.total_seconds())
