"""Update and merge of counts, sums of reals, least and greatest values, in C."""

from __future__ import annotations

from typing import Any

from oop.kernels.checks import Array, Bools, Floats, Ints, KernelError, check_ids
from oop.kernels.native.library import C_TYPES, NULL, OK, check_code, contiguous, from_buffer, lib, point
from oop.kernels.signatures.sums import beyond_error

_SUFFIX = {"int64": "int", "uint64": "uint", "float64": "float"}


def add_count(ids: Ints, valid: Bools | None, counts: Ints) -> None:
    run_by_group(lib.oop_add_count, len(counts), (ids, valid), (counts,))


def merge_count(ids: Ints, counts_in: Ints, counts: Ints) -> None:
    run_by_group(lib.oop_merge_count, len(counts), (ids, counts_in), (counts,))


def add_sum_float(ids: Ints, values: Floats, valid: Bools | None, sums: Floats, counts: Ints) -> None:
    run_by_group(lib.oop_add_sum_float, len(counts), (ids, values, valid), (sums, counts))


def merge_sum_float(ids: Ints, sums_in: Floats, counts_in: Ints, sums: Floats, counts: Ints) -> None:
    run_by_group(lib.oop_merge_sum_float, len(counts), (ids, sums_in, counts_in), (sums, counts))


def take_min(ids: Ints, values: Array, valid: Bools | None, out: Array, counts: Ints) -> None:
    take = getattr(lib, f"oop_take_min_{_SUFFIX[values.dtype.name]}")
    run_by_group(take, len(counts), (ids, values, valid, None), (out, counts))


def take_max(ids: Ints, values: Array, valid: Bools | None, out: Array, counts: Ints) -> None:
    take = getattr(lib, f"oop_take_max_{_SUFFIX[values.dtype.name]}")
    run_by_group(take, len(counts), (ids, values, valid, None), (out, counts))


def merge_min(ids: Ints, values_in: Array, counts_in: Ints, out: Array, counts: Ints) -> None:
    take = getattr(lib, f"oop_take_min_{_SUFFIX[values_in.dtype.name]}")
    run_by_group(take, len(counts), (ids, values_in, None, counts_in), (out, counts))


def merge_max(ids: Ints, values_in: Array, counts_in: Ints, out: Array, counts: Ints) -> None:
    take = getattr(lib, f"oop_take_max_{_SUFFIX[values_in.dtype.name]}")
    run_by_group(take, len(counts), (ids, values_in, None, counts_in), (out, counts))


def run_by_group(kernel: Any, size: int, rows: Any, outs: Any) -> None:
    """Call a kernel with the arrays of ``rows``, ids first, and with ``outs``, the state of ``size`` groups. If C finds
    an id that is out of range, `check_ids` finds it again to say which."""
    given: list[Any] = []
    for array in rows:
        if array is None:
            given.append(NULL)
        else:
            array = contiguous(array)
            given.append(from_buffer(C_TYPES[array.dtype], array))
    written: list[Any] = []
    for out in outs:
        if not out.flags.c_contiguous:
            raise outs_error()
        written.append(from_buffer(C_TYPES[out.dtype], out))
    code = kernel(*given, len(rows[0]), size, *written)
    if code != OK:
        if code == lib.OOP_ID_OUTSIDE:
            check_ids(rows[0], size)
        if code == lib.OOP_SUM_OUTSIDE:
            raise beyond_error()
        check_code(code)


def point_out(out: Array) -> Any:
    """A pointer to an array that C writes into, and which therefore cannot be a copy."""
    if not out.flags.c_contiguous:
        raise outs_error()
    return point(out)


def outs_error() -> KernelError:
    """The error for an array that C would have to write into a copy of."""
    return KernelError("output arrays must be contiguous")
