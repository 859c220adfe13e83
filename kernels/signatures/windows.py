"""Window ids, and rows by slice of time.

Window w covers [offset + w*slide, offset + w*slide + range). The time t is in the windows first..last (`wids`
in A.2.2 of the OOP paper): floor((t - offset - range) / slide) + 1 to floor((t - offset) / slide).
A tumbling window (range = slide) of float times ends where the next one starts, whatever rounding makes of the sum,
so that every time is in exactly one.
"""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import (
    FLOAT64,
    INT64,
    Array,
    Ints,
    KernelError,
    Real,
    check_array,
    check_times,
    check_window,
    float_time_limit,
    int_time_limits,
    time_error,
    whole_window_limits,
)
from oop.kernels.signatures.stem import Stem


class WindowKernels(Stem):
    def wid_ranges(self, times: Array, range: Real, slide: Real, offset: Real) -> tuple[Ints, Ints]:
        """The first and last window of every time; first > last for a time in the gap between two windows.

        Bodies are given the limits of the times that have windows: for float times, which must be below the limit in
        magnitude, as (-limit, limit). They also return the first row that is outside, or -1.

        >>> import numpy as np
        >>> from oop.kernels.dispatch import kernels
        >>> wid_ranges = kernels("reference").wid_ranges
        >>> wid_ranges(np.array([0, 11, -1]), 10, 3, 0)
        (array([-3,  1, -3]), array([ 0,  3, -1]))
        >>> wid_ranges(np.array([1.7, 3.0]), 3.5, 2.5, 1.5)
        (array([-1,  0]), array([0, 0]))
        """
        if times.__class__ is not np.ndarray or times.dtype != INT64 or times.ndim != 1 or not times.flags.c_contiguous:
            times = check_times(times)  # whole numbers need no further check
        floats = times.dtype == FLOAT64
        if not floats and range.__class__ is int and slide.__class__ is int and offset.__class__ is int:
            limits = whole_window_limits(range, slide, offset)
            first, last, bad = self.run.wid_ranges(times, range, slide, offset, *limits)
            if bad >= 0:
                raise time_error(times[bad].item(), range, slide, offset)
            return first, last
        check_window(range, slide, offset, floats)
        if floats:
            range, slide, offset = float(range), float(slide), float(offset)
            limit = float_time_limit(range, slide, offset)
            first, last, bad = self.run.wid_ranges(times, range, slide, offset, -limit, limit)
        else:
            range, slide, offset = int(range), int(slide), int(offset)
            limits = int_time_limits(range, slide, offset)
            first, last, bad = self.run.wid_ranges(times, range, slide, offset, *limits)
        if bad >= 0:
            raise time_error(times[bad].item(), range, slide, offset)
        return first, last

    def order_slots(self, slots: Ints, shift: int) -> tuple[Ints, Ints | None, Ints]:
        """Slices of 2**shift slots: the distinct ones ascending, and the rows of each together and in order.

        Slice `numbers[i]` has the rows `order[starts[i]:starts[i + 1]]`; where there is only one slice, order is None.

        >>> import numpy as np
        >>> from oop.kernels.dispatch import kernels
        >>> numbers, order, starts = kernels("reference").order_slots(np.array([5, 9, 4, 5]), 1)
        >>> numbers.tolist(), order.tolist(), starts.tolist()
        ([2, 4], [0, 2, 3, 1], [0, 3, 4])
        """
        if slots.__class__ is not np.ndarray or slots.dtype != INT64 or slots.ndim != 1:
            check_array("slots", slots, INT64)  # it says what is wrong
        if not 0 <= shift < 64:
            raise KernelError(f"shift must be from 0 to 63, not {shift}")
        return self.run.order_slots(slots, int(shift))
