"""Windows that all begin at one time."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from numbers import Real

import numpy as np
import pyarrow as pa

from oop.errors import SchemaMismatch, WrongArgument
from oop.frozen import frozen
from oop.operators.aggregate.landmark import Landmark, LandmarkAggregate
from oop.operators.core.times import duration_in, is_whole, physical, unit_of
from oop.operators.groups.store_operator import NamedAggregates
from oop.operators.windows.bucket import Bucket
from oop.operators.windows.zones import zone_of
from oop.plan.flow import Flow
from oop.punctuation.durations import Duration, show
from oop.site import user_line
from oop.windows.window import Window, duration, edge_type

Instant = int | float | str | date | datetime
"""A number in a time column's unit; for dates and timestamps also a date, a datetime, or one as text."""


@frozen()
class LandmarkWindow(Window):
    """All windows begin at ``begin``, each ends ``every`` after the one before."""

    begin: Instant
    every: Duration | None = None
    changes: bool = False

    @property
    def endless(self) -> bool:
        return self.every is None

    def windows(self, time: pa.DataType) -> Landmark:
        """The windows in the units of a time column of this type."""
        begin = _instant_in(self.begin, time)
        if self.every is None:
            return Landmark(begin, None)
        every = duration_in(self.every, time)
        if every <= 0:
            raise ValueError(f"the step of a landmark window must be greater than 0, not {every}")
        return Landmark(begin, every)

    def check(self, time: pa.DataType) -> None:
        self.windows(time)

    def aggregated(self, flow: Flow, on: str, keys: tuple[str, ...], functions: NamedAggregates, call: str) -> Flow:
        apart = next((f for _, f in functions if not f.can_merge), None)
        if apart is not None and self.every is not None:
            raise SchemaMismatch(
                f"a landmark window adds each step to what came before, and {apart} cannot merge the two",
                at=user_line(),
                hint="leave out every=, or use an aggregate that merges",
            )
        time = flow.schema.field(on).type
        windows = self.windows(time)
        bucketed = flow.then(Bucket(on, windows, str(self)), f".window({self})", time=on)
        spec = LandmarkAggregate(keys, functions, windows, on, edge_type(time), self.changes)
        return bucketed.then(spec, call, time=None if self.every is None else "window_end")

    def __str__(self) -> str:
        every = "" if self.every is None else f" every {show(self.every)}"
        return f"landmark {self.begin}{every}{' changes' if self.changes else ''}"


_WRITE = "write '2024-01-01', '2024-01-01T12:30', a date, a datetime, or a number in the column's unit"


def _instant(value: Instant) -> Instant:
    """The argument, if it is a point in time at all. Whether it suits a column is checked when the column is known."""
    if isinstance(value, np.generic):
        value = value.astype("M8[us]").item() if isinstance(value, np.datetime64) else value.item()
    known = isinstance(value, str | date) or (isinstance(value, Real) and math.isfinite(value))
    if isinstance(value, bool) or not known:
        raise WrongArgument(f"a landmark is a point in time, not {value!r}", at=user_line(), hint=_WRITE)
    if isinstance(value, str):
        try:
            datetime.fromisoformat(value)
        except ValueError:
            what = f"the landmark {value!r} is no date or time as ISO 8601 writes them"
            raise WrongArgument(what, at=user_line(), hint=_WRITE) from None
    return value


def _instant_in(value: Instant, time: pa.DataType) -> int | float:
    """A point in time as the physical number of a column of this type; ValueError if it falls between two numbers."""
    unit = unit_of(time)
    if isinstance(value, int | float) or unit is None:
        if isinstance(value, str | date):
            raise ValueError(f"the time column holds plain numbers, so {value!r} has no meaning; give a number")
        if is_whole(time) and value != math.floor(value):
            raise ValueError(f"the landmark {value} is not a whole number of the time column's unit")
        return duration_in(value, time)
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    zone = time.tz if pa.types.is_timestamp(time) else None
    if (moment.tzinfo is None) != (zone is None):
        raise _zones_differ(value, moment, time)
    exact = physical(moment, pa.timestamp("ns", zone))
    if int(exact) % unit:
        raise ValueError(f"the landmark {value} is not a whole number of the time column's unit")
    return int(exact) // unit


def _zones_differ(value: Instant, moment: datetime, time: pa.DataType) -> WrongArgument:
    """The error for a landmark and a column of which only one has a time zone; the hint writes out what could be
    meant."""
    shown = repr(value) if isinstance(value, str) else str(value)
    if moment.tzinfo is not None:
        local, utc = (m.replace(tzinfo=None).isoformat() for m in (moment, moment.astimezone(UTC)))
        either = f"oop.landmark({local!r})" + (
            "" if local == utc else f", or oop.landmark({utc!r}) if its times are UTC"
        )
        what = f"the landmark {shown} has a zone, and a time column of type {time} has none"
        return WrongArgument(what, hint=f"leave the zone out: {either}")
    there, utc = (moment.replace(tzinfo=z).isoformat() for z in (zone_of(time.tz), UTC))
    either = f"oop.landmark({there!r}) is that time in {time.tz}"
    if there != utc:
        either += f", oop.landmark({utc!r}) in UTC"
    what = f"the landmark {shown} has no zone, and the time column's is {time.tz}: it could be meant there or in UTC"
    return WrongArgument(what, hint=f"say which: {either}")


def landmark(start: Instant, every: Duration | None = None, *, changes: bool = False) -> LandmarkWindow:
    """Windows that all begin at ``start``: a running result, put out whenever another ``every`` of time is complete.

    Each window has a result for every group that has had a row since the landmark, even if none came in the last step;
    with ``changes=True`` only for groups that had one in it. At the end windows go out up to the one with the last row.
    Without ``every`` there is one window, which only the end of the stream completes; its end is null. Rows before the
    landmark are in no window. The state has one partial aggregate for each group, for ever.

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
    every = None if every is None else duration("every", every)
    return LandmarkWindow(_instant(start), every, changes)
