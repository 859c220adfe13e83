"""The open sessions of all groups: their intervals, their partial aggregates, and when each is due.

A session has a *slot*, under which all arrays have something of it; slots are used again. A group's sessions are found
by the dense id of its key (`KeyTable`, then the kernels' chains). *Due* are slices of time, by the end that a session
had when it was filed: a promise looks into the slices below it alone, and files anew what has grown since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.kernels.reference_sessions import ABSORBED, CHANGED, OPEN, Extended, session_dtype
from oop.kernels.scratch import growing_array, longer_array
from oop.operators.accumulators import Accumulator, Prepared
from oop.operators.groups import Edges, Shape
from oop.operators.keys import Key, KeyTable
from oop.operators.session_starts import Starts
from oop.operators.time_slices import TimeSlices

_FINE = 32  # slices are a good deal shorter than the gap: the one at the bound is looked into at every promise
_SLACK = 4_096  # keys without a session, slots and entries of absorbed ones that there may be in any case
_DENSE = 64  # slots for each of those that are put in order
_CROWDED = 4  # sessions that a row may look at in vain; then rows come sorted


class SessionTable:
    """``gap`` is in the unit of the times, which are ``whole`` or floats."""

    def __init__(self, shape: Shape, gap: int | float, whole: bool) -> None:
        self.shape, self.gap, self.whole = shape, gap, whole
        self.begin()

    def begin(self) -> None:
        """Nothing is open."""
        span = max(self.gap // _FINE, 1) if self.whole else self.gap / _FINE
        self.keys = KeyTable(self.shape.kinds)
        self.accumulators = self.shape.accumulators()
        self._heads = np.zeros(1, np.uint32)  # by key: its newest session
        self.sessions = np.zeros(1, session_dtype(np.int64 if self.whole else np.float64))
        self._free = np.zeros(1, np.uint32)
        self._frees = 0
        self.count = 0
        self._absorbed = 0  # slots that are still in a slice of due
        self._sorts = False
        self.due = TimeSlices(span, self.whole)
        self._starts = Starts(span, self.whole)

    def __len__(self) -> int:
        return self.count

    @property
    def nbytes(self) -> int:
        if not len(self.keys):  # as it began
            return 0
        arrays = self.sessions.nbytes + self._heads.nbytes + self._free.nbytes
        lists = self.due.nbytes + self._starts.nbytes
        return self.keys.nbytes + arrays + lists + sum(a.nbytes for a in self.accumulators)

    def add(self, keys: Sequence[Key], times: np.ndarray, values: Sequence[Prepared]) -> None:
        """Take rows in."""
        slots = self._extend(self.map(keys, len(times)), times)
        for accumulator, value in zip(self.accumulators, values, strict=True):
            accumulator.update(slots, value)

    def map(self, keys: Sequence[Key], length: int) -> np.ndarray:
        """The ids of keys; new ones get the next."""
        ids = self.keys.map(keys, length)
        if len(self.keys) > len(self._heads):
            used = len(self._heads)
            self._heads = longer_array(self._heads, max(len(self.keys), 2 * used))
            self._heads[used:] = 0
        return ids

    def _extend(self, ids: np.ndarray, times: np.ndarray) -> np.ndarray:
        self._make_room(len(times))
        # newest first within a key, so that a row is found from the one before it: chains may be long
        order = np.lexsort((times, ids))[::-1] if self._sorts else None
        if order is not None:
            ids, times = ids[order], times[order]
        free = self._free[: self._frees]
        found = self.shape.kernels.extend_sessions(ids, times, self.gap, self._heads, self.sessions, free)
        self._frees -= len(found.made)
        self.count += len(found.made) - len(found.absorbed)
        self._sorts = self._sorts or found.steps > _CROWDED * len(times) + _SLACK
        if len(found.absorbed):
            for accumulator in self.accumulators:
                accumulator.merge(found.survivors, accumulator.take(found.absorbed))
                accumulator.clear(found.absorbed)
        self._file(found)
        if order is None:
            return found.slots
        slots = np.empty_like(found.slots)
        slots[order] = found.slots
        return slots

    def _file(self, found: Extended) -> None:
        made, lowered = found.made, found.lowered
        if len(found.absorbed):
            open_ = self.sessions["state"][made] & OPEN > 0
            self._give(made[~open_])  # made and absorbed by this batch
            self._absorbed += len(found.absorbed) - int((~open_).sum())
            made, lowered = made[open_], lowered[self.sessions["state"][lowered] & OPEN > 0]
        self._file_due(made)
        self._starts.add(np.concatenate([made, lowered]) if len(lowered) else made, self.sessions)
        if self._absorbed > self.count + _SLACK:
            for number in self.due.numbers():
                self.filed(number)

    def _make_room(self, more: int) -> None:
        """Free slots for so many."""
        if self._frees >= more:
            return
        room = len(self.sessions)
        grown = room + max(more - self._frees, room // 2)
        self.sessions = longer_array(self.sessions, grown)
        self.sessions.view(np.uint8)[room * self.sessions.itemsize :] = 0
        self._free = longer_array(self._free, grown, self._frees)
        self._give(np.arange(grown - 1, room - 1, -1))
        for accumulator in self.accumulators:
            accumulator.grow(grown)

    def _give(self, slots: np.ndarray) -> None:
        self.sessions["state"][slots] = 0
        self._free[self._frees : self._frees + len(slots)] = slots
        self._frees += len(slots)

    def filed(self, number: int) -> np.ndarray:
        """The open sessions of a slice of due; the slots of absorbed ones are free from now on."""
        slots = self.due.places(number)
        if not self._absorbed:
            return slots
        gone = self.sessions["state"][slots] & ABSORBED > 0
        if not gone.any():
            return slots
        self._free_absorbed(slots[gone])
        slots = slots[~gone]
        self.due.replace(number, slots)
        return slots

    def take_due(self, bound: int | float, gone: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Of the sessions that may end below a bound those for which ``gone`` says so, given their records, taken out
        of their slices. What has grown since it was filed is filed anew."""
        slices = [(number, self.due.places(number)) for number, _ in self.due.below(bound)]
        slots = np.concatenate([np.zeros(0, np.int64), *(found for _, found in slices)])
        records = self.read(slots)
        numbers, sizes = [number for number, _ in slices], [len(found) for _, found in slices]
        leave, absorbed = gone(records), records["state"] == ABSORBED
        leave &= ~absorbed
        stay = self.due.numbers_of(records["end"]) == np.repeat(np.array(numbers, np.int64), sizes)
        stay &= ~(leave | absorbed)
        at = 0
        for number, found in slices:
            here = stay[at : at + len(found)]
            at += len(found)
            if not here.all():
                self.due.replace(number, found[here])
        moved = ~(leave | absorbed | stay)
        if moved.any():
            self.due.add(slots[moved], records["end"][moved])
        if absorbed.any():
            self._free_absorbed(slots[absorbed])
        return self._in_order(slots[leave])

    def _in_order(self, slots: np.ndarray) -> np.ndarray:
        """Many slots in ascending order: near one another in memory, now and when they are used again."""
        if len(slots) * _DENSE < len(self.sessions):
            return slots
        there = np.zeros(len(self.sessions), np.bool_)
        there[slots] = True
        return np.flatnonzero(there)

    def read(self, slots: np.ndarray) -> np.ndarray:
        """The records of sessions. As rows of words: NumPy takes records themselves many times slower."""
        words = self.sessions.dtype.itemsize // 8
        taken = self.sessions.view(np.int64).reshape(-1, words).take(slots, axis=0)
        return taken.reshape(-1).view(self.sessions.dtype)

    def _file_due(self, slots: np.ndarray) -> None:
        """By their ends as they are now."""
        if len(slots):
            self.due.add(slots, self.sessions["end"][slots])

    def _free_absorbed(self, slots: np.ndarray) -> None:
        self._absorbed -= len(slots)
        self._give(slots)

    def drop(self, slots: np.ndarray) -> None:
        """Sessions that have gone out, after they were taken out of their slices."""
        self.shape.kernels.drop_sessions(slots, self._heads, self.sessions)
        for accumulator in self.accumulators:
            accumulator.clear(slots)
        self._give(slots)
        self.count -= len(slots)

    def tidy(self, keep: np.ndarray | None = None) -> np.ndarray | None:
        """Begin anew when nothing is open, and number the keys anew when most have no session. ``keep`` are keys that
        are to stay. The old ids of those that are left, if they have others now."""
        held = self.count + (0 if keep is None else len(keep))
        if not held and len(self.keys) + len(self.sessions) > _SLACK:
            self.release()
            return np.zeros(0, np.int64)
        if not self.shape.keys or len(self.keys) <= 4 * held + _SLACK:
            return None
        used = self._heads[: len(self.keys)] > 0
        if keep is not None:
            used[keep] = True
        old = np.flatnonzero(used)
        columns = self.keys.take(old)
        numbers = np.zeros(len(self.keys), np.uint32)
        numbers[old] = np.arange(len(old))
        slots = self.slots()
        self.sessions["key"][slots] = numbers[self.sessions["key"][slots]]
        expected, heads = len(self.keys), self._heads[old]
        self.keys = KeyTable(self.shape.kinds)
        self.keys.reserve(expected)
        self._heads = growing_array(max(expected, 1), np.uint32)
        self._heads[: len(old)], self._heads[len(old) :] = heads, 0
        self.keys.map(columns, len(old))
        return old

    def release(self) -> None:
        """Nothing is open, and no memory is kept for what will be."""
        changed = self.due.take_changes()
        self.begin()
        self.due.changed = set(changed)

    def slots(self) -> np.ndarray:
        """All that are open."""
        return np.flatnonzero(self.sessions["state"] & OPEN)

    def least_start(self) -> int | float | None:
        return self._starts.least(self.sessions, self.count)

    def key_arrays(self, records: np.ndarray, names: Iterable[str] | None = None) -> dict[str, pa.Array]:
        """The keys of sessions, or some of their columns."""
        return self.keys_of(records["key"].astype(np.int64), names)

    def keys_of(self, ids: np.ndarray, names: Iterable[str] | None = None) -> dict[str, pa.Array]:
        taken = zip(self.shape.keys, self.keys.take(ids), self.shape.key_types, strict=True)
        wanted = set(self.shape.keys if names is None else names)
        return {name: views.to_arrow(column, type_) for name, column, type_ in taken if name in wanted}

    def results(self, slots: np.ndarray, records: np.ndarray, edges: Edges) -> list[pa.Array]:
        """The keys and the aggregates of sessions."""
        taken = [a.take_results(slots) for a in self.accumulators]
        return [*self.key_arrays(records).values(), *self.shape.results(taken, edges)]

    def sweep(self) -> None:
        """File what changed by its end as it is now."""
        for number in self.due.numbers():
            slots = self.filed(number)
            if (self.sessions["state"][slots] & CHANGED).any():
                self.due.replace(number, slots[:0])
                self._file_due(slots)

    def restore(
        self, keys: Sequence[Key], starts: np.ndarray, ends: np.ndarray, partials: Sequence[Accumulator]
    ) -> None:
        """Sessions as they were saved. Those of a key never touch: as a row where it begins each gets its own."""
        ids = self.map(keys, len(starts))
        self._make_room(len(ids))
        free = self._free[: self._frees]
        slots = self.shape.kernels.extend_sessions(ids, starts, self.gap, self._heads, self.sessions, free).slots
        self._frees -= len(slots)
        self.count += len(slots)
        self.sessions["end"][slots] = ends
        self.sessions["state"][slots] = OPEN
        for ours, theirs in zip(self.accumulators, partials, strict=True):
            ours.merge(slots, theirs)
        self._file_due(slots)
        self._starts.add(slots, self.sessions)
