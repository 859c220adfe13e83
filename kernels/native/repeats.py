"""Which rows are not repeats of an earlier one, in C."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import FLOAT64, Array, Bools, Ints, Real
from oop.kernels.native.library import check_code, contiguous, ffi, lib, point


def select_new(ids: Ints, known: int) -> Ints:
    rows = np.empty(len(ids) + 1, np.int64)  # the last place takes what C writes beyond the end
    found = ffi.new("int64_t *")
    check_code(lib.oop_select_new(point(contiguous(ids)), len(ids), known, point(rows), found))
    return rows[: found[0]]


def begin_spans(ids: Ints, times: Array, span: Real) -> Bools:
    begins = np.empty(len(ids), np.bool_)
    walk = lib.oop_begin_spans_float if times.dtype == FLOAT64 else lib.oop_begin_spans_int
    check_code(walk(point(contiguous(ids)), point(times), len(ids), span, point(begins)))
    return begins
