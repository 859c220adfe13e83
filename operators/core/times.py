"""Time columns: what types they may have, their unit, and the way between a value and its physical number.

Bounds are physical: an int in the column's unit (microseconds for timestamp[us], days for date32), a float for floats.

>>> physical(datetime(1970, 1, 1, 0, 0, 1), pa.timestamp("ms"))
1000
>>> unit_of(pa.timestamp("us")), unit_of(pa.date32()), unit_of(pa.int64())
(1000, 86400000000000, None)
"""

from __future__ import annotations

import functools
import math
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pyarrow as pa

from oop.errors import SchemaMismatch, TimeError
from oop.kernels import views
from oop.punctuation.durations import NANOSECONDS, Duration, in_units

_GREATEST_BOUND = 2**1000  # a float can hold it, and it is far beyond every whole time


def is_time_type(type_: pa.DataType) -> bool:
    t = pa.types
    return t.is_integer(type_) or t.is_floating(type_) or t.is_date(type_) or t.is_timestamp(type_)


def check_time_type(name: str, type_: pa.DataType) -> None:
    if is_time_type(type_):
        return
    raise SchemaMismatch(
        f"the time column {name!r} is {type_}; it must be an integer, float, date or timestamp",
        hint=f"cast it: .with_columns({name}=oop.col({name!r}).cast('timestamp[us]')), or read it as a timestamp",
    )


@functools.cache
def unit_of(type_: pa.DataType) -> int | None:
    """Nanoseconds in one unit of the column; None for plain numbers."""
    if pa.types.is_timestamp(type_):
        return NANOSECONDS[type_.unit]
    if pa.types.is_date32(type_):
        return NANOSECONDS["d"]
    if pa.types.is_date64(type_):
        return NANOSECONDS["ms"]
    return None


def is_whole(type_: pa.DataType) -> bool:
    return not pa.types.is_floating(type_)


def duration_in(duration: Duration, type_: pa.DataType) -> int | float:
    """A duration in the units of a time column of this type."""
    return in_units(duration, unit_of(type_), whole=is_whole(type_))


def physical(value: Any, type_: pa.DataType) -> int | float:
    """A bound as users write it (a number, date or datetime) as the column's physical number."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    elif isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int | float) and not isinstance(value, bool):
        if isinstance(value, int) and abs(value) > _GREATEST_BOUND:
            raise TimeError(
                f"a bound of {value.bit_length()} bits is beyond all times of type {type_}",
                hint="bounds are numbers in the column's unit; END promises that no row comes",
            )
        if is_whole(type_) and isinstance(value, float):
            # no whole time lies between value and its ceiling, so the promise says the same
            return value if math.isinf(value) else math.ceil(value)
        return value if is_whole(type_) else float(value)
    unit = unit_of(type_)
    if unit is None or not isinstance(value, date):
        raise SchemaMismatch(f"{value!r} is not a bound for a column of type {type_}")
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=_zone(type_))
    if (value.tzinfo is None) != (_zone(type_) is None):
        raise SchemaMismatch(
            f"the bound {value!r} and a column of type {type_} are not in the same zone",
            hint="give a bound with a zone for a column with one, and without for one without",
        )
    since = value - datetime(1970, 1, 1, tzinfo=UTC if value.tzinfo else None)
    return -int(-since // timedelta(microseconds=1) * 1000 // unit)  # the ceiling, as for numbers


def _zone(type_: pa.DataType) -> timezone | None:
    return UTC if pa.types.is_timestamp(type_) and type_.tz is not None else None


NULL_SLOT = 2**62
"""The slot of rows without a value: above every other slot."""
FAR = 2**61
"""All values beyond this stand in one slot, and all beyond its negative in another."""


def slots_of(column: pa.Array) -> np.ndarray:
    """Values of a time column as whole numbers by which groups or keys are put into slices.

    >>> slots_of(pa.array([1.5, None, -0.5])).tolist() == [1, NULL_SLOT, -1]
    True
    """
    out = np.full(len(column), NULL_SLOT, np.int64)
    valid = views.booleans(column.is_valid())
    times = views.times(column.drop_null())
    if times.dtype == np.float64:
        known = ~np.isnan(times)
        valid[valid] = known
        times = np.floor(np.clip(times[known], -float(FAR), float(FAR)))
    out[valid] = np.clip(times, -FAR, FAR)
    return out


def from_physical(values: np.ndarray, type_: pa.DataType) -> pa.Array:
    """Physical numbers as a column of the time's own type; a value that does not fit is an error, never wrapped."""
    array = pa.array(values)
    if array.type == type_:  # this also spares the questions below
        return array
    try:
        if pa.types.is_timestamp(type_) or pa.types.is_date64(type_):
            return array.view(type_)
        if pa.types.is_date32(type_):
            return array.cast(pa.int32()).view(type_)
        return array.cast(type_, safe=not pa.types.is_floating(type_))
    except pa.ArrowInvalid as wrong:
        raise TimeError(
            f"a window reaches beyond what the time column's type {type_} can hold",
            hint="cast the time column to int64 or timestamp first",
        ) from wrong


def show_time(bound: int | float, type_: pa.DataType) -> str:
    """A physical number as the column shows it; if the type cannot hold it, the number itself.

    >>> show_time(1_000, pa.timestamp("ms")), show_time(7, pa.int32()), show_time(math.inf, pa.date32())
    ('1970-01-01 00:00:01.000', '7', 'inf')
    """
    if unit_of(type_) is None or math.isinf(bound):
        return str(bound)
    try:
        return str(from_physical(np.array([math.ceil(bound)]), type_).cast(pa.string())[0])
    except (TimeError, pa.ArrowInvalid, OverflowError):
        return str(bound)


def show_duration(units: int | float, type_: pa.DataType) -> str:
    """A number of units of a time column, as a user may write it in a policy.

    >>> [show_duration(n, pa.timestamp("ms")) for n in (90_000, 1_500)] + [show_duration(7, pa.int64())]
    ['90s', '1500ms', '7']
    """
    unit = unit_of(type_)
    if unit is None or math.isinf(units):
        return str(units)
    length = round(units * unit)
    name = next(n for n in ("d", "h", "min", "s", "ms", "us", "ns") if length % NANOSECONDS[n] == 0)
    return f"{length // NANOSECONDS[name]}{name}" if length else "0s"
