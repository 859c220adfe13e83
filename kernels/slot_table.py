"""What the flush tables of all implementations share: the discipline, what is checked, and what is read by place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oop.kernels.checks import INT64_MAX, INT64_MIN, Array, Ints, KernelError, check_array, check_ids
from oop.kernels.reference_groups import Words

MOST_SLOTS = 2**31 - 1
CHILDREN = 16
"""Of each node in the tree over a table's slots; `csrc/oldest.h` says what it is for."""


@dataclass(frozen=True)
class Discipline:
    """When aggregates leave a table, other than when they are in the way (OOP paper, section 6).

    ``in_order``: as in figure 7, a slot is visited with each row. ``every``: out of order, one that is old leaves with
    every so many rows (0: none does). ``next_slot``: where the slot is taken the next one is looked at (footnote 1).
    """

    in_order: bool = False
    every: int = 0
    next_slot: bool = False


class SlotTable:
    """The base of every `FlushTable`. ``state`` is what a table that goes on elsewhere must be given beside what it
    holds: the bound, the window of the last row, the hand and how many slots it still has to visit (all three in order
    only), the rows since one was last let go (out of order), and how many collided."""

    state: tuple[int, ...]
    _words: Words
    _wids: Ints

    def __init__(self, size: int, width: int, room: int, discipline: Discipline) -> None:
        if not 1 <= size <= MOST_SLOTS or not 1 <= room <= MOST_SLOTS - size or not 1 <= width <= 65:
            raise KernelError(f"no table of {size} slots, {width} words and room for {room} rows")
        if discipline.every < 0:
            raise KernelError(f"one leaves with every so many rows, which {discipline.every} is not")
        self.size, self.width, self.room, self.discipline = size, width, room, discipline
        self.installed: Ints = np.zeros(0, np.int64)  # the places that the last push gave to new aggregates

    def __len__(self) -> int:
        raise NotImplementedError

    @property
    def collided(self) -> int:
        """How many left for one of their own window."""
        return self.state[-1]

    def words(self, places: Ints) -> Words:
        """The keys of some places."""
        found: Words = self._words[places]
        return found

    def wids(self, places: Ints) -> Ints:
        """The windows of some places."""
        found: Ints = self._wids[places]
        return found

    def advance(self, bound: int) -> None:
        """Windows below the bound are complete."""
        before, *others = self.state
        if bound > before:
            self.state = bound, *others

    def _check_push(self, slots: Array, words: Words, wids: Ints) -> None:
        self._check_shapes(slots, words, wids)
        if len(slots) > self.room:
            raise KernelError(f"{len(slots)} rows at once, where the table has room for {self.room}")

    def _check_shapes(self, slots: Array, words: Words, wids: Ints) -> None:
        check_array("slots", slots, np.int32)
        check_array("wids", wids, np.int64, len(slots))
        if not isinstance(words, np.ndarray) or words.dtype != np.uint64 or words.shape != (len(slots), self.width):
            raise KernelError(f"words must be uint64, {self.width} for each of {len(slots)} rows")

    def _check_rows(self, slots: Array, wids: Ints) -> None:
        """What C finds out by itself, and this then explains."""
        self._check_slots(slots)
        if len(slots) > self.size + self.room - len(self):
            raise KernelError("there are no free places: those that have left were not given back")
        if self.discipline.in_order and len(wids) and (wids[0] < self.state[1] or (wids[1:] < wids[:-1]).any()):
            raise KernelError("windows go back, in a table that is in order")

    def _check_slots(self, slots: Array) -> None:
        if len(slots) and not 0 <= int(slots.min()) <= int(slots.max()) < self.size:
            raise KernelError(f"slots must be from 0 to {self.size - 1}")

    def _check_range(self, first: int, last: int | None) -> range:
        last = self.size if last is None else last
        if not 0 <= first <= last <= self.size:
            raise KernelError(f"there are slots from 0 up to {self.size}, not from {first} up to {last}")
        return range(first, last)

    def _check_free(self, places: Ints) -> None:
        check_ids(places, self.size + self.room, name="places")
        if len(places) > len(self):
            raise KernelError(f"{len(places)} places are given back, of {len(self)}")

    def _check_restore(self, slots: Array, words: Words, wids: Ints) -> None:
        """Each slot has one aggregate at most, and the table none yet."""
        self._check_shapes(slots, words, wids)
        self._check_slots(slots)
        if len(self) or len(np.unique(slots)) < len(slots):
            raise KernelError("aggregates go back into an empty table, one into a slot")

    def _check_state(self, state: Sequence[int]) -> tuple[int, ...]:
        """The hand is at a slot, and in order it does not go round."""
        fits = len(state) == 6 and all(INT64_MIN <= number <= INT64_MAX for number in state)
        if fits:
            _, _, hand, to_visit, since, _ = state
            last = self.size - to_visit if self.discipline.in_order else self.size - 1
            fits = 0 <= to_visit <= self.size and 0 <= hand <= last and since >= 0
        if not fits:
            raise KernelError(f"no table of {self.size} slots has the state {tuple(state)}")
        return tuple(state)


def lay_levels(size: int) -> Ints:
    """Where each level of the tree over so many slots begins, from the slots up to the root; and where the last ends.

    >>> lay_levels(5000)  # 313 nodes, 20, 2 and the root
    array([  0, 313, 333, 335, 336])
    """
    starts, nodes = [0], size
    while nodes > 1 or len(starts) == 1:
        nodes = -(-nodes // CHILDREN)
        starts.append(starts[-1] + nodes)
    return np.array(starts, np.int64)


def check_below(below: int | None) -> int:
    """A bound on windows as C has it; None is above all."""
    if below is not None and not INT64_MIN <= below <= INT64_MAX:
        raise KernelError(f"a window is a number of 64 bits, which {below} is not")
    return INT64_MAX if below is None else below
