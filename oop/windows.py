"""Windows as users write them; a plan turns them into a grid in the units of the attribute they are on.

>>> tumbling("1min").grid(pa.timestamp("s"))
Grid(range=60, slide=60, offset=0)
>>> print(sliding("5min", every="1min"))
sliding 5min every 1min
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from numbers import Integral
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from oop.errors import OopError, SchemaMismatch, UnknownColumn
from oop.numbering import numbered
from oop.operators.aggregate import Aggregate
from oop.operators.bucket import Bucket, Grid
from oop.operators.calendar import UNITS, Calendar
from oop.operators.holding import Named
from oop.operators.input import Input
from oop.operators.kinds import UTC
from oop.operators.landmark import Landmark, LandmarkAggregate
from oop.operators.numbers import SEQ
from oop.operators.partition_rows import PartitionRows
from oop.operators.session import Session
from oop.operators.times import duration_in, physical, unit_of
from oop.operators.wids import Windows
from oop.operators.zones import zone_of
from oop.plan import sources
from oop.punctuation.durations import Duration, show
from oop.punctuation.patterns import Bound
from oop.site import user_line

if TYPE_CHECKING:
    from oop.stream import Stream


class Window(ABC):
    """What `Stream.window` takes: it knows which operators make its aggregates."""

    accounts: ClassVar[bool] = False
    """Can it say how many rows were late for each window?"""
    counts_rows: ClassVar[bool] = False
    """Is it on the rows' numbers, and not on a time?"""

    @property
    def endless(self) -> bool:
        """Do its windows last until the end of the stream?"""
        return False

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
        return _aggregate(stream, self.grid(stream.schema.field(on).type), self, on, keys, functions, call)

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


@dataclass(frozen=True)
class PartitionedRowWindow(RowWindow):
    """The same, of the rows of each partition by itself: ``by`` are the columns that tell partitions apart."""

    by: tuple[str, ...] = ()
    accounts: ClassVar[bool] = False

    def aggregated(self, stream: Stream, on: str, keys: tuple[str, ...], functions: Named, call: str) -> Stream:
        for name in self.by:
            if name not in stream.schema.names:
                raise UnknownColumn.of(name, stream.schema.names, at=user_line())
        keys = (*self.by, *(key for key in keys if key not in self.by))
        grid = Grid(self.range, self.every, self.offset)
        spec = PartitionRows(keys, functions, grid, SEQ, pa.int64(), self.by, str(self))
        return numbered(stream)._then(spec, call, time="window_start")

    def __str__(self) -> str:
        return f"{super().__str__()} by {', '.join(self.by)}"


def rows(range: int, every: int | None = None, offset: int = 0, *, by: str | Sequence[str] | None = None) -> RowWindow:
    """Windows of ``range`` rows, one beginning every ``every`` rows (default: side by side).

    ``by`` names the columns of partitions, each of which counts its own rows; they are among the groups of the result.

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
    counts = _count("range", range, 1), _count("every", every, 1), _count("offset", offset, 1 - _MOST_ROWS)
    if by is None:
        return RowWindow(*counts)
    columns = (by,) if isinstance(by, str) else tuple(by)
    if not columns or not all(isinstance(name, str) for name in columns) or len(set(columns)) < len(columns):
        raise ValueError(f"by= names the columns of partitions, each once, not {by!r}")
    return PartitionedRowWindow(*counts, columns)


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


@dataclass(frozen=True)
class CalendarWindow(Window):
    """Hours, days, weeks, months, quarters or years of a time zone."""

    unit: str
    every: int = 1
    tz: str | None = None
    accounts: ClassVar[bool] = True

    def calendar(self, time: pa.DataType) -> Calendar:
        """On a time column of this type; SchemaMismatch where its values are no points in a calendar."""
        if pa.types.is_timestamp(time):
            zone = self.tz or time.tz
            return Calendar(self.unit, self.every, None if zone in UTC else zone, time.unit)
        if not pa.types.is_date(time):
            raise SchemaMismatch(
                f"{self} makes no sense on a column of type {time}: plain numbers have no calendar",
                hint="cast it: .with_columns(ts=oop.col('ts').cast('timestamp[us]')), or use oop.tumbling(…)",
            )
        if self.unit == "hour" or self.tz not in UTC:
            raise SchemaMismatch(
                f"{self} makes no sense on a column of type {time}: a date has no time of day",
                hint="leave out tz=, and take days or more; or cast the column to a timestamp",
            )
        return Calendar(self.unit, self.every, None, "D" if pa.types.is_date32(time) else "ms")

    def check(self, time: pa.DataType) -> None:
        if self.calendar(time).limit <= 0:
            raise ValueError(f"{self} does not fit times of type {time}")

    def aggregated(self, stream: Stream, on: str, keys: tuple[str, ...], functions: Named, call: str) -> Stream:
        return _aggregate(stream, self.calendar(stream.schema.field(on).type), self, on, keys, functions, call)

    def __str__(self) -> str:
        length = self.unit if self.every == 1 else f"{self.every} {self.unit}s"
        return f"calendar {length}" + (f" in {self.tz}" if self.tz else "")


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
    exact = physical(moment, pa.timestamp("ns", time.tz if pa.types.is_timestamp(time) else None))
    if int(exact) % unit:
        raise ValueError(f"the landmark {value} is not a whole number of the time column's unit")
    return int(exact) // unit


def _aggregate(
    stream: Stream, windows: Windows, window: Window, on: str, keys: tuple[str, ...], functions: Named, call: str
) -> Stream:
    """Bucket and Aggregate: WID's two halves (paper 004, A.2.2)."""
    time = stream.schema.field(on).type
    bucketed = stream._then(Bucket(on, windows, str(window)), f".window({window})", time=on)
    return bucketed._then(Aggregate(keys, functions, windows, on, edge_type(time)), call, time="window_start")


def edge_type(time: pa.DataType) -> pa.DataType:
    """The type of windows' edges. A small float cannot hold them: rows would stand outside their window."""
    return pa.float64() if pa.types.is_floating(time) else time


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
        admits = any(isinstance(n.spec, Input) and n.spec.late == "admit" for n in sources(stream._node))
        spec = Session(keys, functions, self.units(time), on, edge_type(time), show(self.gap), admits)
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


def calendar(unit: str, tz: str | None = None, every: int = 1) -> CalendarWindow:
    """Hours, days, weeks (from Monday), months, quarters or years of a time zone, or ``every`` so many of them.

    ``tz`` is an IANA name. Without it the column's own zone counts, and a column without a zone is taken as local time.
    With it, the times of a column without a zone are taken as UTC. Windows tile time: a day in which the clock is
    changed has 23 or 25 hours, the hour that comes twice is one window, and where local midnight is skipped a day
    begins at its first instant. Several units are counted from the one that 1970 begins in.

    >>> import oop
    >>> print(oop.calendar("day", tz="Europe/Berlin"))
    calendar day in Europe/Berlin
    >>> months = pa.table({"day": pa.array([0, 40, 45], pa.date32())})
    >>> stream = oop.source(months, time="day", punctuate=oop.ordered())
    >>> for row in stream.window(oop.calendar("month")).agg(n=oop.count()).run().to_table().to_pylist():
    ...     print(row["window_start"], row["window_end"], row["n"])
    1970-01-01 1970-02-01 1
    1970-02-01 1970-03-01 2
    """
    if unit not in UNITS:
        raise ValueError(f"a unit of the calendar is one of {', '.join(UNITS)}, not {unit!r}")
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise ValueError(f"every is a whole number of units, at least 1, not {every!r}")
    if tz is not None:
        zone_of(tz)
    return CalendarWindow(unit, every, tz)


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
