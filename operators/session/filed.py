"""Open sessions in slices of the time at which they end, so that a promise looks only into the slices below it.

That pays if promises are frequent, or if sessions are saved in parts. Otherwise a promise looks at all sessions, which
costs little for each (see `SessionTable`). A session is filed by the end that it has at that moment. If it grows, it is
filed again when its slice is looked into. The slot of an absorbed session is free once no slice lists it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from oop.kernels.signatures.sessions import ABSORBED, CHANGED, OPEN, Extended
from oop.operators.core.time_slices import TimeSlices
from oop.operators.session.starts import Starts

_FINE = 32  # slices in a gap: short ones, because every promise looks into the slice at its bound
_SLACK = 4_096  # the slices may always have this many entries of absorbed sessions
_DENSE = 64  # slots are put in order if they are at least one in this many

Gone = Callable[[np.ndarray], np.ndarray]
"""Which of some sessions leave."""


class OpenSessions(Protocol):
    """What is asked of the table whose sessions are filed, which is a `SessionTable`."""

    gap: int | float
    whole: bool
    sessions: np.ndarray

    def __len__(self) -> int: ...

    def slots(self) -> np.ndarray: ...

    def read(self, slots: np.ndarray) -> np.ndarray: ...

    def give(self, slots: np.ndarray) -> None: ...


class FiledSessions:
    """The open sessions of a table, filed by end and by start."""

    def __init__(self, table: OpenSessions) -> None:
        self._table = table
        span = max(table.gap // _FINE, 1) if table.whole else table.gap / _FINE
        self.due = TimeSlices(span, table.whole)
        self._starts = Starts(span, table.whole)
        self._absorbed = 0  # absorbed sessions whose slot a slice still lists
        self.add(table.slots())

    @property
    def nbytes(self) -> int:
        return self.due.nbytes + self._starts.nbytes

    def add(self, slots: np.ndarray) -> None:
        """File sessions that are not filed yet, by their present ends and starts."""
        self._file_due(slots)
        self._starts.add(slots, self._table.sessions)

    def _file_due(self, slots: np.ndarray) -> None:
        if len(slots):
            self.due.add(slots, self._table.sessions["end"][slots])

    def extend(self, found: Extended) -> np.ndarray:
        """File the sessions that a batch made or lowered; give the slots that are free again."""
        sessions, made, lowered = self._table.sessions, found.made, found.lowered
        free = made[:0]
        if len(found.absorbed):
            open_ = sessions["state"][made] & OPEN > 0
            free = made[~open_]  # made and absorbed within one batch, so no slice lists them
            self._absorbed += len(found.absorbed) - len(free)
            made, lowered = made[open_], lowered[sessions["state"][lowered] & OPEN > 0]
        self._file_due(made)
        self._starts.add(np.concatenate([made, lowered]) if len(lowered) else made, sessions)
        if self._absorbed > len(self._table) + _SLACK:
            for number in self.due.numbers():
                self.places(number)
        return free

    def places(self, number: int) -> np.ndarray:
        """The open sessions of a slice. The slots of absorbed ones are given back."""
        slots = self.due.places(number)
        if not self._absorbed:
            return slots
        gone = self._table.sessions["state"][slots] & ABSORBED > 0
        if not gone.any():
            return slots
        self._free_absorbed(slots[gone])
        slots = slots[~gone]
        self.due.replace(number, slots)
        return slots

    def take_due(self, last: int | float, gone: Gone | None) -> np.ndarray:
        """See `SessionTable.take_due`. Sessions that have grown since they were filed are filed again."""
        slices = [(number, self.due.places(number)) for number, _ in self.due.below(last)]
        slots = np.concatenate([np.zeros(0, np.int64), *(found for _, found in slices)])
        records = self._table.read(slots)
        numbers, sizes = [number for number, _ in slices], [len(found) for _, found in slices]
        absorbed = records["state"] == ABSORBED
        leave = (records["end"] <= last) & ~absorbed
        if gone is not None:
            leave &= gone(records)
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
        """The slots, in ascending order if they are many: then neighbours are near in memory, also when reused."""
        if len(slots) * _DENSE < len(self._table.sessions):
            return slots
        there = np.zeros(len(self._table.sessions), np.bool_)
        there[slots] = True
        return np.flatnonzero(there)

    def _free_absorbed(self, slots: np.ndarray) -> None:
        self._absorbed -= len(slots)
        self._table.give(slots)

    def free_all_absorbed(self) -> None:
        """Give back the slots of all absorbed sessions, before the files are dropped."""
        if self._absorbed:
            self._free_absorbed(np.flatnonzero(self._table.sessions["state"] & ABSORBED))

    def refresh(self) -> None:
        """File sessions that changed again, by their present ends."""
        for number in self.due.numbers():
            slots = self.places(number)
            if (self._table.sessions["state"][slots] & CHANGED).any():
                self.due.replace(number, slots[:0])
                self._file_due(slots)

    def least_start(self) -> int | float | None:
        return self._starts.least(self._table.sessions, len(self._table))
