"""Memory for arrays that live as long as a batch: given back, it serves the next one.

The system's allocator hands large arrays back to the kernel, which clears every page again before the next use; with
several threads it also has to tell the other cores each time. A block comes back by itself, when the last array,
slice or Arrow buffer that uses it is gone.

>>> first = new_array(100_000, np.int64)
>>> address = first.ctypes.data
>>> del first
>>> new_array(90_000, np.int64).ctypes.data == address
True
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oop.kernels.checks import Array

SMALLEST = 1 << 16  # bytes; smaller arrays are the allocator's own business
LARGEST = 1 << 23
KEPT = 1 << 23  # bytes kept for each size, of which there are eight

_free: dict[int, list[Array]] = {}


class _Lease:
    """Holds a block for as long as an array refers to it."""

    def __init__(self, block: Array, length: int, dtype: np.dtype[Any]) -> None:
        self.block = block
        data = block.__array_interface__["data"]
        self.__array_interface__ = {"data": data, "shape": (length,), "typestr": dtype.str, "version": 3}

    def __del__(self) -> None:
        size = len(self.block)
        blocks = _free.get(size)
        # List operations are atomic; a block too many now and then does no harm.
        if blocks is not None and len(blocks) * size < KEPT:
            blocks.append(self.block)


def new_array(length: int, dtype: Any) -> Array:
    """An array with anything in it."""
    dtype = np.dtype(dtype)
    nbytes = length * dtype.itemsize
    if not SMALLEST <= nbytes <= LARGEST:
        return np.empty(length, dtype)
    size = 1 << (nbytes - 1).bit_length()
    blocks = _free.setdefault(size, [])
    try:
        block = blocks.pop()
    except IndexError:
        block = np.empty(size, np.uint8)
    return np.asarray(_Lease(block, length, dtype))
