"""The rows that one side of a join holds, found by key and time, in NumPy."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import INT64_MAX, INT64_MIN, Array, Bools, Ints, Words
from oop.kernels.signatures.joins import JoinTableBase, Reach, empty, place_taken, whole_reach


class JoinTable(JoinTableBase):
    def run_init(self) -> None:
        self._rows = 0
        self._age = 0
        self._words: Words = np.zeros(0, np.uint64)
        self._times: Array = np.zeros(0, self.dtype)
        self._ages: Ints = np.zeros(0, np.int64)  # when the row came; 0 where there is none

    def __len__(self) -> int:
        return self._rows

    @property
    def nbytes(self) -> int:
        return self._words.nbytes + self._times.nbytes + self._ages.nbytes

    def run_insert(self, places: Ints, words: Words, times: Array) -> None:
        if (more := int(places.max()) + 1 - len(self._ages)) > 0:
            self._words, self._times = np.pad(self._words, (0, more)), np.pad(self._times, (0, more))
            self._ages = np.pad(self._ages, (0, more))
        if (self._ages[places] > 0).any() or len(np.unique(places)) < len(places):
            raise place_taken()
        self._words[places], self._times[places] = words, times
        self._ages[places] = self._age + 1 + np.arange(len(places))
        self._age += len(places)
        self._rows += len(places)

    def run_remove(self, places: Ints) -> None:
        self._check_there(places)
        if len(np.unique(places)) < len(places):
            raise empty()
        self._ages[places] = 0
        self._rows -= len(places)

    def run_read(self, places: Ints) -> tuple[Words, Array]:
        self._check_there(places)
        return self._words[places], self._times[places]

    def run_probe(self, words: Words, times: Array, reach: Reach, start: int, most: int) -> tuple[Ints, Ints, int]:
        there = np.flatnonzero(self._ages)
        order = there[np.lexsort((-self._ages[there], self._words[there]))]
        ordered = self._words[order]
        first = np.searchsorted(ordered, words[start:], "left")
        counts = np.searchsorted(ordered, words[start:], "right") - first
        mine = np.repeat(np.arange(len(words) - start), counts)
        within = np.arange(len(mine)) - np.repeat(np.cumsum(counts) - counts, counts)
        theirs = order[first[mine] + within]
        met = _meets(times[start:][mine], self._times[theirs], reach)
        mine, theirs = mine[met], theirs[met]
        ends = np.cumsum(np.bincount(mine, minlength=len(words) - start))
        done = max(int(np.searchsorted(ends, most, "right")), min(1, len(ends)))
        pairs = int(ends[done - 1]) if done else 0
        return mine[:pairs] + start, theirs[:pairs], start + done

    def _check_there(self, places: Ints) -> None:
        if len(places) and (int(places.max()) >= len(self._ages) or not self._ages[places].all()):
            raise empty()


def _meets(times: Array, held: Array, reach: Reach) -> Bools:
    met = np.ones(len(times), np.bool_)
    if held.dtype == np.float64:
        with np.errstate(invalid="ignore", over="ignore"):
            apart = held - times
        met &= apart > reach.low if reach.low_open else apart >= reach.low
        return met & (apart < reach.high if reach.high_open else apart <= reach.high)
    low, high = whole_reach(reach)
    # The difference of two 64-bit numbers may need 65: it is split into a high and a low half.
    high_half = (held >> 32) - (times >> 32)
    low_half = (held & 0xFFFFFFFF) - (times & 0xFFFFFFFF)
    high_half, low_half = high_half + (low_half >> 32), low_half & 0xFFFFFFFF

    def at_least(bound: int) -> Bools:
        top, bottom = bound >> 32, bound & 0xFFFFFFFF
        return (high_half > top) | ((high_half == top) & (low_half >= bottom))

    if low > INT64_MIN:
        met &= at_least(low)
    if high < INT64_MAX:
        met &= ~at_least(high + 1)
    return met
