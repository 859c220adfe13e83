"""Windows that all begin at one time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING

import pyarrow as pa

from oop.errors import SchemaMismatch
from oop.operators.bucket import Bucket
from oop.operators.holding import Named
from oop.operators.landmark import Landmark, LandmarkAggregate
from oop.operators.times import duration_in, physical, unit_of
from oop.punctuation.durations import Duration, show
from oop.site import user_line
from oop.windows.window import Window, edge_type

if TYPE_CHECKING:
    from oop.stream import Stream


Instant = int | float | str | date | datetime
"""A number in a time column's unit; for dates and timestamps also a date, a datetime, or one as text."""


@dataclass(frozen=True)
class LandmarkWindow(Window):
    """All windows begin at ``begin``, each ends ``every`` after the one before."""

    begin: Instant
    every: Duration | None = None
    changes: bool = False

    @property
    def endless(self) -> bool:
        return self.every is None

    def windows(self, time: pa.DataType) -> Landmark:
        """In the units of a time column of this type."""
        begin = _instant_in(self.begin, time)
        if self.every is None:
            return Landmark(begin, None)
        every = duration_in(self.every, time)
        if every <= 0:
            raise ValueError(f"the step of a landmark window must be greater than 0, not {every}")
        return Landmark(begin, every)

    def check(self, time: pa.DataType) -> None:
        self.windows(time)

    def aggregated(self, stream: Stream, on: str, keys: tuple[str, ...], functions: Named, call: str) -> Stream:
        apart = next((f for _, f in functions if not f.can_merge), None)
        if apart is not None and self.every is not None:
            raise SchemaMismatch(
                f"a landmark window adds each step to what came before, and {apart} cannot merge the two",
                at=user_line(),
                hint="leave out every=, or use an aggregate that merges",
            )
        time = stream.schema.field(on).type
        windows = self.windows(time)
        bucketed = stream._then(Bucket(on, windows, str(self)), f".window({self})", time=on)
        spec = LandmarkAggregate(keys, functions, windows, on, edge_type(time), self.changes)
        return bucketed._then(spec, call, time=None if self.every is None else "window_end")

    def __str__(self) -> str:
        every = "" if self.every is None else f" every {show(self.every)}"
        return f"landmark {self.begin}{every}{' changes' if self.changes else ''}"


def _instant_in(value: Instant, time: pa.DataType) -> int | float:
    """A point in time as the physical number of a column of this type; ValueError if it falls between two."""
    unit = unit_of(time)
    if isinstance(value, int | float) or unit is None:
        if isinstance(value, str | date):
            raise ValueError(f"the time column holds plain numbers, so {value!r} has no meaning; give a number")
        return duration_in(value, time)
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    if pa.types.is_timestamp(time) and time.tz is not None and not isinstance(moment, datetime):
        raise ValueError(
            f"the time column has a zone, so the landmark {value!r} needs one: give a datetime with a zone"
        )
    exact = physical(moment, pa.timestamp("ns", time.tz if pa.types.is_timestamp(time) else None))
    if int(exact) % unit:
        raise ValueError(f"the landmark {value} is not a whole number of the time column's unit")
    return int(exact) // unit


def landmark(start: Instant, every: Duration | None = None, *, changes: bool = False) -> LandmarkWindow:
    """Windows that all begin at ``start``: a running result, put out whenever another ``every`` of time is complete.

    Each has a row for every group that has had one since the landmark, also if none came in the last step; with
    ``changes=True`` only those that had one. At the end windows go out up to the one with the last row. Without
    ``every`` there is one window, which only the end of the stream completes; its end is null. Rows before the landmark
    are in no window. The state has one partial aggregate for each group, for ever.

    >>> import oop
    >>> sales = pa.table({"ts": [1, 3, 12, 31], "shop": ["a", "b", "a", "b"]})
    >>> stream = oop.source(sales, time="ts", punctuate=oop.ordered())
    >>> for row in stream.window(oop.landmark(0, every=10)).agg(n=oop.count()).run().to_table().to_pylist():
    ...     print(row)
    {'window_start': 0, 'window_end': 10, 'n': 2}
    {'window_start': 0, 'window_end': 20, 'n': 3}
    {'window_start': 0, 'window_end': 30, 'n': 3}
    {'window_start': 0, 'window_end': 40, 'n': 4}
    """
    if changes and every is None:
        raise ValueError("changes=True says which groups a step puts out: it needs every=")
    return LandmarkWindow(start, every, changes)
