"""Window ids, and rows by slice of time, in Numba."""

from __future__ import annotations

import math

import numpy as np

from oop.kernels.checks import Array, Floats, Ints, Real
from oop.kernels.jit.compiler import as_input, compile_loop

DIGIT_BITS = 8


def wid_ranges(times: Array, range: Real, slide: Real, offset: Real, low: Real, high: Real) -> tuple[Ints, Ints, int]:
    times = as_input(times)
    first, last = np.empty(len(times), np.int64), np.empty(len(times), np.int64)
    if times.dtype == np.float64:
        bad = _fill_wids_float(times, range, slide, offset, high, first, last)
    else:
        bad = _fill_wids_int(times, range, slide, offset, low, high, first, last)
    return first, last, bad


def order_slots(slots: Ints, shift: int) -> tuple[Ints, Ints | None, Ints]:
    slots = as_input(slots)
    low, high = _limit_slices(slots, shift)
    if low >= high:
        return slots[:1] >> shift, None, np.array([0, len(slots)] if len(slots) else [0])
    order, spare = np.empty(len(slots), np.int64), np.empty(len(slots), np.int64)
    counts = np.zeros((-(-(high - low).bit_length() // DIGIT_BITS), 1 << DIGIT_BITS), np.int64)
    if _sort_slices(slots, shift, low, counts, order, spare):
        order, spare = spare, order
    starts = np.empty(len(slots) + 1, np.int64)
    # `spare` is no longer needed and takes the numbers.
    count = _split_slices(slots, shift, order, spare, starts)
    return spare[:count].copy(), order, starts[: count + 1].copy()


@compile_loop
def _fill_wids_int(
    times: Ints, span: int, slide: int, offset: int, low: int, high: int, first: Ints, last: Ints
) -> int:
    for i in range(len(times)):
        if times[i] < low or times[i] > high:
            return i
    # Divisions are most of the work: where the range is a multiple of the slide, one serves both.
    whole = span % slide == 0
    more = span // slide - 1
    for i in range(len(times)):
        shifted = times[i] - offset
        last[i] = shifted // slide
        first[i] = last[i] - more if whole else (shifted - span) // slide + 1
    return -1


@compile_loop
def _fill_wids_float(
    times: Floats, span: float, slide: float, offset: float, limit: float, first: Ints, last: Ints
) -> int:
    for i in range(len(times)):
        # Written so that NaN fails it.
        if not (abs(times[i]) < limit):
            return i
    for i in range(len(times)):
        t = times[i]
        a = np.int64(math.floor((t - offset - span) / slide)) + 1
        b = np.int64(math.floor((t - offset) / slide))
        # Each quotient was rounded: move until start <= t < end holds literally.
        while offset + b * slide > t:
            b -= 1
        while offset + (b + 1) * slide <= t:
            b += 1
        if span == slide:
            a = b  # a tumbling window ends where the next one starts
        else:
            while offset + a * slide + span <= t:
                a += 1
            while offset + (a - 1) * slide + span > t:
                a -= 1
        first[i] = a
        last[i] = b
    return -1


@compile_loop
def _limit_slices(slots: Ints, shift: int) -> tuple[int, int]:
    """The least and greatest slice; two equal numbers if there are no slots."""
    if not len(slots):
        return 0, 0
    low = high = slots[0]
    for i in range(len(slots)):
        low = min(low, slots[i])
        high = max(high, slots[i])
    return low >> shift, high >> shift


@compile_loop
def _sort_slices(slots: Ints, shift: int, low: int, counts: Ints, order: Ints, spare: Ints) -> bool:
    """Sort the row numbers by slice, by a stable radix sort; is the result in `spare`?

    Slices of one batch are mostly near each other: then they differ in one digit, and one pass sorts them.
    """
    digits, size = counts.shape
    mask = np.uint64(size - 1)
    for i in range(len(slots)):
        # The difference wraps as a signed number, and is right as an unsigned one.
        word = np.uint64((slots[i] >> shift) - low)
        for d in range(digits):
            counts[d, np.int64((word >> np.uint64(DIGIT_BITS * d)) & mask)] += 1
        order[i] = i
    swapped = False
    first = np.uint64((slots[0] >> shift) - low)
    for d in range(digits):
        if counts[d, np.int64((first >> np.uint64(DIGIT_BITS * d)) & mask)] == len(slots):
            continue  # all rows have this digit
        place = 0
        for value in range(size):
            counts[d, value], place = place, place + counts[d, value]
        for i in range(len(slots)):
            row = order[i]
            word = np.uint64((slots[row] >> shift) - low)
            digit = np.int64((word >> np.uint64(DIGIT_BITS * d)) & mask)
            spare[counts[d, digit]] = row
            counts[d, digit] += 1
        order, spare = spare, order
        swapped = not swapped
    return swapped


@compile_loop
def _split_slices(slots: Ints, shift: int, order: Ints, numbers: Ints, starts: Ints) -> int:
    count = 0
    for i in range(len(order)):
        number = slots[order[i]] >> shift
        if count == 0 or number != numbers[count - 1]:
            numbers[count] = number
            starts[count] = i
            count += 1
    starts[count] = len(order)
    return count
