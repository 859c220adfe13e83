"""Memory for arrays that live as long as a batch is worked on: given back, it serves the next one.

The system's allocator hands large arrays back to the kernel, which clears every page again before the next use; with
several threads it also has to tell the other cores each time. Here blocks are cut from one region of `ROOM` bytes,
large enough for huge pages. A block comes back by itself, when the last array, slice or Arrow buffer that uses it is
gone. Where there is no room, an array is one like any other.

>>> first = new_array(100_000, np.int64)
>>> address = first.ctypes.data
>>> del first
>>> new_array(99_000, np.int64).ctypes.data == address
True
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
import threading
from collections import deque
from typing import Any

import numpy as np

from oop.kernels.checks import Array

# Bytes; smaller arrays are the allocator's own business. OOP_SCRATCH=0 makes all of them so: what finds faults in
# memory (a sanitizer) sees every array by itself.
SMALLEST = sys.maxsize if os.environ.get("OOP_SCRATCH") == "0" else 1 << 16
ROOM = 1 << 25
HUGE_PAGE = 1 << 21
_MOST_WAITING = 16

# What is given back comes through queues: a collector may do so at any moment, also while the lock is held.
_lock = threading.Lock()
_given_back: deque[tuple[_Region, int, int]] = deque()
_outlived: deque[Array] = deque()
_old: list[Array] = []


def huge_array(nbytes: int) -> Array:
    """Bytes with anything in them that begin where a huge page does, if there are enough for one.

    They come from the kernel itself, and go back there: in the allocator's heap they could stay behind for good.

    >>> huge_array(5_000_000).ctypes.data % HUGE_PAGE
    0
    """
    if nbytes < max(HUGE_PAGE, SMALLEST):
        return np.empty(nbytes, np.uint8)
    with _lock:
        while _outlived:
            array = _outlived.popleft()
            if sum(map(len, _old)) + len(array) <= ROOM:
                _old.append(array)
        for i, array in enumerate(_old):
            if len(array) == nbytes:
                return _old.pop(i)
    return _map_memory(nbytes)


def _map_memory(nbytes: int) -> Array:
    memory = mmap.mmap(-1, nbytes + HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without them
            memory.madvise(mmap.MADV_HUGEPAGE)
    whole = np.frombuffer(memory, np.uint8)
    start = -whole.__array_interface__["data"][0] % HUGE_PAGE
    return whole[start : start + nbytes]


def recycle(array: Array) -> None:
    """Nobody uses this `huge_array` any more: the next one of its size may have it. A few are kept."""
    if len(array) >= max(HUGE_PAGE, SMALLEST) and len(_outlived) < _MOST_WAITING:
        _outlived.append(array)


class _Region:
    """Blocks by size; when none is in use, all of it is free again for blocks of other sizes."""

    def __init__(self) -> None:
        self.memory: Array | None = None
        self.address = 0
        self.used = 0
        self.live = 0
        self.free: dict[int, list[int]] = {}

    def take(self, size: int) -> tuple[int, int] | None:
        """The place and size of a block, if there is one that is large enough; the lock is held."""
        if self.memory is None:
            self.memory = _map_memory(ROOM)
            self.address = self.memory.__array_interface__["data"][0]
        if not self.free.get(size):
            if self.used + size <= ROOM:
                place, self.used, self.live = self.used, self.used + size, self.live + 1
                return place, size
            size = min((s for s, places in self.free.items() if places and s > size), default=0)
            if not size:
                return None
        self.live += 1
        return self.free[size].pop(), size

    def give(self, place: int, size: int) -> None:
        """A block comes back; the lock is held."""
        self.live -= 1
        if self.live:
            self.free.setdefault(size, []).append(place)
        else:
            self.used = 0
            self.free.clear()


class _Lease:
    """Holds a block for as long as an array refers to it."""

    def __init__(self, region: _Region, place: int, size: int, length: int, dtype: np.dtype[Any]) -> None:
        self.region, self.place, self.size = region, place, size
        data = (region.address + place, False)
        self.__array_interface__ = {"data": data, "shape": (length,), "typestr": dtype.str, "version": 3}

    def __del__(self) -> None:
        _given_back.append((self.region, self.place, self.size))


_region = _Region()


def new_array(length: int, dtype: Any) -> Array:
    """An array with anything in it."""
    dtype = np.dtype(dtype)
    nbytes = length * dtype.itemsize
    if nbytes < SMALLEST:
        return np.empty(length, dtype)
    # To an eighth of a power of two, so that arrays of about the same length share blocks.
    step = 1 << ((nbytes - 1).bit_length() - 4)
    size = -(-nbytes // step) * step
    with _lock:
        while _given_back:
            region, *block = _given_back.popleft()
            region.give(*block)
        found = _region.take(size)
    return np.empty(length, dtype) if found is None else np.asarray(_Lease(_region, *found, length, dtype))


class _Slabs:
    """Arrays that may live long, cut one after the other from slabs; a slab goes when the last of them has gone."""

    def __init__(self) -> None:
        self.slab: Array = np.empty(0, np.uint8)
        self.used = 0

    def take(self, size: int) -> Array:
        with _lock:
            if self.used + size > len(self.slab):
                self.slab, self.used = _map_memory(SLAB), 0
            start, self.used = self.used, self.used + -(-size // 64) * 64
            return self.slab[start : start + size]


SLAB = 1 << 23
_slabs = _Slabs()


def lasting_array(length: int, dtype: Any) -> Array:
    """An array with anything in it, for state and results that have come to their final size.

    Arrays of some size share slabs, large enough for huge pages: a fault for two megabytes, not for each page.

    >>> lasting_array(3, np.int64).dtype
    dtype('int64')
    """
    dtype = np.dtype(dtype)
    nbytes = length * dtype.itemsize
    if not SMALLEST < nbytes <= SLAB // 4:
        return growing_array(length, dtype)
    return _slabs.take(nbytes).view(dtype)


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
    """An array with anything in it, that will soon make way for a larger one.

    >>> len(growing_array(1_000_000, np.int64))
    1000000
    """
    dtype = np.dtype(dtype)
    return huge_array(length * dtype.itemsize).view(dtype)
