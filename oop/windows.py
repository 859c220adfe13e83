"""Windows as users write them; a plan turns them into a grid in the units of the attribute they are on.

>>> tumbling("1min").grid(pa.timestamp("s"))
Grid(range=60, slide=60, offset=0)
>>> print(sliding("5min", every="1min"))
sliding 5min every 1min
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from oop.errors import OopError
from oop.operators.aggregate import Aggregate
from oop.operators.bucket import Bucket, Grid
from oop.operators.holding import Named
from oop.operators.input import Input
from oop.operators.session import Session
from oop.operators.times import duration_in
from oop.plan import sources
from oop.punctuation.durations import Duration, show
from oop.punctuation.patterns import Bound
from oop.site import user_line

if TYPE_CHECKING:
    from oop.stream import Stream


class Window(ABC):
    """What `Stream.window` takes: it knows which operators make its aggregates."""

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
class SessionWindow(Window):
    """Rows of a group whose times differ by at most the gap."""

    gap: Duration

    def units(self, time: pa.DataType) -> Bound:
        """The gap in the units of a time column of this type; ValueError where that makes no sense."""
        gap = duration_in(self.gap, time)
        if gap <= 0:
            raise ValueError(f"the gap of a session must be greater than 0, not {gap}")
        return gap

    def check(self, time: pa.DataType) -> None:
        self.units(time)

    def aggregated(self, stream: Stream, on: str, keys: tuple[str, ...], functions: Named, call: str) -> Stream:
        for name, function in functions:
            if not function.can_merge:
                raise OopError(
                    f"{name}={function} has no merge, and a session needs it: a row may bridge two sessions into one",
                    at=user_line(),
                    hint="give the aggregate a merge, or use windows whose edges are known, such as oop.tumbling(…)",
                )
        time = stream.schema.field(on).type
        edges = pa.float64() if pa.types.is_floating(time) else time
        admits = any(isinstance(n.spec, Input) and n.spec.late == "admit" for n in sources(stream._node))
        spec = Session(keys, functions, self.units(time), on, edges, show(self.gap), admits)
        return stream._then(spec, call, time="window_start")

    def __str__(self) -> str:
        return f"session {show(self.gap)}"


def session(gap: Duration) -> SessionWindow:
    """Sessions of each group: rows that follow one another within the gap; a difference equal to it is within.

    ``window_start`` is the first row's time, ``window_end`` the last one's and the gap.

    >>> import oop
    >>> visits = pa.table({"ts": [1, 4, 20, 7], "user": ["ann"] * 4})
    >>> s = oop.source(visits, time="ts", punctuate=oop.slack(13))
    >>> s.window(oop.session(3)).group_by("user").agg(n=oop.count()).run().to_table().to_pylist()[0]
    {'window_start': 1, 'window_end': 10, 'user': 'ann', 'n': 3}
    """
    return SessionWindow(gap)


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
