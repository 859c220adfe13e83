"""Durations as users write them, turned into whole numbers of a time column's unit.

>>> in_units("5s", NANOSECONDS["ms"]), in_units("1min", NANOSECONDS["us"]), in_units(30, None)
(5000, 60000000, 30)
>>> in_units("1ms", NANOSECONDS["s"])
Traceback (most recent call last):
    ...
ValueError: the duration '1ms' is not a whole number of the time column's unit (1s)
"""

from __future__ import annotations

import operator
import re
from datetime import timedelta
from fractions import Fraction

from oop.errors import WrongArgument

Duration = str | int | float | timedelta

NANOSECONDS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "min": 60_000_000_000,
    "h": 3_600_000_000_000,
    "d": 86_400_000_000_000,
}
_TEXT = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([a-z]+)\s*")
_ALIASES = {"sec": "s", "m": "min", "mins": "min", "hour": "h", "hours": "h", "day": "d", "days": "d"}


def nanoseconds(duration: str | timedelta) -> Fraction:
    """The length of a duration that names its own unit."""
    if isinstance(duration, timedelta):
        micros = (duration.days * 86_400 + duration.seconds) * 1_000_000 + duration.microseconds
        return Fraction(micros * 1_000)
    match = _TEXT.fullmatch(duration)
    if match is None:
        raise ValueError(f"not a duration: {duration!r}; write '250ms', '5s', '1min', '2h' or '1d'")
    number, unit = match.groups()
    unit = _ALIASES.get(unit, unit)
    if unit not in NANOSECONDS:
        raise ValueError(f"unknown unit in {duration!r}; known are {', '.join(NANOSECONDS)}")
    return Fraction(number) * NANOSECONDS[unit]


def in_units(duration: Duration, unit: int | None, *, whole: bool = True) -> int | float:
    """The duration in a time column's own unit, which is ``unit`` nanoseconds long; None for a column of numbers.

    A plain number is already in that unit. For a column of numbers only numbers make sense; ``whole`` says that its
    values are integers.
    """
    if not isinstance(duration, str | int | float | timedelta) and hasattr(duration, "item"):
        if getattr(duration, "size", 1) != 1:
            raise no_duration(duration)
        duration = duration.item()  # a number or a timedelta of NumPy's
    if isinstance(duration, bool):
        raise no_duration(duration)
    if isinstance(duration, str | timedelta):
        if unit is None:
            raise ValueError(
                f"the time column holds plain numbers, so {duration!r} has no meaning; give a number in its unit"
            )
        units = nanoseconds(duration) / unit
        if units.denominator != 1:
            name = next((n for n, length in NANOSECONDS.items() if length == unit), f"{unit}ns")
            raise ValueError(f"the duration {duration!r} is not a whole number of the time column's unit (1{name})")
        return units.numerator
    if whole:
        if isinstance(duration, float):
            if not duration.is_integer():
                raise ValueError(f"the duration {duration!r} is not a whole number of the time column's unit")
            return int(duration)
        try:
            return operator.index(duration)
        except TypeError:
            raise no_duration(duration) from None
    try:
        value = float(duration)
    except (TypeError, ValueError):
        raise no_duration(duration) from None
    if value != value or value in (float("inf"), float("-inf")):
        raise no_duration(duration)
    return value


def no_duration(value: object, name: str | None = None, at: str | None = None) -> WrongArgument:
    """The error for a value that is no duration; ``name`` is the argument that it was given as."""
    what = f"not a duration: {value!r}" if name is None else f"{name} is a duration, not {value!r}"
    return WrongArgument(what, at=at, hint="write '250ms', '5s', '1min', a timedelta, or a number in the column's unit")


def show(duration: Duration | None) -> str:
    """A duration as text, for explain and errors.

    >>> show("5s"), show(timedelta(seconds=90)), show(10)
    ('5s', '0:01:30', '10')
    """
    return str(duration)
