"""A clock that moves only when told to."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from oop.operators.core.times import physical
from oop.punctuation.patterns import Bound


class ManualClock:
    """``now`` is a number in the time column's unit, or a datetime.

    >>> clock = ManualClock(7)
    >>> clock.advance(2)
    >>> clock.now(pa.int64())
    9
    """

    live = False

    def __init__(self, now: Bound | datetime = 0) -> None:
        self._now: Any = now

    def now(self, type_: pa.DataType) -> Bound:
        """The time, in the unit of a time column.

        >>> ManualClock(datetime(1970, 1, 2)).now(pa.date32())
        1
        """
        return physical(self._now, type_)

    def advance(self, by: Bound | timedelta) -> None:
        """Move the clock by a number of units, or by a timedelta if it shows a datetime.

        >>> clock = ManualClock(datetime(1970, 1, 1))
        >>> clock.advance(timedelta(seconds=5))
        >>> clock.now(pa.timestamp("ms"))
        5000
        """
        self._now += by
