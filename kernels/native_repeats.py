"""Which rows are not repeats of an earlier one, in C."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import Array, Bools, Ints, Number, check_array
from oop.kernels.native_library import check_code, contiguous, ffi, lib, point
from oop.kernels.reference_repeats import check_known, check_spans


def select_new(ids: Ints, known: int) -> Ints:
    """The first rows of new ids; see `oop.kernels.reference_repeats.select_new`."""
    check_array("ids", ids, np.int64)
    check_known(known)
    rows = np.empty(len(ids) + 1, np.int64)  # the last place takes what C writes beyond the end
    found = ffi.new("int64_t *")
    check_code(lib.oop_select_new(point(contiguous(ids)), len(ids), known, point(rows), found))
    return rows[: found[0]]


def begin_spans(ids: Ints, times: Array, span: Number) -> Bools:
    """Which rows begin a span; see `oop.kernels.reference_repeats.begin_spans`."""
    times, span = check_spans(ids, times, span)
    begins = np.empty(len(ids), np.bool_)
    walk = lib.oop_begin_spans_float if times.dtype == np.float64 else lib.oop_begin_spans_int
    check_code(walk(point(contiguous(ids)), point(times), len(ids), span, point(begins)))
    return begins
