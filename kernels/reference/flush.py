"""The low-level half of two-level aggregation, in plain Python (OOP paper, section 6)."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import INT64_MIN, Array, Ints, Words
from oop.kernels.signatures.flush import FlushTableBase

NOTHING = -1  # the place of an empty slot


class FlushTable(FlushTableBase):
    def run_init(self) -> None:
        size, places = self.size, self.size + self.room
        self.bound = INT64_MIN
        self.current = INT64_MIN  # in order: the window of the last row
        self.hand = 0  # in order, figure 7's flush_pos: the next slot to be visited
        self.to_visit = 0  # in order: slots that may still hold something old; 0: flush_finished
        self.since = 0  # out of order: rows since an aggregate was last let go
        self._collided = 0
        self._at = np.full(size, NOTHING)  # by slot, the place of its aggregate
        self._words = np.zeros((places, self.width), np.uint64)
        self._wids = np.zeros(places, np.int64)
        self._free = list(range(places))[::-1]

    def __len__(self) -> int:
        return self.size + self.room - len(self._free)

    @property
    def nbytes(self) -> int:
        return 24 * self.size + self._words.nbytes + self._wids.nbytes + 8 * (self.size + self.room)

    def run_state(self) -> tuple[int, ...]:
        return self.bound, self.current, self.hand, self.to_visit, self.since, self._collided

    def run_set_state(self, state: tuple[int, ...]) -> None:
        self.bound, self.current, self.hand, self.to_visit, self.since, self._collided = state

    def run_push(self, slots: Array, words: Words, wids: Ints) -> tuple[Ints, Ints]:
        out: list[int] = []
        unused = self._free.copy()
        step = self._push_in_order if self.discipline.in_order else self._push
        rows = zip(slots.tolist(), words.tolist(), wids.tolist(), strict=True)
        ids = [step(slot, tuple(key), wid, out) for slot, key, wid in rows]
        self.installed = np.array(unused[len(self._free) :][::-1], np.int64)
        return np.array(ids, np.int64), np.array(out, np.int64)

    def run_flush(self, everything: bool, below: int, slots: range) -> Ints:
        held = [(slot, self._at[slot]) for slot in slots if self._at[slot] != NOTHING]
        gone = [slot for slot, at in held if everything or self._wids[at] < below]
        if self.discipline.in_order:
            gone.sort(key=lambda slot: not self._is_old(slot, self.current))
        out: list[int] = []
        for slot in gone:
            self._let_go(slot, out)
        return np.array(out, np.int64)

    def run_free(self, places: Ints) -> None:
        self._free.extend(places.tolist())

    def held(self) -> tuple[Array, Ints]:
        taken = np.flatnonzero(self._at != NOTHING)
        return taken.astype(np.int32), self._at[taken]

    def run_restore(self, slots: Array, words: Words, wids: Ints) -> Ints:
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
        if self._is_new(at):  # to keep order, all old aggregates go out first
            self._flush_old(out)
            self._collided += 1
        self._let_go(at, out)
        return self._install(at, key, wid)

    def _slow_flush(self, out: list[int]) -> None:
        """SlowFlush of figure 7: visit one slot."""
        if self._is_old(self.hand, self.current):
            self._let_go(self.hand, out)
        self.hand += 1
        self.to_visit -= 1

    def _flush_old(self, out: list[int]) -> None:
        """Let go all old aggregates. They are in the slots from the hand on: those before it have been visited."""
        while self.to_visit:
            self._slow_flush(out)

    def _push(self, slot: int, key: tuple[int, ...], wid: int, out: list[int]) -> int:
        """Out of order (section 6) an aggregate that is in the way goes out alone, because no order must be kept."""
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
        """Slow-flush out of order (section 6): every i rows the oldest aggregate leaves, if it is old, so that one
        window after the other is complete. Of several the one in the first slot leaves."""
        self.since += 1
        if self.since < self.discipline.every:
            return
        self.since = 0
        taken = np.flatnonzero(self._at != NOTHING)
        wids = self._wids[self._at[taken]]
        if (wids < self.bound).any():
            self._let_go(taken[wids.argmin()], out)

    def _find(self, slot: int, key: tuple[int, ...], wid: int) -> int:
        """The slot where a row's aggregate is or goes: the row's own or, with `next_slot`, the one behind it."""
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
