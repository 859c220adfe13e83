"""The low-level half of two-level aggregation, in Python (paper 004, section 6): a table of a fixed size, in which an
aggregate that is in the way goes out; and the keys that are compared in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from oop.kernels.checks import INT64_MIN, Array, Ints, KernelError, check_array, check_ids
from oop.kernels.reference_groups import Words, normalize_column
from oop.kernels.views import Column
from oop.kernels.words import check_pack, count_words, lay_out

MOST_SLOTS = 2**31 - 1
NOTHING = -1  # the place of an empty slot


def pack_words(columns: Sequence[Column], nulls: bool, length: int | None = None) -> Words:
    """The words of each row's key; equal keys have equal words. With `nulls` there is one more, for nulls.

    >>> src, dst = (Column("int32", np.array(data, np.int32)) for data in ([7, 1], [2, 0]))
    >>> pack_words([src, dst], nulls=False).tolist() == [[2 << 32 | 7], [1]]
    True
    """
    length = check_pack(columns, nulls, length)
    kinds = [column.kind for column in columns]
    words = np.zeros((length, count_words(kinds, nulls)), np.uint64)
    for number, (column, (place, shift)) in enumerate(zip(columns, lay_out(kinds)[0], strict=True)):
        data = normalize_column(column).data if column.kind == "float" else column.data
        bits = np.ascontiguousarray(data).view(f"uint{8 * data.itemsize}").astype(np.uint64) << np.uint64(shift)
        if column.valid is not None:
            bits = np.where(column.valid, bits, np.uint64(0))
            words[:, -1] |= (~column.valid).astype(np.uint64) << np.uint64(number)
        words[:, place] |= bits
    return words


@dataclass(frozen=True)
class Discipline:
    """When aggregates leave a table, other than when they are in the way.

    ``in_order``: as in figure 7, a slot is visited with each row. ``every``: out of order, one that is old leaves with
    every so many rows (0: none does). ``next_slot``: where the slot is taken the next one is looked at (footnote 1).
    """

    in_order: bool = False
    every: int = 0
    next_slot: bool = False


class Fixed(Protocol):
    """What the checks look at."""

    size: int
    width: int
    room: int

    def __len__(self) -> int: ...


def check_table(size: int, width: int, room: int) -> None:
    if not 1 <= size <= MOST_SLOTS or not 1 <= room <= MOST_SLOTS - size or not 1 <= width <= 65:
        raise KernelError(f"no table of {size} slots, {width} words and room for {room} rows")


def check_flush(table: Fixed, slots: Array, words: Words, wids: Ints) -> None:
    """What is pushed fits the table."""
    if len(slots) > table.room:
        raise KernelError(f"{len(slots)} rows at once, where the table has room for {table.room}")
    check_rows(table, slots, words, wids)


def check_rows(table: Fixed, slots: Array, words: Words, wids: Ints) -> None:
    check_array("slots", slots, np.int32)
    check_array("wids", wids, np.int64, len(slots))
    if not isinstance(words, np.ndarray) or words.dtype != np.uint64 or words.shape != (len(slots), table.width):
        raise KernelError(f"words must be uint64, {table.width} for each of {len(slots)} rows")
    if len(slots) and not 0 <= int(slots.min()) <= int(slots.max()) < table.size:
        raise KernelError(f"slots must be from 0 to {table.size - 1}")


def check_free(table: Fixed, places: Ints) -> None:
    check_ids(places, table.size + table.room, name="places")
    if len(places) > len(table):
        raise KernelError(f"{len(places)} places are given back, of {len(table)}")


def check_restore(table: Fixed, slots: Array, words: Words, wids: Ints) -> None:
    """Each slot has one aggregate at most, and the table none yet."""
    if len(table) or len(np.unique(slots)) < len(slots):
        raise KernelError("aggregates go back into an empty table, one into a slot")
    check_rows(table, slots, words, wids)


class FlushTable:
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
        check_table(size, width, room)
        self.size, self.width, self.room, self.discipline = size, width, room, discipline
        self.bound = INT64_MIN
        self.current = INT64_MIN  # in order: the window of the last row
        self.hand = 0  # figure 7's flush_pos: the next slot to be visited
        self.to_visit = 0  # slots that may still hold something old; 0: flush_finished
        self.since = 0  # rows since the last that was let go, out of order
        self.collided = 0
        self.installed: Ints = np.zeros(0, np.int64)  # the places that the last push gave to new aggregates
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
        return self.bound, self.current, self.hand, self.to_visit, self.since, self.collided

    @state.setter
    def state(self, state: Sequence[int]) -> None:
        self.bound, self.current, self.hand, self.to_visit, self.since, self.collided = state

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
        if bound > self.bound:
            self.bound = bound
            if not self.discipline.in_order:
                self.to_visit = self.size

    def push(self, slots: Array, words: Words, wids: Ints) -> tuple[Ints, Ints]:
        """Rows in this order: the place of each, and the places that leave."""
        check_flush(self, slots, words, wids)
        if self.discipline.in_order and len(wids) and (wids[0] < self.current or (wids[1:] < wids[:-1]).any()):
            raise KernelError("windows go back, in a table that is in order")
        if len(slots) > len(self._free):
            raise KernelError("there are no free places: those that have left were not given back")
        out: list[int] = []
        free = len(self._free)
        below = self._free[free - len(slots) :]
        step = self._push_in_order if self.discipline.in_order else self._push
        keys = [tuple(key) for key in words.tolist()]
        ids = [step(slot, key, wid, out) for slot, key, wid in zip(slots.tolist(), keys, wids.tolist(), strict=True)]
        used = free - len(self._free)
        self.installed = np.array(below[::-1][:used], np.int64)
        return np.array(ids, np.int64), np.array(out, np.int64)

    def flush(self, below: int | None) -> Ints:
        """All aggregates of windows below the bound leave (None: of all windows); in order, the old ones first."""
        gone = [s for s, at in enumerate(self._at) if at != NOTHING and (below is None or self._wids[at] < below)]
        if self.discipline.in_order:
            gone.sort(key=lambda slot: not self._is_old(slot, self.current))
        out: list[int] = []
        for slot in gone:
            self._let_go(slot, out)
        return np.array(out, np.int64)

    def free(self, places: Ints) -> None:
        """Places that have left may be used again."""
        check_free(self, places)
        self._free.extend(places.tolist())

    def held(self) -> tuple[Array, Ints]:
        """The slots that are taken, in order, and the places in them."""
        taken = [slot for slot, at in enumerate(self._at) if at != NOTHING]
        return np.array(taken, np.int32), np.array([self._at[slot] for slot in taken], np.int64)

    def restore(self, slots: Array, words: Words, wids: Ints) -> Ints:
        """Into an empty table: aggregates in these slots; the place of each."""
        check_restore(self, slots, words, wids)
        return np.array(
            [
                self._install(slot, tuple(key), wid)
                for slot, key, wid in zip(slots.tolist(), words.tolist(), wids.tolist(), strict=True)
            ],
            np.int64,
        )

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
            self.collided += 1
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
            self.collided += 1
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
