"""The compiled module, and how arrays are handed to it: the only file that imports it.

C keeps no pointer after a call returns, so that it is enough if the caller holds the arrays while it lasts.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from oop.kernels.checks import Array, KernelError

_module = importlib.import_module("oop.kernels._native")
ffi: Any = _module.ffi
lib: Any = _module.lib
NULL: Any = ffi.NULL

_C_TYPES = {
    "int64": "int64_t[]",
    "uint64": "uint64_t[]",
    "int32": "int32_t[]",
    "float64": "double[]",
    "uint8": "uint8_t[]",
    "bool": "uint8_t[]",
}


def point(array: Array | None) -> Any:
    """A pointer to a contiguous array, NULL for None."""
    if array is None:
        return NULL
    return ffi.from_buffer(_C_TYPES[array.dtype.name], array)


def point_bytes(array: Array) -> Any:
    """A pointer to an array of any type, for C to read by width."""
    return ffi.from_buffer("uint8_t[]", array)


def contiguous(array: Array) -> Array:
    """The array itself if C can walk through it, else a copy."""
    return np.ascontiguousarray(array)


def check_code(code: int) -> None:
    """Raise for a return code that the caller does not know how to explain."""
    if code != lib.OOP_OK:
        raise KernelError(f"a native kernel failed with code {code}")
