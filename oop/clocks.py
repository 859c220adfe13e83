"""The clock of a run. Tests put a clock that they move by hand in place of the wall clock, and never sleep."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import pyarrow as pa

from oop.errors import SchemaMismatch
from oop.operators.core.times import unit_of
from oop.punctuation.patterns import Bound


class Clock(Protocol):
    """A clock. One that is ``live`` moves by itself, so that waiting for it makes sense."""

    live: bool

    def now(self, type_: pa.DataType) -> Bound:
        """The time in the units of a time column of this type."""
        ...


class WallClock:
    """The machine's clock, in the units of a timestamp column.

    >>> WallClock().now(pa.timestamp("s")) > 1_700_000_000
    True
    """

    live = True

    def now(self, type_: pa.DataType) -> Bound:
        unit = unit_of(type_)
        if unit is None:
            raise SchemaMismatch(
                f"timer() compares the time column with the wall clock, but {type_} has no unit of time",
                hint="use a timestamp column, or a clock that counts in the column's unit: oop.Embedded(clock=…)",
            )
        return time.time_ns() // unit

    def reader(self, type_: pa.DataType) -> Callable[[], Bound]:
        """A function that gives `now` of this type, for one who asks often."""
        self.now(type_)
        unit = unit_of(type_)
        assert unit is not None
        return lambda: time.time_ns() // unit
