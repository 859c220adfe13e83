"""The low-level half of two-level aggregation, in Python (paper 004, section 6): a table of a fixed size, in which an
aggregate that is in the way goes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oop.kernels.checks import INT64_MAX, INT64_MIN, Array, Ints, KernelError, check_array, check_ids
from oop.kernels.reference_groups import Words

MOST_SLOTS = 2**31 - 1
NOTHING = -1  # the place of an empty slot


@dataclass(frozen=True)
class Discipline:
    """When aggregates leave a table, other than when they are in the way.

    ``in_order``: as in figure 7, a slot is visited with each row. ``every``: out of order, one that is old leaves with
    every so many rows (0: none does). ``next_slot``: where the slot is taken the next one is looked at (footnote 1).
    """

    in_order: bool = False
    every: int = 0
    next_slot: bool = False


class SlotTable:
    """What the tables of all implementations share: what is checked, and what is read by place."""

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
        before, current, hand, to_visit, *others = self.state
        if bound > before:
            self.state = bound, current, hand, to_visit if self.discipline.in_order else self.size, *others

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


def check_below(below: int | None) -> int:
    """A bound on windows as C has it; None is above all."""
    if below is not None and not INT64_MIN <= below <= INT64_MAX:
        raise KernelError(f"a window is a number of 64 bits, which {below} is not")
    return INT64_MAX if below is None else below


class FlushTable(SlotTable):
    """A table with one aggregate at most in each slot: of a key, in a window. What is in the way of another goes out.

    An aggregate has a *place*, where its owner keeps its values. `push` gives the place of each row and the places that
    leave, in order; the owner takes those values out, and then gives the places back by `free`. There are `room` more
    places than slots, so up to `room` rows may be pushed before that.

    `bound` says which windows are complete: an aggregate below it is *old*. In order it is the rows that say so: a row
    of a new window makes all before it old. `collided` counts the aggregates that left for one of their own window.

    >>> table = FlushTable(4, 1, 8)
    >>> words = np.array([[5], [6], [5], [7]], np.uint64)
    >>> table.push(np.array([0, 1, 0, 1], np.int32), words, np.zeros(4, np.int64))
    (array([0, 1, 0, 2]), array([1]))
    >>> table.words(np.array([1])).tolist(), table.collided
    ([[6]], 1)
    """

    def __init__(self, size: int, width: int, room: int, discipline: Discipline = Discipline()) -> None:  # noqa: B008
        super().__init__(size, width, room, discipline)
        self.bound = INT64_MIN
        self.current = INT64_MIN  # in order: the window of the last row
        self.hand = 0  # figure 7's flush_pos: the next slot to be visited
        self.to_visit = 0  # slots that may still hold something old; 0: flush_finished
        self.since = 0  # rows since the last that was let go, out of order
        self._collided = 0
        self._at = [NOTHING] * size
        self._words = np.zeros((size + room, width), np.uint64)
        self._wids = np.zeros(size + room, np.int64)
        self._free = list(range(size + room))[::-1]

    def __len__(self) -> int:
        return self.size + self.room - len(self._free)

    @property
    def nbytes(self) -> int:
        """Bytes that slots and keys hold."""
        return 24 * self.size + self._words.nbytes + self._wids.nbytes + 8 * (self.size + self.room)

    @property
    def state(self) -> tuple[int, ...]:
        """What a table that goes on elsewhere must be given, beside what it holds (`restore`)."""
        return self.bound, self.current, self.hand, self.to_visit, self.since, self._collided

    @state.setter
    def state(self, state: Sequence[int]) -> None:
        numbers = self._check_state(state)
        self.bound, self.current, self.hand, self.to_visit, self.since, self._collided = numbers

    def push(self, slots: Array, words: Words, wids: Ints) -> tuple[Ints, Ints]:
        """Rows in this order: the place of each, and the places that leave."""
        self._check_push(slots, words, wids)
        self._check_rows(slots, wids)
        out: list[int] = []
        unused = self._free.copy()
        step = self._push_in_order if self.discipline.in_order else self._push
        rows = zip(slots.tolist(), words.tolist(), wids.tolist(), strict=True)
        ids = [step(slot, tuple(key), wid, out) for slot, key, wid in rows]
        self.installed = np.array(unused[len(self._free) :][::-1], np.int64)
        return np.array(ids, np.int64), np.array(out, np.int64)

    def flush(self, below: int | None, first: int = 0, last: int | None = None) -> Ints:
        """All aggregates of windows below the bound leave (None: of all windows); in order, the old ones first. With
        ``first`` and ``last`` only those of the slots from the first up to the last."""
        bound, slots = check_below(below), self._check_range(first, last)
        held = [(slot, self._at[slot]) for slot in slots if self._at[slot] != NOTHING]
        gone = [slot for slot, at in held if below is None or self._wids[at] < bound]
        if self.discipline.in_order:
            gone.sort(key=lambda slot: not self._is_old(slot, self.current))
        out: list[int] = []
        for slot in gone:
            self._let_go(slot, out)
        return np.array(out, np.int64)

    def free(self, places: Ints) -> None:
        """Places that have left may be used again."""
        self._check_free(places)
        self._free.extend(places.tolist())

    def held(self) -> tuple[Array, Ints]:
        """The slots that are taken, in order, and the places in them."""
        taken = [slot for slot, at in enumerate(self._at) if at != NOTHING]
        return np.array(taken, np.int32), np.array([self._at[slot] for slot in taken], np.int64)

    def restore(self, slots: Array, words: Words, wids: Ints) -> Ints:
        """Into an empty table: aggregates in these slots; the place of each."""
        self._check_restore(slots, words, wids)
        rows = zip(slots.tolist(), words.tolist(), wids.tolist(), strict=True)
        return np.array([self._install(slot, tuple(key), wid) for slot, key, wid in rows], np.int64)

    def _push_in_order(self, slot: int, key: tuple[int, ...], wid: int, out: list[int]) -> int:
        """ProcessTuple of figure 7. A slot is old iff its window is before the current one."""
        if wid > self.current:  # the start of a new window
            self._flush_old(out)
            self.current, self.hand, self.to_visit = wid, 0, self.size
        if self.to_visit:
            self._slow_flush(out)
        at = self._find(slot, key, wid)
        if self._is(at, key, wid):
            return self._at[at]
        if self._is_new(at):  # order is kept: all that is old goes out first
            self._flush_old(out)
            self._collided += 1
        self._let_go(at, out)
        return self._install(at, key, wid)

    def _slow_flush(self, out: list[int]) -> None:
        """SlowFlush of figure 7: one slot."""
        if self._is_old(self.hand, self.current):
            self._let_go(self.hand, out)
        self.hand += 1
        self.to_visit -= 1

    def _flush_old(self, out: list[int]) -> None:
        """Of those behind the hand; the slots before it have been visited."""
        while self.to_visit:
            self._slow_flush(out)

    def _push(self, slot: int, key: tuple[int, ...], wid: int, out: list[int]) -> int:
        """Out of order: whatever is in the way goes out, for nothing has to be kept in order."""
        if self.discipline.every:
            self._slow_flush_every(out)
        at = self._find(slot, key, wid)
        if self._is(at, key, wid):
            return self._at[at]
        if self._at[at] != NOTHING and self._wids[self._at[at]] == wid:
            self._collided += 1
        self._let_go(at, out)
        return self._install(at, key, wid)

    def _slow_flush_every(self, out: list[int]) -> None:
        """One old aggregate with every so many rows. As many slots are visited for it, at most: one for each row."""
        self.since += 1
        if self.since < self.discipline.every:
            return
        self.since = 0
        for _ in range(min(self.discipline.every, self.to_visit)):
            slot, self.hand = self.hand, (self.hand + 1) % self.size
            self.to_visit -= 1
            if self._is_old(slot, self.bound):
                self._let_go(slot, out)
                return

    def _find(self, slot: int, key: tuple[int, ...], wid: int) -> int:
        """Where the aggregate of a row is, or is to be: its slot or, with `next_slot`, the one behind it."""
        behind = (slot + 1) % self.size
        if not self.discipline.next_slot or self._is(slot, key, wid):
            return slot
        if self._is(behind, key, wid):
            return behind
        if self.discipline.in_order:  # footnote 1
            return behind if self._is_new(slot) and not self._is_new(behind) else slot
        if self._at[slot] == NOTHING or self._at[behind] == NOTHING:
            return slot if self._at[slot] == NOTHING else behind
        return behind if self._wids[self._at[behind]] < self._wids[self._at[slot]] else slot  # the older goes

    def _is(self, slot: int, key: tuple[int, ...], wid: int) -> bool:
        at = self._at[slot]
        return at != NOTHING and self._wids[at] == wid and tuple(self._words[at].tolist()) == key

    def _is_old(self, slot: int, bound: int) -> bool:
        at = self._at[slot]
        return at != NOTHING and bool(self._wids[at] < bound)

    def _is_new(self, slot: int) -> bool:
        at = self._at[slot]
        return at != NOTHING and bool(self._wids[at] == self.current)

    def _install(self, slot: int, key: tuple[int, ...], wid: int) -> int:
        place = self._free.pop()
        self._at[slot], self._words[place], self._wids[place] = place, key, wid
        return place

    def _let_go(self, slot: int, out: list[int]) -> None:
        if self._at[slot] != NOTHING:
            out.append(self._at[slot])
            self._at[slot] = NOTHING
