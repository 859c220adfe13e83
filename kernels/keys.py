"""Key columns: their checks, and a form in which equal keys have equal bits.

Keys are compared as SQL groups them: null equals null, NaN equals NaN, -0.0 equals 0.0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oop.kernels.checks import KernelError
from oop.kernels.views.columns import Column, change_width, wide_kind


def check_lengths(columns: Sequence[Column], length: int | None) -> int:
    """The number of rows, which all columns (and `length`, if given) agree on."""
    lengths = {len(column) for column in columns}
    if length is not None:
        lengths.add(length)
    if len(lengths) != 1:
        wanted = "give length= when there is no key column" if not lengths else "key columns differ in length"
        raise KernelError(f"{wanted}: {sorted(lengths)}")
    return lengths.pop()


def check_keys(columns: Sequence[Column], kinds: Sequence[str], length: int | None) -> int:
    """The number of rows, as `check_lengths` gives it, of columns that must be of these kinds.

    Every batch of every group table passes this check, and nearly all are right. So this is one loop without a call,
    and what exactly is wrong is found out only after the loop has failed.
    """
    rows, is_right = length, len(columns) == len(kinds)
    for column, kind in zip(columns, kinds, strict=False):
        here = len(column.data) if column.offsets is None else len(column.offsets) - 1
        if rows is None:
            rows = here
        if here != rows or column.kind != kind:
            is_right = False
    if is_right and rows is not None:
        return rows
    check_lengths(columns, length)
    raise KernelError(f"the table holds keys of {list(kinds)}, not {[column.kind for column in columns]}")


def check_offsets(columns: Sequence[Column]) -> None:
    """Check that the rows of bytes columns lie within their data; `Column` itself checks only the outermost offsets."""
    for column in columns:
        if column.offsets is not None and (np.diff(column.offsets) < 0).any():
            raise offsets_error()


def offsets_error() -> KernelError:
    """The error for rows of a bytes column that lie outside of its data."""
    return KernelError("offsets point outside the data")


def normalize_column(column: Column) -> Column:
    """The column in 64 bits, with floats such that equal keys have equal bits: one NaN, and no -0.0."""
    if column.kind != "float":
        return change_width(column, wide_kind(column.kind))
    with np.errstate(invalid="ignore"):
        data = column.data + 0.0
    data[np.isnan(data)] = np.nan
    return Column("float", data, None, column.valid)
