"""The open sessions of all groups: their intervals, their partial aggregates, and which of them are due.

A session has a *slot*, its index in all arrays; slots are reused. A group's sessions are found by the dense id of its
key (`KeyTable`, then the kernels' chains). The sessions that a promise closes are found in one pass over all, as long
as enough rows came between promises to pay for it; else sessions are filed by their ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import dictionaries
from oop.kernels.scratch import lasting_array, longer_array
from oop.kernels.signatures.sessions import OPEN, Dropped, Extended, session_dtype
from oop.operators.core.coverage import INT64_MAX, INT64_MIN, as_int64
from oop.operators.core.keys import Key, KeyTable
from oop.operators.functions.accumulators import Accumulator, Prepared
from oop.operators.groups.shape import Shape
from oop.operators.session.filed import FiledSessions, Gone

_SLACK = 4_096  # the table may always have this many keys without a session, and this many slots
_CROWDED = 4  # batches are sorted once rows look at more than this many sessions each, on average
_PASSED = 8  # a pass looks at this many sessions in the time that one row takes


class SessionTable:
    """``gap`` is in the unit of the times, which are ``whole`` or floats."""

    def __init__(self, shape: Shape, gap: int | float, whole: bool) -> None:
        self.shape, self.gap, self.whole = shape, gap, whole
        self._keeps_filed = False
        self.version = 0  # counts the times that anything changed but by a program
        self.begin()

    def begin(self) -> None:
        """Start with no open session."""
        self.keys = KeyTable(self.shape.kinds)
        self.accumulators = self.shape.accumulators()
        self.version = self.version + 1
        self.heads = np.zeros(1, np.uint32)  # by key: its newest session
        self.sessions = np.zeros(1, session_dtype(np.int64 if self.whole else np.float64))
        self._free = np.zeros(1, np.uint32)
        self._frees = 0
        self.count = 0
        self.sorts = False
        self._rows = self._credit = 0  # rows since the last promise; rows that have not paid for a pass yet
        self._least: int | float | None = None  # the start of the earliest session at the last pass
        self.filed = FiledSessions(self) if self._keeps_filed else None

    def __len__(self) -> int:
        return self.count

    @property
    def nbytes(self) -> int:
        if not len(self.keys):  # as after `begin`
            return 0
        arrays = self.sessions.nbytes + self.heads.nbytes + self._free.nbytes
        lists = 0 if self.filed is None else self.filed.nbytes
        return self.keys.nbytes + arrays + lists + sum(a.nbytes for a in self.accumulators)

    def add(self, keys: Sequence[Key], times: np.ndarray, values: Sequence[Prepared]) -> None:
        """Take rows in."""
        self.version += 1
        slots = self._extend(self.map(keys, len(times)), times)
        for accumulator, value in zip(self.accumulators, values, strict=True):
            accumulator.update(slots, value)

    def map(self, keys: Sequence[Key], length: int) -> np.ndarray:
        """The ids of keys. A new key gets the next id."""
        ids = self.keys.map(keys, length)
        self.make_heads()
        return ids

    def make_heads(self) -> None:
        """Let each key have a head."""
        if len(self.keys) > len(self.heads):
            used = len(self.heads)
            self.heads = longer_array(self.heads, max(len(self.keys), 2 * used))
            self.heads[used:] = 0

    def _extend(self, ids: np.ndarray, times: np.ndarray) -> np.ndarray:
        self.make_room(len(times))
        # Chains may be long: with the newest row of a key first, each row is found from the one before it.
        order = np.lexsort((times, ids))[::-1] if self.sorts else None
        if order is not None:
            ids, times = ids[order], times[order]
        found = self.shape.kernels.extend_sessions(ids, times, self.gap, self.heads, self.sessions, self.free)
        self.extended(found, len(times))
        if order is None:
            return found.slots
        slots = np.empty_like(found.slots)
        slots[order] = found.slots
        return slots

    @property
    def free(self) -> np.ndarray:
        """The slots that are free."""
        return self._free[: self._frees]

    def extended(self, found: Extended, rows: int) -> None:
        """Take note of what became of so many rows."""
        self._rows += rows
        self._frees -= len(found.made)
        self.count += len(found.made) - len(found.absorbed)
        self.sorts = self.sorts or found.steps > _CROWDED * rows + _SLACK
        if len(found.absorbed):
            for accumulator in self.accumulators:
                accumulator.merge(found.survivors, accumulator.take(found.absorbed))
                accumulator.clear(found.absorbed)
        self.give(found.absorbed if self.filed is None else self.filed.extend(found))

    def make_room(self, more: int) -> None:
        """Make sure that there are free slots for ``more`` sessions."""
        if self._frees >= more:
            return
        room = len(self.sessions)
        grown = room + max(more - self._frees, room // 2)
        self.sessions = longer_array(self.sessions, grown)
        self.sessions.view(np.uint8)[room * self.sessions.itemsize :] = 0
        self._free = longer_array(self._free, grown, self._frees)
        self.give(np.arange(grown - 1, room - 1, -1))
        for accumulator in self.accumulators:
            accumulator.grow(grown)

    def give(self, slots: np.ndarray) -> None:
        """Give back slots, which are free again."""
        self.sessions["state"][slots] = 0
        self._give(slots)

    def _give(self, slots: np.ndarray) -> None:
        self._free[self._frees : self._frees + len(slots)] = slots
        self._frees += len(slots)

    def keep_filed(self) -> FiledSessions:
        """File sessions by their ends from now on, because saved parts follow these slices."""
        self._keeps_filed = True
        if self.filed is None:
            self.filed = FiledSessions(self)
        return self.filed

    def take_due(self, bound: int | float, gone: Gone | None = None) -> np.ndarray:
        """The slots of sessions that end below a bound and that ``gone``, if given, chooses by their records. They are
        taken out of their slices, if they were filed."""
        if bound == -math.inf:
            return np.zeros(0, np.int64)
        last = self._last(bound)
        self._choose()
        if self.filed is not None:
            return self.filed.take_due(last, gone)
        slots, self._least = self.shape.kernels.sessions_until(self.sessions, last)
        if gone is None or not len(slots):
            return slots
        records = self.read(slots)
        leave = gone(records)
        if not leave.all():
            first = records["start"][~leave].min().item()
            self._least = first if self._least is None else min(self._least, first)
        return slots[leave]

    def _last(self, bound: int | float) -> int | float:
        """The greatest end that is below a bound. The end of all time is above every end."""
        if not self.whole:
            return bound if bound == math.inf else math.nextafter(bound, -math.inf)
        whole = as_int64(bound)
        return whole if whole == INT64_MAX else max(whole - 1, INT64_MIN)  # where no session ends: a gap is above 0

    def _choose(self) -> None:
        """Decide whether this promise passes over all sessions, or sessions are filed. The cost for each row is limited
        either way."""
        rows, cost = self._rows, len(self.sessions) // _PASSED
        self._rows, self._credit = 0, min(self._credit + rows, len(self.sessions))
        if self.filed is None:
            if self._credit < cost and len(self.sessions) > _SLACK:
                self.filed = FiledSessions(self)
            self._credit = max(self._credit - cost, 0)
        elif rows >= 2 * cost and not self._keeps_filed:
            self.filed.free_all_absorbed()
            self.filed = None

    def read(self, slots: np.ndarray) -> np.ndarray:
        """The records of sessions. They are taken as rows of words, because NumPy takes records many times slower."""
        words = self.sessions.dtype.itemsize // 8
        taken = self.sessions.view(np.int64).reshape(-1, words).take(slots, axis=0)
        return taken.reshape(-1).view(self.sessions.dtype)

    def take_out(self, slots: np.ndarray) -> tuple[Dropped, list[Accumulator]]:
        """Remove sessions that go out and were taken out of their slices; give them, and their aggregates."""
        found = self.shape.kernels.drop_sessions(slots, self.heads, self.sessions)
        taken = [a.take_out(slots) for a in self.accumulators]
        self._give(slots)
        self.count -= len(slots)
        return found, taken

    def show(self, slots: np.ndarray) -> tuple[Dropped, list[Accumulator]]:
        """What `take_out` would give, of sessions that stay."""
        records = self.read(slots)
        edges = np.ascontiguousarray(records["start"]), np.ascontiguousarray(records["end"])
        return Dropped(records["key"].astype(np.int64), *edges), [a.take_results(slots) for a in self.accumulators]

    def tidy(self, keep: np.ndarray | None = None) -> np.ndarray | None:
        """Start afresh if nothing is open, and renumber the keys if most have no session. ``keep`` are ids of keys that
        must stay. If keys were renumbered, the old id of each key that is left; else None."""
        held = self.count + (0 if keep is None else len(keep))
        if not held and len(self.keys) + len(self.sessions) > _SLACK:
            self.release()
            return np.zeros(0, np.int64)
        if not self.shape.keys or len(self.keys) <= 4 * held + _SLACK:
            return None
        used = self.heads[: len(self.keys)] > 0
        if keep is not None:
            used[keep] = True
        old = np.flatnonzero(used)
        columns = self.keys.take(old)
        numbers = np.zeros(len(self.keys), np.uint32)
        numbers[old] = np.arange(len(old))
        slots = self.slots()
        self.sessions["key"][slots] = numbers[self.sessions["key"][slots]]
        expected, heads = len(self.keys), self.heads[old]
        self.keys = KeyTable(self.shape.kinds)
        self.keys.reserve(expected)
        self.heads = lasting_array(max(expected, 1), np.uint32)
        self.heads[: len(old)], self.heads[len(old) :] = heads, 0
        self.keys.map(columns, len(old))
        return old

    def release(self) -> None:
        """Start with no open session, and give back the memory."""
        before = self.filed
        self.begin()
        if before is not None and self.filed is not None:
            self.filed.due.follow(before.due)

    def slots(self) -> np.ndarray:
        """The slots of all open sessions."""
        return np.flatnonzero(self.sessions["state"] & OPEN)

    def least_start(self) -> int | float | None:
        """The start of the earliest open session. It is valid only right after `take_due`."""
        return self._least if self.filed is None else self.filed.least_start()

    def key_arrays(self, records: np.ndarray, names: Iterable[str] | None = None) -> dict[str, pa.Array]:
        """The keys of sessions, or some of their columns."""
        return self.keys_of(records["key"].astype(np.int64), names)

    def keys_of(self, ids: np.ndarray, names: Iterable[str] | None = None) -> dict[str, pa.Array]:
        taken = zip(self.shape.keys, self.keys.take(ids), self.shape.key_types, strict=True)
        wanted = set(self.shape.keys if names is None else names)
        return {name: dictionaries.to_arrow_type(column, type_) for name, column, type_ in taken if name in wanted}

    def results(self, found: Dropped, taken: Sequence[Accumulator]) -> list[pa.Array]:
        """The keys and the aggregates of sessions."""
        return [*self.keys_of(found.keys).values(), *self.shape.results(taken, (found.starts, found.ends))]

    def restore(
        self, keys: Sequence[Key], starts: np.ndarray, ends: np.ndarray, partials: Sequence[Accumulator]
    ) -> None:
        """Load sessions as they were saved. Sessions of one key never touch, so one row at the start of each makes it
        again."""
        ids = self.map(keys, len(starts))
        self.make_room(len(ids))
        slots = self.shape.kernels.extend_sessions(ids, starts, self.gap, self.heads, self.sessions, self.free).slots
        self._frees -= len(slots)
        self.count += len(slots)
        self.sessions["end"][slots] = ends
        self.sessions["state"][slots] = OPEN
        for ours, theirs in zip(self.accumulators, partials, strict=True):
            ours.merge(slots, theirs)
        if self.filed is not None:
            self.filed.add(slots)
