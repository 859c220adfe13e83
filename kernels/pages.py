"""Memory from the operating system that begins at the boundary of a huge page, and is kept for reuse.

Returning memory to the system and asking for it again is expensive: the system clears every page before its next use
and, with several threads, interrupts the other cores; and a huge page takes milliseconds if it must be put together
first, or if the host of a virtual machine has yet to find it. So unused memory waits here, at most `KEPT` bytes of it.

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


def _memory() -> int:
    """The bytes of memory that the machine has; 0 if the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 0


# In bytes; smaller arrays come from NumPy's allocator. With OOP_SCRATCH=0 all arrays do, so that a sanitizer sees each
# of them by itself.
SMALLEST = sys.maxsize if os.environ.get("OOP_SCRATCH") == "0" else 1 << 16
HUGE_PAGE = 1 << 21
KEPT = min(max(_memory() // 64, 1 << 27), 1 << 29)
"""A 64th of the machine's memory, but not less than 128 MB, nor more than 512."""


class Lender(ABC):
    """Lends memory, and takes it back. A garbage collection may give memory back at any moment, even in a thread that
    holds the lock. So returned memory enters a queue, which the next thread that finds the lock free works off.

    The lock is only taken by ``with``: an interrupt between ``acquire`` and the next statement would leave it held, and
    every later array would wait for it. A child process gets lenders of its own (`_begin_anew`) and leaves these alone,
    because a thread that does not exist in the child may have held the lock, or been changing the lender.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.returned: deque[Any] = deque()
        self.forks = _forks

    def give_back(self, what: Any) -> None:
        """Take back memory that is no longer used. What a child process has from its parent is not lent again."""
        if self.forks != _forks:
            return
        self.returned.append(what)
        while self.returned and not self.lock.locked():
            with self.lock:  # another thread may have taken it first, but none holds it for long
                while self.returned:  # as in `settle`, but without a call
                    self.take_back(self.returned.popleft())

    def settle(self) -> None:
        """Work off the queue. The caller holds the lock."""
        while self.returned:
            self.take_back(self.returned.popleft())

    @abstractmethod
    def take_back(self, what: Any) -> None:
        """Take back one item of the queue. The caller holds the lock."""


class Lent:
    """The object that a lent array refers to: it gives the memory back when no array refers to it any more."""

    def __init__(self, address: int, length: int, dtype: np.dtype[Any], lender: Lender, what: Any) -> None:
        data = (address, False)
        self.__array_interface__ = {"data": data, "shape": (length,), "typestr": dtype.str, "version": 3}
        self.lender, self.what = lender, what

    def __del__(self) -> None:
        self.lender.give_back(self.what)


class Pages(Lender):
    """Lends memory in pages; ``waiting`` is what nobody uses, the longest unused first."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[Array] = []

    def take_back(self, what: Array) -> None:
        self.waiting.append(what)
        kept = sum(map(len, self.waiting))
        while kept > KEPT:
            kept -= len(self.waiting.pop(0))

    def take(self, nbytes: int) -> Array:
        """An array of `nbytes` bytes: in the smallest waiting memory that fits and is at most half as large again, else
        in new memory."""
        size = -(-nbytes // HUGE_PAGE) * HUGE_PAGE
        with self.lock:
            self.settle()
            fit = [i for i, memory in enumerate(self.waiting) if size <= len(memory) <= size + size // 2]
            memory = self.waiting.pop(min(fit, key=lambda i: (len(self.waiting[i]), -i))) if fit else None
        if memory is None:
            memory = map_memory(size)
        return np.asarray(Lent(address_of(memory), nbytes, memory.dtype, self, memory))


_forks = 0  # how many forks lie between this process and the one that loaded the module
_pages = Pages()


def _begin_anew() -> None:
    """Give a child process a lender of its own; arrays from its parent keep their memory and their lender."""
    global _pages, _forks
    _forks += 1
    _pages = Pages()


os.register_at_fork(after_in_child=_begin_anew)


def huge_array(nbytes: int) -> Array:
    """An uninitialized array of bytes, which begins at a huge page if it is as long as one.

    >>> huge_array(5_000_000).ctypes.data % HUGE_PAGE
    0
    """
    return np.empty(nbytes, np.uint8) if nbytes < max(HUGE_PAGE, SMALLEST) else _pages.take(nbytes)


def map_memory(nbytes: int) -> Array:
    """New memory of `nbytes` bytes, in huge pages where the system has them."""
    memory = mmap.mmap(-1, nbytes + HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a system without huge pages
            memory.madvise(mmap.MADV_HUGEPAGE)
    whole = np.frombuffer(memory, np.uint8)
    start = -address_of(whole) % HUGE_PAGE
    return whole[start : start + nbytes]


def address_of(array: Array) -> int:
    """The address of the array's first byte.

    >>> address_of(np.zeros(3)) % 8
    0
    """
    return int(array.__array_interface__["data"][0])
