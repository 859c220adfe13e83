"""Arrays whose memory is used again: given back, it serves the next one.

What lives as long as a batch is worked on (`new_array`) is cut from one region of `ROOM` bytes; what may live longer
(`lasting_array`) from slabs, as many as it takes; and what is too large for a slab has pages of its own. A block comes
back by itself, when the last array, slice or Arrow buffer that uses it is gone. Where a region has no room left, an
array is one like any other.

>>> first = new_array(100_000, np.int64)
>>> address = first.ctypes.data
>>> del first
>>> new_array(99_000, np.int64).ctypes.data == address
True
"""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np

from oop.kernels import pages
from oop.kernels.checks import Array
from oop.kernels.pages import Lender, Lent, address_of, huge_array, map_memory

ROOM = 1 << 25
SLAB = 1 << 23
# A table with this part of the groups that were expected is on its way to them, and comes to their number in one go.
EXPECT_FROM = 64


class _Region(Lender):
    """Blocks by size; when none is in use, all of it is free again for blocks of other sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.memory: Array | None = None
        self.address = 0
        self.used = 0
        self.live = 0
        self.free: dict[int, list[int]] = {}

    def new(self, length: int, dtype: np.dtype[Any]) -> Array | None:
        """An array, if there is room for it."""
        size = _rounded(length * dtype.itemsize)
        with self.lock:
            if self.returned:
                self.settle()
            found = self._take(size)
        return found and np.asarray(Lent(self.address + found[0], length, dtype, self, found))

    def _take(self, size: int) -> tuple[int, int] | None:
        """The place and size of a block, if there is one that is large enough."""
        if self.memory is None:
            self.memory = map_memory(ROOM)
            self.address = address_of(self.memory)
        if not self.free.get(size):
            if self.used + size <= ROOM:
                place, self.used, self.live = self.used, self.used + size, self.live + 1
                return place, size
            size = min((s for s, places in self.free.items() if places and s > size), default=0)
            if not size:
                return None
        self.live += 1
        return self.free[size].pop(), size

    def take_back(self, what: tuple[int, int]) -> None:
        place, size = what
        self.live -= 1
        if self.live:
            self.free.setdefault(size, []).append(place)
        else:
            self.used = 0
            self.free.clear()


class _Slab:
    """Pages that arrays share, and how many do."""

    def __init__(self) -> None:
        self.memory = huge_array(SLAB)
        self.used = 0
        self.live = 0


class _Slabs(Lender):
    """Blocks by size, in slabs; a slab goes when the last block of it has come back."""

    def __init__(self) -> None:
        super().__init__()
        self.newest: _Slab | None = None
        self.free: dict[int, list[tuple[_Slab, int]]] = {}

    def new(self, length: int, dtype: np.dtype[Any]) -> Array:
        size = _rounded(length * dtype.itemsize)
        with self.lock:
            if self.returned:
                self.settle()
            slab, place = self._take(size)
        return np.asarray(Lent(address_of(slab.memory) + place, length, dtype, self, (slab, place, size)))

    def _take(self, size: int) -> tuple[_Slab, int]:
        if places := self.free.get(size):
            slab, place = places.pop()
        else:
            if self.newest is None or self.newest.used + size > SLAB:
                self.newest = _Slab()
            slab = self.newest
            place, slab.used = slab.used, slab.used + size
        slab.live += 1
        return slab, place

    def take_back(self, what: tuple[_Slab, int, int]) -> None:
        slab, place, size = what
        slab.live -= 1
        if slab.live:
            self.free.setdefault(size, []).append((slab, place))
            return
        for places in self.free.values():
            places[:] = [free for free in places if free[0] is not slab]
        slab.used = 0  # if it is the newest, it begins again; else nobody knows it any more


_region = _Region()
_slabs = _Slabs()


def _begin_anew() -> None:
    """In a child process, as in `pages`."""
    global _region, _slabs
    _region, _slabs = _Region(), _Slabs()


os.register_at_fork(after_in_child=_begin_anew)


@functools.lru_cache(maxsize=256)  # batches have few different lengths
def _rounded(nbytes: int) -> int:
    """To an eighth of a power of two, so that arrays of about the same length share blocks."""
    step = 1 << ((nbytes - 1).bit_length() - 4)
    return -(-nbytes // step) * step


def new_array(length: int, dtype: Any) -> Array:
    """An array with anything in it."""
    dtype = np.dtype(dtype)
    array = None if length * dtype.itemsize < pages.SMALLEST else _region.new(length, dtype)
    return np.empty(length, dtype) if array is None else array


def lasting_array(length: int, dtype: Any) -> Array:
    """An array with anything in it, for state and results that have come to their final size.

    Arrays of some size share slabs, large enough for huge pages: a fault for two megabytes, not for each page.

    >>> lasting_array(3, np.int64).dtype
    dtype('int64')
    """
    dtype = np.dtype(dtype)
    nbytes = length * dtype.itemsize
    in_slab = pages.SMALLEST < nbytes <= SLAB // 4
    return _slabs.new(length, dtype) if in_slab else huge_array(nbytes).view(dtype)


def longer_array(array: Array, length: int, used: int | None = None) -> Array:
    """The array with room for so many, of which the first ``used`` (all, if nothing is said) are kept.

    >>> longer_array(np.array([1, 2, 3]), 5, 2)[:2]
    array([1, 2])
    """
    longer = growing_array(length, array.dtype)
    used = len(array) if used is None else used
    longer[:used] = array[:used]
    return longer


def growing_array(length: int, dtype: Any) -> Array:
    """An array with anything in it, that will soon make way for a larger one: its memory is not kept.

    >>> len(growing_array(1_000_000, np.int64))
    1000000
    """
    dtype = np.dtype(dtype)
    return huge_array(length * dtype.itemsize, keep=False).view(dtype)
