"""The greatest rows of each group, as many as the slack says, in Numba: a heap for each group, in shared arrays.

Rows go through their heaps one by one; only `oop.kernels.native.buffers` is faster by sorting batches.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from oop.kernels.checks import INT64_MIN, Array, Ints, Words
from oop.kernels.jit.compiler import as_input, compile_loop
from oop.kernels.signatures.buffers import BuffersBase, RowBoundsBase, SortBuffersBase

SMALLEST = 4  # rows for which a group gets room at first
NAN_FIRST, NAN_LAST = np.uint64(0), np.uint64(2**64 - 1)
_SIGN = np.uint64(2**63)


class Heaps(NamedTuple):
    """The rows of all groups. The `held` rows of a group begin at its start, as a heap with the least first."""

    keys: Words
    places: Ints
    starts: Ints
    held: Ints
    rooms: Ints


class _Buffers(BuffersBase):
    """Holds the greatest rows of each group, up to `slack` or (`more`) some more."""

    def _begin(self, more: int, nan: np.uint64) -> None:
        self._most, self._nan = self.slack + more, nan
        self._used = 0
        self._heaps = Heaps(np.zeros(0, np.uint64), *(np.zeros(0, np.int64) for _ in range(4)))

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._heaps)

    def _push(self, ids: Ints | None, values: Array, place: int) -> tuple[Ints, Words]:
        """The places of rows that leave, and before each row the least key of its group, or 0 if that is not full."""
        if ids is None:
            ids = np.zeros(len(values), np.int64)
            self._reserve(ids[:1], np.full(min(1, len(ids)), len(ids)))
        else:
            self._reserve(*np.unique(ids, return_counts=True))
        left, bounds = np.empty(len(values), np.int64), np.empty(len(values), np.uint64)
        rows = as_input(ids), as_input(to_keys(values, self._nan))
        return left[: push_rows(self._heaps, *rows, self._most, place, left, bounds)], bounds

    def _reserve(self, groups: Ints, counts: Ints) -> None:
        heaps = self._heaps
        if len(groups) and (more := int(groups[-1]) + 1 - len(heaps.held)) > 0:
            wider = (np.pad(array, (0, more)) for array in heaps[2:])
            self._heaps = heaps = Heaps(heaps.keys, heaps.places, *wider)
        wanted = np.minimum(self._most, heaps.held[groups] + counts)
        rooms = np.maximum(wanted, np.minimum(self._most, 2 * heaps.rooms[groups] + SMALLEST))
        lack = wanted > heaps.rooms[groups]
        if not lack.any():
            return
        groups, rooms = groups[lack], rooms[lack]
        if (lacking := self._used + int(rooms.sum()) - len(heaps.keys)) > 0:
            more = max(lacking, len(heaps.keys))
            heaps = heaps._replace(keys=np.pad(heaps.keys, (0, more)), places=np.pad(heaps.places, (0, more)))
        self._heaps = heaps
        self._used = move_heaps(heaps, as_input(groups), as_input(rooms), self._used)

    def _list(self) -> tuple[Ints, Words, Ints]:
        """The group, the key and the place of each row, group by group, ascending."""
        heaps = self._heaps
        ids = np.repeat(np.arange(len(heaps.held)), heaps.held)
        rows = heaps.starts[ids] + np.arange(len(ids)) - (np.cumsum(heaps.held) - heaps.held)[ids]
        rows = rows[np.lexsort((heaps.places[rows], heaps.keys[rows], ids))]
        return ids, heaps.keys[rows], heaps.places[rows]


class SortBuffers(_Buffers, SortBuffersBase):
    def run_init(self) -> None:
        self._begin(0, NAN_LAST)
        self._next = 0

    @property
    def places(self) -> int:
        return self._next

    def __len__(self) -> int:
        return int(self._heaps.held.sum())

    def run_push(self, ids: Ints | None, values: Array) -> Ints:
        left, _ = self._push(ids, values, self._next)
        self._next += len(values)
        return left

    def drain(self) -> Ints:
        _, _, left = self._list()
        self._heaps.held[:] = 0
        self._next = 0
        return left

    def compact(self) -> Ints:
        _, _, places = self._list()
        kept = np.sort(places)
        number_places(self._heaps, kept)
        self._next = len(kept)
        return kept


class RowBounds(_Buffers, RowBoundsBase):
    def run_init(self) -> None:
        self._begin(1, NAN_FIRST)

    def run_push(self, ids: Ints | None, values: Array) -> Array:
        _, bounds = self._push(ids, values, 0)
        return self._bounds_of(bounds)

    def run_groups(self) -> int:
        return len(self._heaps.held)

    def run_bounds(self, ids: Ints) -> Array:
        heaps = self._heaps
        held, starts = heaps.held[ids], heaps.starts[ids]
        bounds = np.zeros(len(held), np.uint64)
        full = held == self._most
        bounds[full] = heaps.keys[starts[full]]
        return self._bounds_of(bounds)

    def held(self) -> tuple[Ints, Array]:
        ids, keys, _ = self._list()
        values = from_keys(keys, self.dtype)
        known = values == values
        return ids[known], values[known]

    def _bounds_of(self, keys: Words) -> Array:
        """Keys as bounds. Key 0 stands for a NaN, and for a buffer that is not full: neither bounds anything."""
        values = from_keys(keys, self.dtype)
        values[keys == 0] = INT64_MIN if self.dtype == np.int64 else -np.inf
        return values


def to_keys(values: Array, nan: np.uint64) -> Words:
    """Values as unsigned numbers in the same order; the two zeros are one, and every NaN is `nan`.

    >>> to_keys(np.array([-0.0, 0.0, np.nan]), NAN_LAST).tolist() == [2**63, 2**63, 2**64 - 1]
    True
    """
    if values.dtype == np.int64:
        return values.view(np.uint64) ^ _SIGN
    bits = (values + 0.0).view(np.uint64)
    keys = bits ^ np.where(bits & _SIGN, NAN_LAST, _SIGN)
    keys[np.isnan(values)] = nan
    return keys


def from_keys(keys: Words, dtype: Any) -> Array:
    """The values of keys; both keys for NaN give NaN."""
    bits = keys ^ _SIGN if dtype == np.int64 else keys ^ np.where(keys & _SIGN, _SIGN, NAN_LAST)
    return bits.view(dtype)


@compile_loop
def push_rows(heaps: Heaps, ids: Ints, come: Words, most: int, place: int, left: Ints, bounds: Words) -> int:
    """Push rows through the heaps of their groups; return how many leave. This is one loop, because handing arrays to
    other functions is slow."""
    keys, places, gone = heaps.keys, heaps.places, 0
    for i in range(len(ids)):
        group, key = ids[i], come[i]
        start, held = heaps.starts[group], heaps.held[group]
        bounds[i] = keys[start] if 0 < held == most else np.uint64(0)
        if held < most:
            heaps.held[group] += 1
            at = held
        else:
            stays = held > 0 and key >= keys[start]
            left[gone] = places[start] if stays else place + i
            gone += 1
            if not stays:
                continue
            at = 0  # follow the path of least children to its end
            while 2 * at + 1 < held:
                child = start + 2 * at + 1
                if 2 * at + 2 < held and keys[child + 1] <= keys[child]:
                    child += keys[child + 1] < keys[child] or places[child + 1] < places[child]
                keys[start + at] = keys[child]
                places[start + at] = places[child]
                at = child - start
        while at > 0:  # then move the row up from there
            parent = start + ((at - 1) >> 1)
            if keys[parent] <= key:  # of equal keys the parent came first
                break
            keys[start + at] = keys[parent]
            places[start + at] = places[parent]
            at = (at - 1) >> 1
        keys[start + at] = key
        places[start + at] = place + i
    return gone


@compile_loop
def move_heaps(heaps: Heaps, groups: Ints, rooms: Ints, used: int) -> int:
    """Move groups behind all others, where they have more room; return where the used memory then ends."""
    for i in range(len(groups)):
        group = groups[i]
        for k in range(heaps.held[group]):
            heaps.keys[used + k] = heaps.keys[heaps.starts[group] + k]
            heaps.places[used + k] = heaps.places[heaps.starts[group] + k]
        heaps.starts[group] = used
        heaps.rooms[group] = rooms[i]
        used += rooms[i]
    return used


@compile_loop
def number_places(heaps: Heaps, kept: Ints) -> None:
    """Replace each place by its index in `kept`, which ascends."""
    for group in range(len(heaps.held)):
        for row in range(heaps.starts[group], heaps.starts[group] + heaps.held[group]):
            heaps.places[row] = np.searchsorted(kept, heaps.places[row])
