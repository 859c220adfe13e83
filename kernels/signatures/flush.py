"""The low-level half of two-level aggregation (OOP paper, section 6): a table of a fixed size, in which an aggregate
that is in the way goes out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from oop.frozen import frozen
from oop.kernels.checks import INT64, INT64_MAX, INT64_MIN, Array, Ints, KernelError, Words, check_array, check_ids
from oop.kernels.signatures.stem import KernelWithState, Stem

MOST_SLOTS = 2**31 - 1
CHILDREN = 16
"""Of each node in the tree over a table's slots (see `csrc/oldest.h`)."""


@frozen()
class Discipline:
    """When aggregates leave a table, other than when they are in the way of another (OOP paper, section 6).

    ``in_order``: with each row one slot is visited, as in figure 7. ``every``: out of order, one old aggregate leaves
    every so many rows (0: none does). ``next_slot``: a row whose slot is taken tries the next one (footnote 1).
    """

    in_order: bool = False
    every: int = 0
    next_slot: bool = False


class FlushTableBase(KernelWithState):
    """A table with at most one aggregate, of a key in a window, in each slot. One that is in another's way goes out.

    An aggregate has a *place*, where its owner keeps its values. `push` gives the place of each row and the places that
    leave, in order; the owner takes those values out, and then gives the places back by `free`. There are `room` more
    places than slots, so up to `room` rows may be pushed before that.

    `bound` says which windows are complete: an aggregate of a window below it is *old*. In order the rows say so: a row
    of a new window makes all aggregates of windows before it old. `collided` counts the aggregates that made way for
    one of their own window.

    >>> from oop.kernels.dispatch import kernels
    >>> table = kernels("reference").FlushTable(4, 1, 8)
    >>> words = np.array([[5], [6], [5], [7]], np.uint64)
    >>> table.push(np.array([0, 1, 0, 1], np.int32), words, np.zeros(4, np.int64))
    (array([0, 1, 0, 2]), array([1]))
    >>> table.words(np.array([1])).tolist(), table.collided
    ([[6]], 1)
    """

    _words: Words
    _wids: Ints

    def __init__(self, size: int, width: int, room: int, discipline: Discipline = Discipline()) -> None:  # noqa: B008
        if not 1 <= size <= MOST_SLOTS or not 1 <= room <= MOST_SLOTS - size or not 1 <= width <= 65:
            raise KernelError(f"no table of {size} slots, {width} words and room for {room} rows")
        if discipline.every < 0:
            raise KernelError(f"one leaves with every so many rows, which {discipline.every} is not")
        self.size, self.width, self.room, self.discipline = size, width, room, discipline
        self.installed: Ints = np.zeros(0, np.int64)  # the places that the last push gave to new aggregates
        self.run_init()

    @abstractmethod
    def __len__(self) -> int:
        """How many places are in use."""

    @property
    def state(self) -> tuple[int, ...]:
        """The numbers that another table needs to go on from here, beside the aggregates that are given to `restore`:
        the bound, the window of the last row, the hand and how many slots it still has to visit (all three in order
        only), the rows since an aggregate was last let go (out of order), and how many collided."""
        return self.run_state()

    @state.setter
    def state(self, state: Sequence[int]) -> None:
        fits = len(state) == 6 and all(INT64_MIN <= number <= INT64_MAX for number in state)
        if fits:  # the hand is at a slot, and in order it does not go round
            _, _, hand, to_visit, since, _ = state
            last = self.size - to_visit if self.discipline.in_order else self.size - 1
            fits = 0 <= to_visit <= self.size and 0 <= hand <= last and since >= 0
        if not fits:
            raise KernelError(f"no table of {self.size} slots has the state {tuple(state)}")
        self.run_set_state(tuple(state))

    @abstractmethod
    def run_state(self) -> tuple[int, ...]: ...

    @abstractmethod
    def run_set_state(self, state: tuple[int, ...]) -> None: ...

    @property
    def collided(self) -> int:
        """How many aggregates made way for one of their own window."""
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
        """Take in that windows below the bound are complete."""
        before, *others = self.state
        if bound > before:
            self.state = bound, *others

    def push(self, slots: Array, words: Words, wids: Ints) -> tuple[Ints, Ints]:
        """Push rows in this order; return the place of each, and the places that leave."""
        self._check_shapes(slots, words, wids)
        if len(slots) > self.room:
            raise KernelError(f"{len(slots)} rows at once, where the table has room for {self.room}")
        if not self.finds_outside:
            self._check_rows(slots, wids)
        return self.run_push(slots, words, wids)

    @abstractmethod
    def run_push(self, slots: Array, words: Words, wids: Ints) -> tuple[Ints, Ints]: ...

    def flush(self, below: int | None, first: int = 0, last: int | None = None) -> Ints:
        """Let go all aggregates of windows below the bound (None: of all windows); in order, the old ones first. Only
        the slots from ``first`` up to ``last`` are looked at."""
        if below is not None and not INT64_MIN <= below <= INT64_MAX:
            raise KernelError(f"a window is a number of 64 bits, which {below} is not")
        last = self.size if last is None else last
        if not 0 <= first <= last <= self.size:
            raise KernelError(f"there are slots from 0 up to {self.size}, not from {first} up to {last}")
        return self.run_flush(below is None, INT64_MAX if below is None else below, range(first, last))

    @abstractmethod
    def run_flush(self, everything: bool, below: int, slots: range) -> Ints: ...

    def free(self, places: Ints) -> None:
        """Give back places that have left, to be used again."""
        check_ids(places, self.size + self.room, name="places")
        if len(places) > len(self):
            raise KernelError(f"{len(places)} places are given back, of {len(self)}")
        self.run_free(places)

    @abstractmethod
    def run_free(self, places: Ints) -> None: ...

    @abstractmethod
    def held(self) -> tuple[Array, Ints]:
        """The slots that are taken, in order, and the places in them."""

    def restore(self, slots: Array, words: Words, wids: Ints) -> Ints:
        """Put aggregates into these slots of an empty table, at most one into each; return the place of each."""
        self._check_shapes(slots, words, wids)
        self._check_slots(slots)
        if len(self) or len(np.unique(slots)) < len(slots):
            raise KernelError("aggregates go back into an empty table, one into a slot")
        return self.run_restore(slots, words, wids)

    @abstractmethod
    def run_restore(self, slots: Array, words: Words, wids: Ints) -> Ints: ...

    def _check_shapes(self, slots: Array, words: Words, wids: Ints) -> None:
        check_array("slots", slots, np.int32)
        check_array("wids", wids, INT64, len(slots))
        if not isinstance(words, np.ndarray) or words.dtype != np.uint64 or words.shape != (len(slots), self.width):
            raise KernelError(f"words must be uint64, {self.width} for each of {len(slots)} rows")

    def _check_rows(self, slots: Array, wids: Ints) -> None:
        self._check_slots(slots)
        if len(slots) > self.size + self.room - len(self):
            raise KernelError("there are no free places: those that have left were not given back")
        if self.discipline.in_order and len(wids) and (wids[0] < self.state[1] or (wids[1:] < wids[:-1]).any()):
            raise KernelError("windows go back, in a table that is in order")

    def _check_slots(self, slots: Array) -> None:
        if len(slots) and not 0 <= int(slots.min()) <= int(slots.max()) < self.size:
            raise KernelError(f"slots must be from 0 to {self.size - 1}")


class FlushKernels(Stem):
    FlushTable: type[FlushTableBase]


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
