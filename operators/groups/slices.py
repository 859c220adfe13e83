"""Which slices of a store hold a group: a promise about one group is to cost what that group has, not a look at every
open window (OOP paper, A.1.1).

New groups are noted for a whole table at a time, in arrays that chain the slices of each group. Only when a promise
moves a group are its slices put in order, in a heap: each of them once.

>>> slices = GroupSlices(KeyTable([]), [])
>>> slices.note(np.array([0, 1]), 7), slices.note(np.array([1]), 5)
(None, None)
>>> slices.take(1, done=6, end=6), slices.take(1, done=6, end=9), slices.take(1, done=6, end=9)
([5], [7], [7])
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from oop.operators.core.growing import with_room
from oop.operators.core.keys import KeyTable
from oop.operators.groups.store import Store

_SPARE = 1_024  # notes of groups that have left: so many are kept, or as many as there are others
_NOTE, _HEAP = 40, 200  # about the bytes of a number in a heap, and of a heap


class GroupSlices:
    """Groups are known by their numbers in a table, which has the key columns at some ``places``. A slice may be noted
    for a group that has left it, never the other way round."""

    def __init__(self, table: KeyTable, places: Sequence[int]) -> None:
        self.table, self.places = table, places
        self._shift: int | None = None  # how wide the slices are that were noted
        self._clear()

    def _clear(self) -> None:
        self._newest = np.zeros(0, np.int64)  # by group: its note that came last, -1 if there is none
        self._slices = np.zeros(0, np.int64)  # by note: the slice, and the group's note before it
        self._before = np.zeros(0, np.int64)
        self._notes = 0
        self._heaps: dict[int, list[int]] = {}
        self._in_heaps = 0

    @property
    def nbytes(self) -> int:
        arrays = self._newest.nbytes + self._slices.nbytes + self._before.nbytes
        return arrays + _NOTE * self._in_heaps + _HEAP * len(self._heaps)

    def follow(self, store: Store) -> None:
        """Note the groups that have come since this was last asked."""
        grown = store.grown()
        if self._shift != store.shift or self._notes + self._in_heaps > 2 * len(store) + _SPARE:
            self._clear()
            self._shift = store.shift
            for number, table in store.tables.items():
                self.note(table.numbers_in(self.table, self.places), number)
            return
        for number in grown:
            table = store.tables[number]
            known = table.numbered_in(self.table)
            self.note(table.numbers_in(self.table, self.places)[known:], number)

    def note(self, groups: np.ndarray, number: int) -> None:
        """Note that these groups are in this slice."""
        if len(groups) > 1:
            groups = np.unique(groups)  # a group may be there in several slots, or with several values of other keys
        end = self._notes + len(groups)
        self._slices, self._before = with_room(self._slices, end, -1), with_room(self._before, end, -1)
        if len(groups):
            self._newest = with_room(self._newest, int(groups[-1]) + 1, -1)
        self._slices[self._notes : end] = number
        self._before[self._notes : end] = self._newest[groups]
        self._newest[groups] = np.arange(self._notes, end)
        self._notes = end

    def take(self, group: int, done: int, end: int) -> list[int]:
        """The slices before ``end`` that may hold a group. Those before ``done`` are forgotten, because the
        group is about to leave them."""
        heap = self._heap(group)
        found = []
        while heap and heap[0] < end:
            found.append(heapq.heappop(heap))
        for number in found:
            if number >= done:
                heapq.heappush(heap, number)
            else:
                self._in_heaps -= 1
        if not heap:
            self._heaps.pop(group, None)
        return found

    def _heap(self, group: int) -> list[int]:
        """The slices of a group in order, with those that were noted since it was last asked for."""
        heap = self._heaps.setdefault(group, [])
        note = int(self._newest[group]) if group < len(self._newest) else -1
        while note >= 0:
            heapq.heappush(heap, int(self._slices[note]))
            self._in_heaps += 1
            note = int(self._before[note])
        if group < len(self._newest):
            self._newest[group] = -1
        return heap
