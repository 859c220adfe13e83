"""The compiled module, and how arrays are handed to it: the only file that imports it.

C keeps no pointer after a call returns, except those of a ring (`oop.kernels.ring`), whose memory C owns. A caller that
writes pointers into a struct, as `GroupTable` does, must keep them alive and up to date itself.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from oop.kernels.checks import Array, KernelError

_module = importlib.import_module("oop.kernels._native")
ffi: Any = _module.ffi
lib: Any = _module.lib
NULL: Any = ffi.NULL
OK: int = lib.OOP_OK

C_TYPES = {
    np.dtype(np.int64): ffi.typeof("int64_t[]"),
    np.dtype(np.uint64): ffi.typeof("uint64_t[]"),
    np.dtype(np.int32): ffi.typeof("int32_t[]"),
    np.dtype(np.float64): ffi.typeof("double[]"),
    np.dtype(np.uint8): ffi.typeof("uint8_t[]"),
    np.dtype(np.bool_): ffi.typeof("uint8_t[]"),
}
BYTES = ffi.typeof("uint8_t[]")
INT64S, FLOAT64S = C_TYPES[np.dtype(np.int64)], C_TYPES[np.dtype(np.float64)]

from_buffer: Callable[..., Any] = ffi.from_buffer
"""A pointer of a C type to an array, which lives as long as the pointer does. It is usually called through `point`;
bodies that every batch passes call it directly, to save a call (`tests/calls` counts them)."""


def point(array: Array | None) -> Any:
    """A pointer to a contiguous array, NULL for None."""
    if array is None:
        return NULL
    return from_buffer(C_TYPES[array.dtype], array)


def point_bytes(array: Array) -> Any:
    """A pointer to an array of any type, for C to read by width."""
    return from_buffer(BYTES, array)


contiguous: Callable[[Array], Array] = np.ascontiguousarray
"""The array itself if C can walk through it, else a copy."""


def check_code(code: int) -> None:
    """Raise for a return code that the caller does not know how to explain."""
    if code != OK:
        raise KernelError(f"a native kernel failed with code {code}")
