"""Key columns as C sees them, for all kernels that take key columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oop.kernels.checks import Array
from oop.kernels.keys import offsets_error
from oop.kernels.native.library import BYTES, contiguous, ffi, from_buffer, lib, point
from oop.kernels.views.columns import DTYPES, Column

# Bytes of a value; 0 for kinds whose values vary in length.
WIDTHS = {kind: 0 if kind == "bytes" else int(np.dtype(dtype).itemsize) for kind, dtype in DTYPES.items()}


def make_columns(columns: Sequence[Column]) -> tuple[Any, list[Array]]:
    """The columns as C sees them, and the arrays that must live as long."""
    made = ffi.new("oop_column[]", max(len(columns), 1))
    held: list[Array] = []
    for c, column in zip(made, columns, strict=False):
        data = contiguous(column.data)
        held.append(data)
        c.data = from_buffer(BYTES, data)
        c.bytes = data.nbytes
        if column.offsets is not None:
            offsets = contiguous(column.offsets)
            held.append(offsets)
            c.offsets = point(offsets)
        if column.valid is not None:
            valid = contiguous(column.valid)
            held.append(valid)
            c.valid = point(valid)
        c.width = WIDTHS[column.kind]
        c.is_float = column.kind == "float"
    return made, held


def check_bytes(code: int) -> None:
    """Raise for a code that says that offsets are wrong."""
    if code == lib.OOP_BYTES_OUTSIDE:
        raise offsets_error()
