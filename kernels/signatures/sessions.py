"""Open sessions by key: chains of intervals over arrays that the caller owns.

A session is a record of `session_dtype`. A row is in reach of a session of its key if its time is no later than the
session's end (its last time and the gap), and its time and the gap are no earlier than the session's start. Sessions of
a key never touch, and stand in a chain with the newest first. Slots are numbers of records; slot 0 is never used, and
stands for no session.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oop.errors import TimeError
from oop.kernels.checks import INT64, INT64_MAX, Array, Ints, KernelError, Real, check_array, check_ids, check_times
from oop.kernels.signatures.stem import Stem

OPEN, CHANGED, ABSORBED = 1, 2, 4  # the bits of a session's state
MOST_SLOTS = 2**32 - 1

Slots = NDArray[np.uint32]


class Extended(NamedTuple):
    """What became of rows. ``slots`` has the session of each row. ``made`` are the new sessions, in the order in which
    they were made. ``lowered`` are sessions that begin earlier now (one may be named twice). ``absorbed`` were bridged
    to a newer session; ``survivors`` have their rows in the end. ``steps`` sessions were looked at in vain."""

    slots: Ints
    made: Ints
    lowered: Ints
    absorbed: Ints
    survivors: Ints
    steps: int


class Dropped(NamedTuple):
    """Sessions that are taken out of their chains: which key each had, where it began, and where it ended."""

    keys: Ints
    starts: Array
    ends: Array


def session_dtype(time: Any) -> np.dtype[Any]:
    """One session; ``time`` is int64 or float64.

    >>> session_dtype(np.int64).itemsize
    32
    """
    links = [(name, np.uint32) for name in ("older", "newer", "key", "state")]
    return np.dtype([("start", time), ("end", time), *links])


class SessionKernels(Stem):
    def extend_sessions(
        self, keys: Ints, times: Array, gap: Real, heads: Slots, sessions: Array, free: Slots
    ) -> Extended:
        """Put each row into the session of its key that it is in reach of, else into a new one; a row may bridge two.

        ``heads`` has each key's newest session. New sessions take slots from the end of ``free``, which must have one
        for each row; the caller shortens it. Of two sessions that are bridged the newer one stays. The other one is
        ABSORBED, and keeps its slot until the caller frees it.

        >>> from oop.kernels.dispatch import kernels
        >>> heads, sessions = np.zeros(1, np.uint32), np.zeros(4, session_dtype(np.int64))
        >>> free, keys, times = np.array([3, 2, 1], np.uint32), np.array([0, 0, 0]), np.array([10, 20, 15])
        >>> found = kernels("reference").extend_sessions(keys, times, 5, heads, sessions, free)
        >>> found.slots.tolist(), found.absorbed.tolist(), sessions[2]["start"].item(), sessions[2]["end"].item()
        ([2, 2, 2], [1], 10, 25)
        """
        times = check_times(times)
        _check_state(heads, sessions, times.dtype)
        check_ids(keys, len(heads), len(times), "keys")
        check_array("free", free, np.uint32)
        if len(free) < len(times):
            raise KernelError(f"there are {len(free)} free slots for {len(times)} rows")
        used = free[len(free) - len(times) :]
        if len(used) and not 0 < int(used.min()) <= int(used.max()) < len(sessions):
            raise KernelError(f"free slots are from 1 to {len(sessions) - 1}")
        _check_gap(gap, times)
        return self.run.extend_sessions(keys, times, gap, heads, sessions, free)

    def drop_sessions(self, slots: Ints, heads: Slots, sessions: Array) -> Dropped:
        """Take open sessions out of their chains, so that their slots may be used again.

        >>> from oop.kernels.dispatch import kernels
        >>> heads, sessions = np.zeros(1, np.uint32), np.zeros(2, session_dtype(np.int64))
        >>> chosen, free = kernels("reference"), np.array([1], np.uint32)
        >>> _ = chosen.extend_sessions(np.array([0]), np.array([7]), 5, heads, sessions, free)
        >>> chosen.drop_sessions(np.array([1]), heads, sessions)
        Dropped(keys=array([0]), starts=array([7]), ends=array([12]))
        >>> heads[0].item(), sessions[1]["state"].item()
        (0, 0)
        """
        _check_state(heads, sessions, sessions["start"].dtype)
        check_ids(slots, len(sessions), name="slots")
        found = self.run.drop_sessions(slots, heads, sessions)
        if found is None:
            raise KernelError("a session that is to be dropped is not open, or is named twice")
        return Dropped(*found)

    def sessions_until(self, sessions: Array, last: Real) -> tuple[Ints, Real | None]:
        """The open sessions that end no later than ``last``, in order; and where the first of the others begins.

        >>> from oop.kernels.dispatch import kernels
        >>> sessions = np.zeros(4, session_dtype(np.int64))
        >>> sessions[1:] = [(5, 9, 0, 0, 1, OPEN), (6, 8, 0, 0, 0, OPEN), (1, 2, 0, 0, 0, ABSORBED)]
        >>> slots, least = kernels("reference").sessions_until(sessions, 8)
        >>> slots.tolist(), least
        ([2], 5)
        """
        time = sessions["end"].dtype
        check_array("sessions", sessions, session_dtype(time))
        if not sessions.flags.c_contiguous:
            raise KernelError("sessions must be contiguous")
        if isinstance(last, bool) or not isinstance(last, int if time == np.int64 else (int, float)):
            raise KernelError(f"the last end must be a number as the ends are; not {last!r}")
        return self.run.sessions_until(sessions, last)


def _check_state(heads: Slots, sessions: Array, time: Any) -> None:
    check_array("heads", heads, np.uint32)
    check_array("sessions", sessions, session_dtype(time))
    for name, array in (("heads", heads), ("sessions", sessions)):
        if not array.flags.writeable or not array.flags.c_contiguous:
            raise KernelError(f"{name} must be writable and contiguous")


def _check_gap(gap: Real, times: Array) -> None:
    """Check the gap, and that the session of every time has an end that fits its type."""
    whole = times.dtype == INT64
    if isinstance(gap, bool) or not isinstance(gap, int if whole else (int, float)) or not 0 <= gap < math.inf:
        raise KernelError(f"the gap must be a number in the unit of the times, and not negative; not {gap!r}")
    if not len(times):
        return
    if whole:
        latest = int(times.max())
        if latest > INT64_MAX - gap:
            raise TimeError(
                f"time {latest} is too close to the limit of 64-bit integers for sessions with a gap of {gap}",
                hint="drop such rows, or use a coarser time unit",
            )
        return
    with np.errstate(over="ignore"):
        ends = times + gap
    if not np.isfinite(ends).all():
        time = float(times[np.argmin(np.isfinite(ends))])
        hint = "drop rows whose time is NaN or infinite"
        if math.isfinite(time):
            raise TimeError(f"time {time} is too far from zero for sessions with a gap of {gap}", hint=hint)
        raise TimeError(f"time {time} has no session", hint=hint)
