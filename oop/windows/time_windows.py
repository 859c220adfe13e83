"""Windows of time: tumbling and sliding; a plan turns them into a grid in the units of the attribute they are on.

>>> tumbling("1min").windows(pa.timestamp("s"))
Grid(range=60, slide=60, offset=0)
>>> print(sliding("5min", every="1min"))
sliding 5min every 1min
"""

from __future__ import annotations

from typing import ClassVar

import pyarrow as pa

from oop.frozen import frozen
from oop.kernels.checks import float_time_limit, int_time_limits
from oop.operators.core.times import duration_in, is_whole
from oop.operators.windows.bucket import Grid
from oop.punctuation.durations import Duration, show
from oop.windows.window import PlacedWindow, duration


@frozen()
class TimeWindow(PlacedWindow):
    """Window ``w`` covers ``[offset + w·every, offset + w·every + range)``."""

    range: Duration
    every: Duration
    offset: Duration = 0
    kind: str = "sliding"
    accounts: ClassVar[bool] = True

    def windows(self, time: pa.DataType) -> Grid:
        """The grid in the units of a time column of this type; ValueError if it does not fit there."""
        range_, slide = duration_in(self.range, time), duration_in(self.every, time)
        for name, value in (("range", range_), ("every", slide)):
            if value <= 0:
                raise ValueError(f"the {name} of a window must be greater than 0, not {value}")
        offset = duration_in(self.offset, time)
        if is_whole(time):  # refuses windows that no time could have
            int_time_limits(int(range_), int(slide), int(offset))
        else:
            float_time_limit(range_, slide, offset)
        return Grid(range_, slide, offset)

    def __str__(self) -> str:
        every = f" every {show(self.every)}" if self.kind == "sliding" else ""
        offset = f" offset {show(self.offset)}" if self.offset else ""
        return f"{self.kind} {show(self.range)}{every}{offset}"


def tumbling(range: Duration, offset: Duration = 0) -> TimeWindow:
    """Windows side by side, each ``range`` long.

    >>> str(tumbling("1min"))
    'tumbling 1min'
    """
    duration("the range of a window", range)
    return TimeWindow(range, range, duration("offset", offset), "tumbling")


def sliding(range: Duration, every: Duration, offset: Duration = 0) -> TimeWindow:
    """Windows ``range`` long, of which one begins every ``every``. If ``every`` is longer than ``range``, there are
    gaps.

    >>> str(sliding(10, every=5))
    'sliding 10 every 5'
    """
    duration("the range of a window", range)
    return TimeWindow(range, duration("every", every), duration("offset", offset))
