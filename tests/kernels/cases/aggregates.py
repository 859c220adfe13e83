"""Cases of counts, sums, least and greatest values, and moments, with the same rows for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from tests.kernels.cases.inputs import LEAST, Case, some_values


def cases() -> Iterator[Case]:
    """Each update goes into fresh arrays that hold rubbish, and each merge into arrays that hold partial results."""
    for label, (ids, values, valid, groups) in some_values().items():
        dtype, floats = values.dtype, values.dtype == np.float64

        def zeros(groups: int = groups) -> Any:
            return np.zeros(groups, np.int64)

        def rubbish(groups: int = groups, dtype: Any = dtype) -> Any:
            return np.full(groups, 77, dtype)

        def held(groups: int = groups) -> Any:
            return np.arange(groups) % 2

        rows = (ids, values, valid)
        yield Case("add_count", label, lambda ids=ids, valid=valid, z=zeros: (ids, valid, z()))
        for kernel in ("take_min", "take_max"):
            yield Case(kernel, label, lambda rows=rows, r=rubbish, z=zeros: (*rows, r(), z()))
        yield Case(
            "add_moments",
            label,
            lambda rows=rows, z=zeros: (*rows, z(), z().astype(float), z().astype(float)),
        )
        if floats:
            yield Case("add_sum_float", label, lambda rows=rows, z=zeros: (*rows, z().astype(float), z()))
        else:
            yield Case("add_sum_int", label, lambda rows=rows, z=zeros: (*rows, z(), z(), z()))

        partial = np.arange(len(ids)) % 3
        yield Case("merge_count", label, lambda ids=ids, p=partial, h=held: (ids, p, h()))
        for kernel in ("merge_min", "merge_max"):
            args = (ids, values, partial)
            yield Case(kernel, label, lambda args=args, r=rubbish, h=held: (*args, r(), h()))
        reals = values.astype(np.float64)
        yield Case(
            "merge_sum_float",
            label,
            lambda a=(ids, reals, partial), h=held: (*a, h().astype(float), h()),
        )
        yield Case(
            "merge_moments",
            label,
            lambda a=(ids, partial, reals, reals * reals), h=held: (*a, h(), h() * 0.5, h() * 0.0),
        )
        if not floats:
            parts = (ids, (values >> values.dtype.type(40)).astype(np.int64), partial * 10**9, partial)
            yield Case("merge_sum_int", label, lambda a=parts, h=held: (*a, h() * 3, h() * 5, h()))
    yield Case(
        "merge_sum_int",
        "beyond",
        lambda: (
            np.zeros(9, np.int64),
            np.full(9, 2**60),
            np.zeros(9, np.int64),
            np.ones(9, np.int64),
            np.zeros(1, np.int64),
            np.zeros(1, np.int64),
            np.zeros(1, np.int64),
        ),
    )
    one, two = np.zeros(1, np.int64), np.zeros(2, np.int64)
    for label, hi_in, lo_in in (
        ("least_hi", LEAST, 0),
        ("great_hi", 2**61 + 1, 0),
        ("great_lo", 0, 2**32),
        ("low_lo", 0, -1),
    ):
        parts = (two, np.full(2, hi_in), np.full(2, lo_in), np.ones(2, np.int64))
        yield Case("merge_sum_int", label, lambda parts=parts: (*parts, one.copy(), one.copy(), one.copy()))
    less = np.array([1, -1])
    yield Case("merge_min", "negative_count", lambda: (two, two, less, one.copy(), one.copy()))
    yield Case("merge_sum_float", "negative_count", lambda: (two, two * 0.5, less, one * 0.5, one.copy()))
    frozen = np.zeros(1, np.int64)
    frozen.flags.writeable = False
    yield Case("add_count", "frozen", lambda: (one, None, frozen))
    grid = np.zeros((1, 1), np.int64)
    yield Case("add_sum_int", "two_dimensions", lambda: (one, grid, None, one.copy(), one.copy(), one.copy()))
    yield Case("add_moments", "two_dimensions", lambda: (one, grid, None, one.copy(), one * 0.5, one * 0.5))
    fits = (np.array([-(2**31), 2**31 - 1, 0]), np.array([0, 2**32 - 1, 5]))
    yield Case("sum_int_result", "int64", lambda: (*fits, pa.int64()))
    yield Case("sum_int_result", "negative_uint64", lambda: (*fits, pa.uint64()))
    yield Case("sum_int_result", "uint64", lambda: (np.array([2**32 - 1]), np.array([2**32 - 1]), "uint64"))
    yield Case("sum_int_result", "overflow", lambda: (np.array([2**31]), np.array([0]), pa.int64()))
    yield Case("sum_int_result", "other_type", lambda: (*fits, pa.int32()))
