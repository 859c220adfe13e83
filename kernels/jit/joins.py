"""The rows that one side of a join holds, in Numba: chains of rows by key, over arrays that their owner makes grow.

Links are one more than the place of a row, 0 where there is none, so that new arrays of zeros are empty chains.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oop.kernels.checks import INT64_MAX, INT64_MIN, Array, Ints, Real, Words
from oop.kernels.jit.compiler import as_input, compile_loop
from oop.kernels.jit.tables import SECRETS, Secrets
from oop.kernels.signatures.joins import JoinTableBase, Reach, empty, place_taken, whole_reach

Links = NDArray[np.uint32]

SMALLEST = 32  # places and heads of a new table; with two heads or more, a hash is shifted by less than 64 bits
NO_ROW = np.uint32(2**32 - 1)
HALF = np.uint64(32)


class ChainedRows(NamedTuple):
    """What is kept of the row in each place."""

    words: Words
    times: Array
    older: Links  # the next older row of its chain
    newer: Links  # the next newer row of its chain; NO_ROW in a place without a row


class Span(NamedTuple):
    """A reach with both ends closed. Whole times may be further apart than 64 bits can say; `far_below` and `far_above`
    say whether such rows meet."""

    low: Real
    high: Real
    far_below: bool
    far_above: bool


class JoinTable(JoinTableBase):
    def run_init(self) -> None:
        self._count = 0
        self._secrets = SECRETS
        self._heads: Links = np.zeros(SMALLEST, np.uint32)  # the newest row of each chain
        self._rows = new_rows(0, self.dtype)

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        return self._heads.nbytes + sum(array.nbytes for array in self._rows)

    def run_insert(self, places: Ints, words: Words, times: Array) -> None:
        last = int(places.max())
        if last >= len(self._rows.words):
            self._grow(last + 1)
        inputs = as_input(places), as_input(words), as_input(times)
        done = insert_rows(self._heads, self._rows, *inputs, self._secrets)
        self._count += done
        if done < len(places):
            self.run_remove(places[:done])
            raise place_taken()

    def run_remove(self, places: Ints) -> None:
        done = remove_rows(self._heads, self._rows, as_input(places), self._secrets)
        self._count -= done
        if done < len(places):
            raise empty()

    def run_read(self, places: Ints) -> tuple[Words, Array]:
        rows = self._rows
        if len(places) and (int(places.max()) >= len(rows.words) or (rows.newer[places] == NO_ROW).any()):
            raise empty()
        return rows.words[places], rows.times[places]

    def run_probe(self, words: Words, times: Array, reach: Reach, start: int, most: int) -> tuple[Ints, Ints, int]:
        times = as_input(times)
        words, span = as_input(words), close_reach(reach, self.dtype)
        done, end, found, room = int(start), len(words), 0, min(most, 2 * (len(words) - start) + SMALLEST)
        mine, theirs = np.empty(room, np.int64), np.empty(room, np.int64)
        while True:
            table = self._heads, self._rows, self._secrets
            done, found = probe_rows(*table, words, times, span, done, end, mine, theirs, found)
            if done == end or (room >= most and done > start):
                return mine[:found], theirs[:found], done
            if room >= most:
                end = start + 1  # the first row alone has more pairs
            room = min(4 * room, most) if room < most else 4 * room
            mine, theirs = (np.concatenate((a[:found], np.empty(room - found, np.int64))) for a in (mine, theirs))

    def _grow(self, places: int) -> None:
        size = max(SMALLEST, 1 << (places - 1).bit_length())
        rows, before = new_rows(size, self.dtype), len(self._rows.words)
        arrays: list[tuple[Array, Array]] = list(zip(rows, self._rows, strict=True))
        for array, old in arrays:
            array[:before] = old
        self._rows = rows
        if size > len(self._heads):
            heads = np.zeros(size, np.uint32)
            link_again(heads, rows, self._heads, self._secrets)
            self._heads = heads


def new_rows(size: int, dtype: Any) -> ChainedRows:
    """Places without rows."""
    links = np.zeros(size, np.uint32), np.full(size, NO_ROW)
    return ChainedRows(np.zeros(size, np.uint64), np.zeros(size, dtype), *links)


def close_reach(reach: Reach, dtype: Any) -> Span:
    """The reach as the loops take it.

    >>> close_reach(Reach(0, 9, high_open=True), np.int64)
    Span(low=0, high=8, far_below=False, far_above=False)
    """
    if dtype == np.float64:
        low, high = float(reach.low), float(reach.high)
        # Above a float means from the next float on.
        low = math.nextafter(low, math.inf) if reach.low_open else low
        return Span(low, math.nextafter(high, -math.inf) if reach.high_open else high, False, False)
    low, high = whole_reach(reach)
    return Span(low, high, low == INT64_MIN, high == INT64_MAX)


@compile_loop
def insert_rows(heads: Links, rows: ChainedRows, places: Ints, words: Words, times: Array, secrets: Secrets) -> int:
    """Insert rows, up to the first whose place is taken; return how many went in."""
    shift = _find_shift(heads)
    for i in range(len(places)):
        place = places[i]
        if rows.newer[place] != NO_ROW:
            return i
        rows.words[place] = words[i]
        rows.times[place] = times[i]
        _push_row(heads, rows, _find_head(words[i], shift, secrets), place)
    return len(places)


@compile_loop
def remove_rows(heads: Links, rows: ChainedRows, places: Ints, secrets: Secrets) -> int:
    """Remove the rows in these places, up to the first place that has none; return how many came out."""
    shift = _find_shift(heads)
    for i in range(len(places)):
        place = places[i]
        if place >= len(rows.newer) or rows.newer[place] == NO_ROW:
            return i
        older, newer = rows.older[place], rows.newer[place]
        if older:
            rows.newer[older - 1] = newer
        if newer:
            rows.older[newer - 1] = older
        else:
            heads[_find_head(rows.words[place], shift, secrets)] = older
        rows.newer[place] = NO_ROW
    return len(places)


@compile_loop
def link_again(heads: Links, rows: ChainedRows, old: Links, secrets: Secrets) -> None:
    """Move all chains from the old heads to new ones, which are zero."""
    shift = _find_shift(heads)
    for chain in range(len(old)):
        at = old[chain]
        if not at:
            continue
        while rows.older[at - 1]:
            at = rows.older[at - 1]
        while at:  # from the oldest on, so that rows with the same word keep their order
            newer = rows.newer[at - 1]
            _push_row(heads, rows, _find_head(rows.words[at - 1], shift, secrets), at - 1)
            at = newer


@compile_loop
def probe_rows(
    heads: Links,
    rows: ChainedRows,
    secrets: Secrets,
    words: Words,
    times: Array,
    span: Span,
    start: int,
    end: int,
    mine: Ints,
    theirs: Ints,
    found: int,
) -> tuple[int, int]:
    """Find the pairs of the rows from `start` to `end`, the newest partner of a row first. Return the row whose pairs
    found no room, or `end`, and how many pairs the rows before it have."""
    shift = _find_shift(heads)
    for i in range(start, end):
        before = found
        at = heads[_find_head(words[i], shift, secrets)]
        while at:
            place = at - 1
            if rows.words[place] == words[i] and _meets(times[i], rows.times[place], span):
                if found == len(mine):
                    return i, before
                mine[found] = i
                theirs[found] = place
                found += 1
            at = rows.older[place]
    return end, found


@compile_loop
def _meets(t: Real, s: Real, span: Span) -> bool:
    apart = s - t
    # The difference of whole times may have wrapped. Of real times only equal infinities come here: it is NaN.
    if (apart >= 0) != (s >= t):
        return span.far_above if s >= t else span.far_below
    return span.low <= apart <= span.high


@compile_loop
def _push_row(heads: Links, rows: ChainedRows, head: np.uint64, place: int) -> None:
    older = heads[head]
    rows.older[place] = older
    rows.newer[place] = 0
    if older:
        rows.newer[older - 1] = place + 1
    heads[head] = place + 1


@compile_loop
def _find_shift(heads: Links) -> np.uint64:
    """How far a hash is shifted to give a head."""
    shift = 64
    while 1 << (64 - shift) < len(heads):
        shift -= 1
    return np.uint64(shift)


@compile_loop
def _find_head(word: np.uint64, shift: np.uint64, secrets: Secrets) -> np.uint64:
    """As in `oop.kernels.jit.tables`, nobody can choose words that meet in one chain without knowing the secrets."""
    word = (word ^ secrets[0]) * secrets[1]
    word = (word ^ (word >> HALF)) * secrets[2]
    return word >> shift
