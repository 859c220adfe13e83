"""Windows of a calendar: days, months and the like of a time zone."""

from __future__ import annotations

from typing import ClassVar

import pyarrow as pa

from oop.errors import SchemaMismatch, WrongArgument
from oop.frozen import frozen
from oop.operators.expressions.kinds import UTC
from oop.operators.windows.calendar import UNITS, Calendar
from oop.operators.windows.zones import zone_of
from oop.site import user_line
from oop.windows.window import PlacedWindow


@frozen()
class CalendarWindow(PlacedWindow):
    """Hours, days, weeks, months, quarters or years of a time zone."""

    unit: str
    every: int = 1
    tz: str | None = None
    accounts: ClassVar[bool] = True

    def windows(self, time: pa.DataType) -> Calendar:
        """The calendar for a time column of this type; SchemaMismatch if its values are no points in a calendar."""
        found = self._calendar(time)
        if found.limit <= 0:
            raise ValueError(f"{self} does not fit times of type {time}")
        return found

    def _calendar(self, time: pa.DataType) -> Calendar:
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

    def __str__(self) -> str:
        length = self.unit if self.every == 1 else f"{self.every} {self.unit}s"
        return f"calendar {length}" + (f" in {self.tz}" if self.tz else "")


def calendar(unit: str, tz: str | None = None, every: int = 1) -> CalendarWindow:
    """Hours, days, weeks (from Monday), months, quarters or years of a time zone, one or ``every`` of them in a window.

    ``tz`` is an IANA name. Without it the column's own zone counts, and a column without a zone is taken as local time.
    With it, the times of a column without a zone are taken as UTC. Windows tile time: a day in which the clock is
    changed has 23 or 25 hours, the hour that comes twice is one window, and where local midnight is skipped a day
    begins at its first instant. Windows of several units are counted from the unit in which 1970 begins.

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
    if not isinstance(unit, str) or unit not in UNITS:
        raise ValueError(f"a unit of the calendar is one of {', '.join(UNITS)}, not {unit!r}")
    if isinstance(every, bool) or not isinstance(every, int) or every < 1:
        raise ValueError(f"every is a whole number of units, at least 1, not {every!r}")
    if tz is not None:
        if not isinstance(tz, str):
            name = getattr(tz, "key", None)  # a ZoneInfo knows its name
            raise WrongArgument(
                f"tz is the name of a time zone, not {tz!r}",
                at=user_line(),
                hint=f"write tz={name!r}" if isinstance(name, str) else "write tz='Europe/Berlin' or tz='+05:30'",
            )
        zone_of(tz)
    return CalendarWindow(unit, every, tz)
