"""Which rows are not repeats of an earlier one, in Numba."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import Array, Bools, Ints, Real
from oop.kernels.jit.compiler import as_input, compile_loop


def select_new(ids: Ints, known: int) -> Ints:
    rows = np.empty(len(ids), np.int64)
    return rows[: _select_new(as_input(ids), known, rows)]


def begin_spans(ids: Ints, times: Array, span: Real) -> Bools:
    begins = np.empty(len(ids), np.bool_)
    if times.dtype == np.float64:
        _begin_spans_float(as_input(ids), as_input(times), float(span), begins)
    else:  # unsigned: the difference of two times may need 64 bits without a sign
        _begin_spans_int(as_input(ids), as_input(times.view(np.uint64)), np.uint64(span), begins)
    return begins


@compile_loop
def _select_new(ids: Ints, known: int, rows: Ints) -> int:
    count, following = 0, known
    for i in range(len(ids)):
        if ids[i] >= following:
            rows[count] = i
            count += 1
            following = ids[i] + 1
    return count


@compile_loop
def _begin_spans_int(ids: Ints, times: Array, span: np.uint64, begins: Bools) -> None:
    start = np.uint64(0)
    for i in range(len(ids)):
        begins[i] = i == 0 or ids[i] != ids[i - 1] or times[i] - start > span
        if begins[i]:
            start = times[i]


@compile_loop
def _begin_spans_float(ids: Ints, times: Array, span: float, begins: Bools) -> None:
    start = 0.0
    for i in range(len(ids)):
        begins[i] = i == 0 or ids[i] != ids[i - 1] or times[i] - start > span
        if begins[i]:
            start = times[i]
