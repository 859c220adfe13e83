"""Window ids, and rows by slice of time, in NumPy."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import Array, Floats, Ints, Real


def wid_ranges(times: Array, range: Real, slide: Real, offset: Real, low: Real, high: Real) -> tuple[Ints, Ints, int]:
    floats = times.dtype == np.float64
    # For floats the comparison is written so that NaN fails it.
    wrong = ~(np.abs(times) < high) if floats else (times < low) | (times > high)
    if wrong.any():
        none = np.zeros(0, np.int64)
        return none, none, int(np.argmax(wrong))
    if floats:
        return *_float_wid_ranges(times, range, slide, offset), -1
    range, slide, offset = int(range), int(slide), int(offset)
    shifted = times - offset
    last = shifted // slide
    first = last - (range // slide - 1) if range % slide == 0 else (shifted - range) // slide + 1
    return first, last, -1


def order_slots(slots: Ints, shift: int) -> tuple[Ints, Ints | None, Ints]:
    sliced = slots >> shift
    if not len(slots) or (sliced == sliced[0]).all():
        return sliced[:1].copy(), None, np.array([0, len(slots)] if len(slots) else [0])
    order = np.argsort(sliced, kind="stable")
    numbers, firsts = np.unique(sliced[order], return_index=True)
    return numbers, order, np.append(firsts, len(slots))


def _float_wid_ranges(times: Floats, range: float, slide: float, offset: float) -> tuple[Ints, Ints]:
    first = np.floor((times - offset - range) / slide).astype(np.int64) + 1
    last = np.floor((times - offset) / slide).astype(np.int64)

    def starts(wids: Ints) -> Floats:
        return offset + wids.astype(np.float64) * slide

    # Each quotient was rounded: move until start <= t < end holds literally, as a reader would check it.
    while (move := starts(last) > times).any():
        last[move] -= 1
    while (move := starts(last + 1) <= times).any():
        last[move] += 1
    if range == slide:
        return last.copy(), last
    while (move := starts(first) + range <= times).any():
        first[move] += 1
    while (move := starts(first - 1) + range > times).any():
        first[move] -= 1
    return first, last
