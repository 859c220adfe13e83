"""Which rows are not repeats of an earlier one, in NumPy."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import Array, Bools, Ints, KernelError, Number, check_array, check_slack, check_times


def select_new(ids: Ints, known: int) -> Ints:
    """The rows that are the first of a new id, when ids are given in order of first appearance and the first ``known``
    were given before.

    >>> select_new(np.array([0, 2, 1, 2, 3, 3]), 2)
    array([1, 4])
    """
    check_array("ids", ids, np.int64)
    check_known(known)
    greatest = np.maximum.accumulate(np.append(known - 1, ids))
    return np.flatnonzero(ids > greatest[:-1])


def begin_spans(ids: Ints, times: Array, span: Number) -> Bools:
    """Of rows by id, then by time, those that begin a span: a row at most ``span`` after the one that began the last is
    in that one.

    >>> begin_spans(np.array([0, 0, 0, 0, 1]), np.array([1, 3, 4, 5, 5]), 2).tolist()
    [True, False, True, False, True]
    """
    times, span = check_spans(ids, times, span)
    begins = np.zeros(len(ids), np.bool_)
    numbers, moments = ids.tolist(), times.tolist()  # Python's whole numbers do not overflow
    start = 0
    for i, (number, moment) in enumerate(zip(numbers, moments, strict=True)):
        if not i or number != numbers[i - 1] or moment - start > span:
            begins[i] = True
            start = moment
    return begins


def check_known(known: int) -> None:
    if isinstance(known, bool) or not isinstance(known, (int, np.integer)) or not 0 <= known < 2**62:
        raise KernelError(f"known must be a number of ids, not {known!r}")


def check_spans(ids: Ints, times: Array, span: Number) -> tuple[Array, Number]:
    """What `begin_spans` is given fits together; the times, contiguous, and the span in their type."""
    times = check_times(times)
    check_array("ids", ids, np.int64, len(times))
    span = check_slack(span, times.dtype == np.float64)
    if span >= 2**63 and times.dtype == np.int64:
        raise KernelError(f"span must fit a 64-bit signed integer, not {span}")
    return times, span
