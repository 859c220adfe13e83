"""Windows as users write them; a plan turns them into a grid in the units of the attribute they are on.

>>> tumbling("1min").grid(pa.timestamp("s"))
Grid(range=60, slide=60, offset=0)
>>> print(sliding("5min", every="1min"))
sliding 5min every 1min
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from oop.numbering import numbered
from oop.operators.aggregate import Aggregate
from oop.operators.bucket import Bucket, Grid
from oop.operators.holding import Named
from oop.operators.numbers import SEQ
from oop.operators.times import duration_in
from oop.punctuation.durations import Duration, show

if TYPE_CHECKING:
    from oop.stream import Stream


class Window(ABC):
    """What `Stream.window` takes: it knows which operators make its aggregates."""

    accounts: ClassVar[bool] = False
    """Can it say how many rows were late for each window?"""
    counts_rows: ClassVar[bool] = False
    """Is it on the rows' numbers, and not on a time?"""

    @abstractmethod
    def check(self, time: pa.DataType) -> None:
        """ValueError where it makes no sense on a time column of this type."""

    @abstractmethod
    def aggregated(self, stream: Stream, on: str, keys: tuple[str, ...], functions: Named, call: str) -> Stream:
        """The stream's aggregates for each window on an attribute and each group; ``call`` is what the user wrote."""


@dataclass(frozen=True)
class TimeWindow(Window):
    """Window ``w`` covers ``[offset + w·every, offset + w·every + range)``."""

    range: Duration
    every: Duration
    offset: Duration = 0
    kind: str = "sliding"
    accounts: ClassVar[bool] = True

    def grid(self, time: pa.DataType) -> Grid:
        """In the units of a time column of this type; ValueError where that makes no sense."""
        range_, slide = duration_in(self.range, time), duration_in(self.every, time)
        for name, value in (("range", range_), ("every", slide)):
            if value <= 0:
                raise ValueError(f"the {name} of a window must be greater than 0, not {value}")
        return Grid(range_, slide, duration_in(self.offset, time))

    def check(self, time: pa.DataType) -> None:
        self.grid(time)

    def aggregated(self, stream: Stream, on: str, keys: tuple[str, ...], functions: Named, call: str) -> Stream:
        time = stream.schema.field(on).type
        grid = self.grid(time)
        bucketed = stream._then(Bucket(on, grid, str(self)), f".window({self})", time=on)
        # a small float cannot hold the windows' edges: rows would stand outside their window
        edges = pa.float64() if pa.types.is_floating(time) else time
        return bucketed._then(Aggregate(keys, functions, grid, on, edges), call, time="window_start")

    def __str__(self) -> str:
        every = f" every {show(self.every)}" if self.kind == "sliding" else ""
        offset = f" offset {show(self.offset)}" if self.offset else ""
        return f"{self.kind} {show(self.range)}{every}{offset}"


@dataclass(frozen=True)
class RowWindow(Window):
    """Window ``w`` covers the rows ``[offset + w·every, offset + w·every + range)``, numbered from 0 as the source gave
    them (paper 004, section 5.2)."""

    range: int
    every: int
    offset: int = 0
    accounts: ClassVar[bool] = True
    counts_rows: ClassVar[bool] = True

    def check(self, time: pa.DataType) -> None:
        """It is on no column of the user's."""

    def aggregated(self, stream: Stream, on: str, keys: tuple[str, ...], functions: Named, call: str) -> Stream:
        grid = Grid(self.range, self.every, self.offset)
        bucketed = numbered(stream)._then(Bucket(SEQ, grid, str(self)), f".window({self})")
        return bucketed._then(Aggregate(keys, functions, grid, SEQ, pa.int64()), call, time="window_start")

    def __str__(self) -> str:
        every = f" every {self.every}" if self.every != self.range else ""
        return f"rows {self.range}{every}" + (f" offset {self.offset}" if self.offset else "")


def rows(range: int, every: int | None = None, offset: int = 0) -> RowWindow:
    """Windows of ``range`` rows, one beginning every ``every`` rows (default: side by side).

    Rows are counted as the source gives them, before filters and with late ones, over all groups: the same answer
    whatever the plan. Windows that reach over the first or the last row come out too, with the rows that they have.

    >>> import oop
    >>> s = oop.source(pa.table({"ts": [5, 1, 3, 9, 7]}), time="ts", punctuate=None)
    >>> late = s.filter(oop.col("ts") > 1).window(oop.rows(2)).agg(n=oop.count(), ts=oop.max("ts"))
    >>> for row in late.run().to_table().to_pylist():
    ...     print(row)
    {'window_start': 0, 'window_end': 2, 'n': 1, 'ts': 5}
    {'window_start': 2, 'window_end': 4, 'n': 2, 'ts': 9}
    {'window_start': 4, 'window_end': 6, 'n': 1, 'ts': 7}
    """
    every = range if every is None else every
    return RowWindow(_count("range", range, 1), _count("every", every, 1), _count("offset", offset, 1 - _MOST_ROWS))


_MOST_ROWS = 2**62
"""In a window, or before the first: its edges are int64."""


def _count(name: str, value: int, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(
            f"the {name} of a window of rows is a whole number, not {value!r}; windows of time are oop.tumbling(…) "
            "and oop.sliding(…)"
        )
    if not least <= value < _MOST_ROWS:
        raise ValueError(f"the {name} of a window of rows must be {'1 or more' if least == 1 else 'less'}, not {value}")
    return int(value)


def tumbling(range: Duration, offset: Duration = 0) -> TimeWindow:
    """Windows side by side, each ``range`` long.

    >>> str(tumbling("1min"))
    'tumbling 1min'
    """
    return TimeWindow(range, range, offset, "tumbling")


def sliding(range: Duration, every: Duration, offset: Duration = 0) -> TimeWindow:
    """Windows ``range`` long, one beginning ``every`` so often; ``every`` may be longer, then there are gaps.

    >>> str(sliding(10, every=5))
    'sliding 10 every 5'
    """
    return TimeWindow(range, every, offset)
