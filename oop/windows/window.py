"""What all windows have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta
from numbers import Real
from typing import ClassVar

import numpy as np
import pyarrow as pa

from oop.operators.aggregate.aggregate import Aggregate
from oop.operators.groups.store_operator import NamedAggregates
from oop.operators.windows.bucket import Bucket
from oop.operators.windows.windows import Windows
from oop.plan.flow import Flow
from oop.punctuation.durations import Duration, no_duration
from oop.site import user_line


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
        """Raise ValueError if the window makes no sense on a time column of this type."""

    @abstractmethod
    def aggregated(self, flow: Flow, on: str, keys: tuple[str, ...], functions: NamedAggregates, call: str) -> Flow:
        """The flow with aggregates for each window on ``on`` and each group; ``call`` is what the user wrote."""


def aggregate_windows(
    flow: Flow, windows: Windows, window: Window, on: str, keys: tuple[str, ...], functions: NamedAggregates, call: str
) -> Flow:
    """Bucket and Aggregate: WID's two halves (OOP paper, A.2.2)."""
    time = flow.schema.field(on).type
    bucketed = flow.then(Bucket(on, windows, str(window)), f".window({window})", time=on)
    return bucketed.then(Aggregate(keys, functions, windows, on, edge_type(time)), call, time="window_start")


def duration(name: str, value: Duration) -> Duration:
    """The argument, if it is a duration at all. Whether it suits a column is checked when the column is known."""
    if isinstance(value, bool) or not isinstance(value, str | Real | timedelta | np.generic):
        raise no_duration(value, name, user_line())
    return value


def edge_type(time: pa.DataType) -> pa.DataType:
    """The type of windows' edges. They are float64 for all floats: rounded to a smaller type, an edge could exclude a
    row."""
    return pa.float64() if pa.types.is_floating(time) else time
