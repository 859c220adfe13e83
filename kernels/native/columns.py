"""Key columns as C sees them, for all kernels that take some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oop.kernels.checks import Array
from oop.kernels.keys import offsets_error
from oop.kernels.native.library import contiguous, ffi, lib, point, point_bytes
from oop.kernels.views.columns import DTYPES, Column

# Bytes of a value; 0 for those whose length varies.
WIDTHS = {kind: 0 if kind == "bytes" else int(np.dtype(dtype).itemsize) for kind, dtype in DTYPES.items()}


def make_columns(columns: Sequence[Column]) -> tuple[Any, list[Array]]:
    """The columns as C sees them, and the arrays that must live as long."""
    made = ffi.new("oop_column[]", max(len(columns), 1))
    held: list[Array] = []
    for c, column in zip(made, columns, strict=False):
        arrays = [contiguous(a) for a in (column.data, column.offsets, column.valid) if a is not None]
        held += arrays
        c.data = point_bytes(arrays[0])
        if column.offsets is not None:
            c.offsets = point(arrays[1])
        if column.valid is not None:
            c.valid = point(arrays[-1])
        c.bytes = arrays[0].nbytes
        c.width = WIDTHS[column.kind]
        c.is_float = column.kind == "float"
    return made, held


def check_bytes(code: int) -> None:
    """Raise for a code that says that offsets are wrong."""
    if code == lib.OOP_BYTES_OUTSIDE:
        raise offsets_error()
