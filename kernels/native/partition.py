"""Keys to shards, rows to the shards of their keys, and rows by number, in C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oop.kernels.checks import Array, Ints, ShardFull, check_ids
from oop.kernels.native.columns import check_bytes, make_columns
from oop.kernels.native.library import OK, check_code, contiguous, ffi, lib, point, point_bytes
from oop.kernels.scratch import new_array
from oop.kernels.views.columns import Column


def hash_partition(columns: Sequence[Column], shards: int, length: int) -> NDArray[np.int32]:
    out = new_array(length, np.int32)
    *given, held = _keys(columns)
    code = lib.oop_hash_partition(*given, length, shards, point(out))
    del held
    check_bytes(code)
    check_code(code)
    return out


def exchange_rows(
    keys: Sequence[Column], values: Sequence[Array], outs: Sequence[Sequence[Array]], ends: Ints, length: int
) -> None:
    *given, held = _keys(keys)
    payload = ffi.new("oop_payload[]", max(len(values), 1))
    for c, value, column in zip(payload, values, outs, strict=False):
        value = contiguous(value)
        places = ffi.new("void *[]", [point_bytes(out) for out in column])
        held += [value, places]
        c.values, c.outs, c.width = point_bytes(value), places, value.dtype.itemsize
    room = len(outs[0][0]) if outs else int(ends.max()) + length
    code = lib.oop_exchange_rows(*given, length, len(ends), payload, len(values), room, point(ends))
    del held
    if code == lib.OOP_FULL:
        raise ShardFull
    check_bytes(code)
    check_code(code)


def take_fixed(values: Array, rows: Ints) -> Array:
    values, rows = contiguous(values), contiguous(rows)
    out = new_array(len(rows), values.dtype)
    width = values.dtype.itemsize
    code = lib.oop_take_fixed(point_bytes(values), width, len(values), point(rows), len(rows), point_bytes(out))
    if code != OK:
        if code == lib.OOP_ROW_OUTSIDE:
            check_ids(rows, len(values), name="rows")
        check_code(code)
    return out


def take_out(values: Array, rows: Ints) -> Array:
    rows, out = contiguous(rows), np.empty(len(rows), values.dtype)
    code = lib.oop_take_out(
        point_bytes(values), values.dtype.itemsize, len(values), point(rows), len(rows), point_bytes(out)
    )
    check_code(code)
    return out


def _keys(columns: Sequence[Column]) -> tuple[Any, Any, int, list[Any]]:
    """Key columns as C sees them, which are signed, how many there are, and the arrays that must live as long."""
    given, held = make_columns(columns)
    signs = ffi.new("int32_t[]", [column.kind.startswith("int") for column in columns])
    return given, signs, len(columns), held
