"""The low-level half of two-level aggregation, in Numba (OOP paper, section 6): a table of a fixed size, over
arrays that this class owns."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import INT64_MAX, INT64_MIN, Array, Ints, Words
from oop.kernels.jit.compiler import as_input, compile_loop
from oop.kernels.signatures.flush import CHILDREN, FlushTableBase, lay_levels

EMPTY = -1
# Where the numbers of a table stand in an array; the first are those of `FlushTableBase.state`.
BOUND, CURRENT, HAND, TO_VISIT, SINCE, COLLIDED, FREE, GONE, IN_ORDER, EVERY, NEXT_SLOT = range(11)
SAVED = COLLIDED + 1


class FlushTable(FlushTableBase):
    def run_init(self) -> None:
        places = self.size + self.room
        in_order, every, next_slot = self.discipline.in_order, self.discipline.every, self.discipline.next_slot
        self._at = np.full(self.size, EMPTY, np.int64)
        self._words = np.zeros((places, self.width), np.uint64)
        self._wids = np.zeros(places, np.int64)
        self._unused = np.arange(places)[::-1].copy()
        self._starts = lay_levels(self.size if every else 0)
        self._least = np.full(self._starts[-1], INT64_MAX)
        self._numbers = np.zeros(11, np.int64)
        self._numbers[[BOUND, CURRENT]] = INT64_MIN
        self._numbers[[FREE, IN_ORDER, EVERY, NEXT_SLOT]] = places, in_order, every, next_slot

    def __len__(self) -> int:
        return int(self.size + self.room - self._numbers[FREE])

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (self._at, self._words, self._wids, self._unused, self._least))

    def run_state(self) -> tuple[int, ...]:
        return tuple(self._numbers[:SAVED].tolist())

    def run_set_state(self, state: tuple[int, ...]) -> None:
        self._numbers[:SAVED] = state

    def run_push(self, slots: Array, words: Words, wids: Ints) -> tuple[Ints, Ints]:
        ids, out = np.empty(len(slots), np.int64), np.empty(self.size + self.room, np.int64)
        self._numbers[GONE] = 0
        free = int(self._numbers[FREE])
        kept = self._at, self._words, self._wids, self._unused, self._numbers, self._least, self._starts
        _push(as_input(slots), as_input(words), as_input(wids), *kept, ids, out)
        self.installed = self._unused[self._numbers[FREE] : free][::-1].copy()  # the places taken off the end
        return ids, out[: self._numbers[GONE]].copy()

    def run_flush(self, everything: bool, below: int, slots: range) -> Ints:
        out = np.empty(len(slots), np.int64)
        self._numbers[GONE] = 0
        _flush(self._at[slots.start : slots.stop], self._wids, self._numbers, everything, below, out)
        return out[: self._numbers[GONE]].copy()

    def run_free(self, places: Ints) -> None:
        free = self._numbers[FREE]
        self._unused[free : free + len(places)] = places
        self._numbers[FREE] += len(places)

    def held(self) -> tuple[Array, Ints]:
        taken = np.flatnonzero(self._at != EMPTY)
        return taken.astype(np.int32), self._at[taken]

    def run_restore(self, slots: Array, words: Words, wids: Ints) -> Ints:
        free = int(self._numbers[FREE])
        places = self._unused[free - len(slots) : free][::-1].copy()
        self._at[slots], self._words[places], self._wids[places] = places, words, wids
        self._numbers[FREE] -= len(slots)
        if self.discipline.every:
            for slot, wid in zip(slots.tolist(), wids.tolist(), strict=True):
                _note_window(slot, wid, self._least, self._starts)
        return places


@compile_loop
def _is_same(at: int, words: Words, wids: Ints, row: int, key: Words, wid: int) -> bool:
    if at == EMPTY or wids[at] != wid:
        return False
    same = True
    for j in range(key.shape[1]):
        same &= words[at, j] == key[row, j]
    return same


@compile_loop
def _is_old(at: int, wids: Ints, bound: int) -> bool:
    return at != EMPTY and wids[at] < bound


@compile_loop
def _let_go(slot: int, places: Ints, state: Ints, out: Ints) -> None:
    if places[slot] != EMPTY:
        out[state[GONE]] = places[slot]
        state[GONE] += 1
        places[slot] = EMPTY


@compile_loop
def _slow_flush(places: Ints, wids: Ints, state: Ints, out: Ints) -> None:
    """SlowFlush of figure 7: visit one slot."""
    slot = state[HAND]
    if _is_old(places[slot], wids, state[CURRENT]):
        _let_go(slot, places, state, out)
    state[HAND] += 1
    state[TO_VISIT] -= 1


@compile_loop
def _note_window(slot: int, wid: int, least: Ints, starts: Ints) -> None:
    """Note that an aggregate of this window is in the slot: lower the nodes above it (`csrc/oldest.h`)."""
    for level in range(len(starts) - 1):
        slot //= CHILDREN
        if least[starts[level] + slot] <= wid:
            return
        least[starts[level] + slot] = wid


@compile_loop
def _find_oldest(places: Ints, wids: Ints, bound: int, least: Ints, starts: Ints) -> int:
    """The slot of the oldest aggregate, the first of several; -1 if none is of a window below the bound."""
    top = len(starts) - 2
    level, node = top, 0
    while True:
        wid = least[starts[level] + node]
        if wid >= bound:
            return -1
        count = starts[level] - starts[level - 1] if level else len(places)
        found, later = -1, INT64_MAX
        for child in range(CHILDREN * node, min(CHILDREN * (node + 1), count)):
            if level:
                other = least[starts[level - 1] + child]
            else:
                other = INT64_MAX if places[child] == EMPTY else wids[places[child]]
            if other == wid:
                found = child
                break
            later = min(later, other)
        if found < 0:  # it has left: go on from the node above, which has another such child or is raised as well
            least[starts[level] + node] = later
            if level < top:
                level, node = level + 1, node // CHILDREN
        elif level:
            level, node = level - 1, found
        else:
            return found


@compile_loop
def _slow_flush_every(places: Ints, wids: Ints, state: Ints, least: Ints, starts: Ints, out: Ints) -> None:
    """Slow-flush out of order (section 6): every i rows the oldest aggregate leaves, if it is old."""
    state[SINCE] += 1
    if state[SINCE] < state[EVERY]:
        return
    state[SINCE] = 0
    oldest = _find_oldest(places, wids, state[BOUND], least, starts)
    if oldest >= 0:
        _let_go(oldest, places, state, out)


@compile_loop
def _find(slot: int, places: Ints, kept: Words, wids: Ints, state: Ints, row: int, key: Words, wid: int) -> int:
    """The slot where a row's aggregate is or goes: the row's own or, with `next_slot`, the one behind it."""
    here = places[slot]
    if state[NEXT_SLOT] == 0 or _is_same(here, kept, wids, row, key, wid):
        return slot
    behind = slot + 1 if slot + 1 < len(places) else 0
    other = places[behind]
    if _is_same(other, kept, wids, row, key, wid):
        return behind
    if state[IN_ORDER]:  # footnote 1
        taken = here != EMPTY and wids[here] == state[CURRENT]
        return behind if taken and (other == EMPTY or wids[other] != state[CURRENT]) else slot
    if here == EMPTY or other == EMPTY:
        return slot if here == EMPTY else behind
    return behind if wids[other] < wids[here] else slot  # the older one goes


@compile_loop
def _push(
    slots: Array,
    words: Words,
    windows: Ints,
    places: Ints,
    kept: Words,
    wids: Ints,
    unused: Ints,
    state: Ints,
    least: Ints,
    starts: Ints,
    ids: Ints,
    out: Ints,
) -> None:
    for i in range(len(slots)):
        wid = windows[i]
        if state[IN_ORDER]:  # ProcessTuple of figure 7
            if wid > state[CURRENT]:  # the start of a new window
                while state[TO_VISIT]:
                    _slow_flush(places, wids, state, out)
                state[CURRENT], state[HAND], state[TO_VISIT] = wid, 0, len(places)
            if state[TO_VISIT]:
                _slow_flush(places, wids, state, out)
        elif state[EVERY]:
            _slow_flush_every(places, wids, state, least, starts, out)
        slot = _find(slots[i], places, kept, wids, state, i, words, wid)
        at = places[slot]
        if _is_same(at, kept, wids, i, words, wid):
            ids[i] = at
            continue
        if at != EMPTY and wids[at] == wid:
            state[COLLIDED] += 1
            if state[IN_ORDER]:  # to keep order, all old aggregates go out first
                while state[TO_VISIT]:
                    _slow_flush(places, wids, state, out)
        _let_go(slot, places, state, out)
        state[FREE] -= 1
        place = unused[state[FREE]]
        places[slot] = ids[i] = place
        wids[place] = wid
        if state[EVERY]:
            _note_window(slot, wid, least, starts)
        for j in range(words.shape[1]):
            kept[place, j] = words[i, j]


@compile_loop
def _flush(places: Ints, wids: Ints, state: Ints, all: bool, below: int, out: Ints) -> None:
    if state[IN_ORDER]:  # the old ones first
        for slot in range(len(places)):
            if _is_old(places[slot], wids, state[CURRENT]) and (all or wids[places[slot]] < below):
                _let_go(slot, places, state, out)
    for slot in range(len(places)):
        if places[slot] != EMPTY and (all or wids[places[slot]] < below):
            _let_go(slot, places, state, out)
