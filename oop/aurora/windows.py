"""The windows that Aurora's Aggregate adds to those of oop (Aurora paper, section 5.2.2.2): windows that are given rows
in order of arrival, windows that begin where a predicate holds, and timeouts for both."""

from __future__ import annotations

from typing import ClassVar

import pyarrow as pa

from oop.errors import SchemaMismatch, TimeError
from oop.frozen import frozen
from oop.operators.aurora.arrival_aggregate import ArrivalAggregate
from oop.operators.aurora.opened import Opened
from oop.operators.aurora.timed_aggregate import TimedAggregate
from oop.operators.aurora.timed_opened import TimedOpened
from oop.operators.core.arrival import ARRIVAL
from oop.operators.core.times import duration_in, is_whole
from oop.operators.expressions.expr import Expr
from oop.operators.groups.store_operator import NamedAggregates, can_merge
from oop.operators.windows.bucket import Bucket
from oop.plan.flow import Flow
from oop.punctuation.durations import Duration, show
from oop.punctuation.patterns import Bound
from oop.site import user_line
from oop.windows import TimeWindow, Window
from oop.windows.window import edge_type


@frozen()
class ArrivalWindow(TimeWindow):
    """A window is given its rows in the order of their arrival. With ``disorder``, rows may arrive out of order of the
    attribute, and are given in that order. ``timeout`` is in the clock's unit."""

    timeout: int | None = None
    disorder: bool = False
    accounts: ClassVar[bool] = False

    def aggregated(self, flow: Flow, on: str, keys: tuple[str, ...], functions: NamedAggregates, call: str) -> Flow:
        time = flow.schema.field(on).type
        grid = self.windows(time)
        bucketed = flow.then(Bucket(on, grid, str(self)), f".window({self})", time=on)
        sorts = self.disorder and not can_merge(functions)  # aggregates that merge do not depend on order
        spec = ArrivalAggregate(keys, functions, grid, on, edge_type(time), sorts=sorts)
        if self.timeout is not None:
            _check_no_arrival(flow)
            spec = TimedAggregate(keys, functions, grid, on, edge_type(time), self.timeout, sorts=sorts)
        return bucketed.then(spec, call, time="window_start")


@frozen(eq=False)
class OpenedWindow(Window):
    """A window begins at each row for which ``begins`` holds, and covers ``[its value, + size)``. ``timeout`` is in the
    clock's unit."""

    size: Duration
    begins: Expr
    timeout: int | None = None

    def units(self, time: pa.DataType) -> Bound:
        size = duration_in(self.size, time)
        if size <= 0:
            raise ValueError(f"the size of a window must be greater than 0, not {size}")
        if is_whole(time) and size >= 2**63:
            raise TimeError(f"windows of size {size} do not fit 64-bit times", hint="give a smaller size")
        return size

    def check(self, time: pa.DataType) -> None:
        self.units(time)

    def aggregated(self, flow: Flow, on: str, keys: tuple[str, ...], functions: NamedAggregates, call: str) -> Flow:
        size = self.units(flow.schema.field(on).type)
        spec = Opened(keys, functions, on, size, self.begins)
        if self.timeout is not None:
            _check_no_arrival(flow)
            spec = TimedOpened(keys, functions, on, size, self.begins, self.timeout)
        return flow.then(spec, call, time=on)

    def __str__(self) -> str:
        return f"{show(self.size)} from {self.begins!r}"


def _check_no_arrival(flow: Flow) -> None:
    if ARRIVAL in flow.schema.names:
        raise SchemaMismatch(
            f"a column may not be called {ARRIVAL} where there is a timeout", at=user_line(), hint="rename it"
        )
