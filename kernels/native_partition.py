"""Rows by shard, and picking rows, in C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oop.kernels.checks import Array, Ints, KernelError, check_array, check_ids
from oop.kernels.native_groups import check_bytes, make_columns
from oop.kernels.native_library import check_code, contiguous, ffi, lib, point, point_bytes
from oop.kernels.reference_groups import check_columns, check_shards
from oop.kernels.views import Column


def hash_partition(columns: Sequence[Column], shards: int, length: int | None = None) -> NDArray[np.int32]:
    """The shard of every row; see `oop.kernels.reference_groups.hash_partition`."""
    check_shards(shards)
    length = check_columns(columns, length)
    out = np.empty(length, np.int32)
    given, held = make_columns(columns)
    signs = ffi.new("int32_t[]", [column.kind.startswith("int") for column in columns])
    code = lib.oop_hash_partition(given, signs, len(columns), length, shards, point(out))
    del held
    check_bytes(code)
    check_code(code)
    return out


def partition_rows(columns: Sequence[Column], shards: int, length: int | None = None) -> tuple[Ints, Ints]:
    """The rows of each shard together; see `oop.kernels.reference_groups.partition_rows`."""
    shard = hash_partition(columns, shards, length)
    order, starts = np.empty(len(shard) + 1, np.int64), np.empty(shards + 1, np.int64)
    check_code(lib.oop_order_shards(point(shard), len(shard), shards, point(order), point(starts)))
    return order[: len(shard)], starts


def take_fixed(values: Array, rows: Ints) -> Array:
    """The values of some rows; see `oop.kernels.reference_groups.take_fixed`."""
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.itemsize not in (1, 2, 4, 8):
        raise KernelError("values must be a one-dimensional array of 1, 2, 4 or 8 bytes each")
    check_array("rows", rows, np.int64)
    values, rows = contiguous(values), contiguous(rows)
    out: NDArray[Any] = np.empty(len(rows), values.dtype)
    width = values.dtype.itemsize
    code = lib.oop_take_fixed(point_bytes(values), width, len(values), point(rows), len(rows), point_bytes(out))
    if code == lib.OOP_ROW_OUTSIDE:
        check_ids(rows, len(values), name="rows")
    check_code(code)
    return out
