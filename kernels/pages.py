"""Memory from the kernel that begins where a huge page does, and is kept for the next use when one is over.

To the kernel it would cost much to take it back and give it out again: every page is cleared before its next use, with
several threads the other cores have to be told, and a huge page that must first be put together, or that the machine
below has yet to find, takes milliseconds. What nobody uses waits here, `KEPT` bytes of it at most.

>>> first = huge_array(5_000_000)
>>> address = first.ctypes.data
>>> del first
>>> huge_array(4_900_000).ctypes.data == address
True
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
import threading
from abc import ABC, abstractmethod
from collections import deque
from typing import Any

import numpy as np

from oop.kernels.checks import Array

# Bytes; smaller arrays are the allocator's own business. OOP_SCRATCH=0 makes all of them so: what finds faults in
# memory (a sanitizer) sees every array by itself.
SMALLEST = sys.maxsize if os.environ.get("OOP_SCRATCH") == "0" else 1 << 16
HUGE_PAGE = 1 << 21
KEPT = 1 << 26


class Lender(ABC):
    """Lends memory, and takes it back. It may be a collector that gives it back, at any moment, also while the lock is
    held: so it comes through a queue, which whoever finds the lock free works off.

    The lock is only ever taken by ``with``: an interrupt between a call of ``acquire`` and what follows it would leave
    it held, and every later array would wait for it. In a child process other lenders take the place of these
    (`_begin_anew`), and these are left alone: a thread that the fork has left behind may have been in the middle of
    one, or have got its lock and not yet said so.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.returned: deque[Any] = deque()
        self.forks = _forks

    def give_back(self, what: Any) -> None:
        """Nobody uses this any more. What a child process has from its parent is not lent again."""
        if self.forks != _forks:
            return
        self.returned.append(what)
        while self.returned and not self.lock.locked():
            with self.lock:  # another thread may have come first: it is not held for long
                while self.returned:  # as `settle`, without a call for each array
                    self.take_back(self.returned.popleft())

    def settle(self) -> None:
        """Work off what has come back; the lock is held."""
        while self.returned:
            self.take_back(self.returned.popleft())

    @abstractmethod
    def take_back(self, what: Any) -> None:
        """One of them."""


class Lent:
    """Memory for as long as an array refers to it: what the array itself refers to."""

    def __init__(self, address: int, length: int, dtype: np.dtype[Any], lender: Lender, what: Any) -> None:
        data = (address, False)
        self.__array_interface__ = {"data": data, "shape": (length,), "typestr": dtype.str, "version": 3}
        self.lender, self.what = lender, what

    def __del__(self) -> None:
        self.lender.give_back(self.what)


class Pages(Lender):
    """Memory that nobody uses, the longest unused first."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[Array] = []

    def take_back(self, what: Array) -> None:
        self.waiting.append(what)
        kept = sum(map(len, self.waiting))
        while kept > KEPT:
            kept -= len(self.waiting.pop(0))

    def take(self, nbytes: int) -> Array:
        """Memory of so many bytes, the smallest that will do unless much of it would lie idle."""
        size = -(-nbytes // HUGE_PAGE) * HUGE_PAGE
        with self.lock:
            self.settle()
            fit = [i for i, memory in enumerate(self.waiting) if size <= len(memory) <= size + size // 2]
            memory = self.waiting.pop(min(fit, key=lambda i: (len(self.waiting[i]), -i))) if fit else None
        if memory is None:
            memory = map_memory(size)
        return np.asarray(Lent(address_of(memory), nbytes, memory.dtype, self, memory))


_forks = 0  # that lie between this process and the one that loaded the module
_pages = Pages()


def _begin_anew() -> None:
    """In a child process: arrays that it has from its parent keep the memory, and the lender, that they have."""
    global _pages, _forks
    _forks += 1
    _pages = Pages()


os.register_at_fork(after_in_child=_begin_anew)


def huge_array(nbytes: int, keep: bool = True) -> Array:
    """Bytes with anything in them that begin where a huge page does, if there are enough for one. ``keep``: another may
    need as many when nobody uses these any more.

    >>> huge_array(5_000_000).ctypes.data % HUGE_PAGE
    0
    """
    if nbytes < max(HUGE_PAGE, SMALLEST):
        return np.empty(nbytes, np.uint8)
    return _pages.take(nbytes) if keep else map_memory(nbytes)


def map_memory(nbytes: int) -> Array:
    """So many new bytes, in huge pages where the kernel has them."""
    memory = mmap.mmap(-1, nbytes + HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without them
            memory.madvise(mmap.MADV_HUGEPAGE)
    whole = np.frombuffer(memory, np.uint8)
    start = -address_of(whole) % HUGE_PAGE
    return whole[start : start + nbytes]


def address_of(array: Array) -> int:
    """Where its first byte is.

    >>> address_of(np.zeros(3)) % 8
    0
    """
    return int(array.__array_interface__["data"][0])
