"""Arrays whose memory is reused.

Arrays that live as long as a batch is worked on (`new_array`) are cut from one region of `ROOM` bytes. Arrays that may
live longer (`lasting_array`) are cut from slabs, as many as it takes, or have pages of their own if they are too large
for a slab. A block comes back by itself when the last array, slice or Arrow buffer on it is gone. If the region has no
room left, NumPy allocates the array.

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
# A table that holds more than one in this many of the groups that it expects grows to the expected number at once.
EXPECT_FROM = 64
_BYTES = np.dtype(np.uint8)


class _Region(Lender):
    """A region that is cut into blocks; ``free`` has those that came back, by size. When no block is in use, the whole
    region is free again for blocks of other sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.memory: Array | None = None
        self.address = 0
        self.used = 0
        self.live = 0
        self.free: dict[int, list[int]] = {}

    def new(self, length: int, dtype: np.dtype[Any]) -> Array | None:
        """An array, or None if there is no room for it."""
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
    """Pages that arrays share; ``live`` is how many do."""

    def __init__(self) -> None:
        self.memory = huge_array(SLAB)
        self.used = 0
        self.live = 0


class _Slabs(Lender):
    """Slabs that are cut into blocks; ``free`` has those that came back, by size. A slab is dropped when its last block
    has come back."""

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
        slab.used = 0  # the newest slab is cut anew; any other is no longer referred to


_region = _Region()
_slabs = _Slabs()


def _begin_anew() -> None:
    """Give a child process lenders of its own, as in `pages`."""
    global _region, _slabs
    _region, _slabs = _Region(), _Slabs()


os.register_at_fork(after_in_child=_begin_anew)


@functools.lru_cache(maxsize=256)  # batches have few different lengths
def _rounded(nbytes: int) -> int:
    """The size rounded up to an eighth of a power of two, so that arrays of about the same length share blocks."""
    step = 1 << ((nbytes - 1).bit_length() - 4)
    return -(-nbytes // step) * step


def new_array(length: int, dtype: Any) -> Array:
    """An uninitialized array that lives as long as a batch is worked on."""
    dtype = np.dtype(dtype)
    array = None if length * dtype.itemsize < pages.SMALLEST else _region.new(length, dtype)
    return np.empty(length, dtype) if array is None else array


def lasting_array(length: int, dtype: Any) -> Array:
    """An uninitialized array for state and results.

    Arrays of medium size share slabs that are large enough for huge pages: one page fault serves two megabytes.

    >>> lasting_array(3, np.int64).dtype
    dtype('int64')
    """
    dtype = np.dtype(dtype)
    nbytes = length * dtype.itemsize
    in_slab = pages.SMALLEST < nbytes <= SLAB // 4
    # an array of records cannot be described to NumPy by its type alone
    return _slabs.new(nbytes, _BYTES).view(dtype) if in_slab else huge_array(nbytes).view(dtype)


def longer_array(array: Array, length: int, used: int | None = None) -> Array:
    """A longer copy of the array, in which the first ``used`` elements (by default all) are kept.

    >>> longer_array(np.array([1, 2, 3]), 5, 2)[:2]
    array([1, 2])
    """
    longer = lasting_array(length, array.dtype)
    used = len(array) if used is None else used
    longer[:used] = array[:used]
    return longer


def roomy_array(array: Array, nbytes: int, used: int) -> Array:
    """A longer copy of an array of bytes, in which the first ``used`` ones are kept. It has at least ``nbytes``; what
    is behind them is room to grow in place. Pages that nobody has touched need no memory.

    >>> len(roomy_array(np.zeros(2_000_000, np.uint8), 3_000_000, 2_000_000)) >= 3_000_000
    True
    """
    if nbytes < max(pages.HUGE_PAGE, pages.SMALLEST):
        return longer_array(array, nbytes, used)
    longer = map_memory(2 * nbytes)
    longer[:used] = array[:used]
    return longer
