"""Makes the specs of Aurora's sorts: `Stream.bsort`, `Stream.wsort`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from oop.operators.assume.order import Order
from oop.operators.aurora.bsort import BSort
from oop.operators.aurora.wsort import WSort
from oop.operators.core.arrival import timeout_in
from oop.plan.flow import Flow
from oop.punctuation.durations import Duration, show
from oop.streams.locating import AtUsersLine
from oop.streams.waiting import check_distinct, time_of


def sorted_by_bubbles(flow: Flow, slack: int, by: str | Iterable[str] | None, on: str | None) -> Flow:
    with AtUsersLine():
        spec = _make_bsort(flow, slack, by, on)
    return flow.then(spec, f".bsort(slack={slack})", time=flow.time)


def sorted_within_timeout(flow: Flow, columns: Sequence[str], timeout: Duration) -> Flow:
    with AtUsersLine():
        spec = _make_wsort(flow, columns, timeout)
    return flow.then(spec, f".wsort({', '.join(columns)})", time=flow.time)


def _make_bsort(flow: Flow, slack: int, by: str | Iterable[str] | None, on: str | None) -> BSort:
    time = time_of(flow, on, "say .bsort(…, on=…)")
    order = Order(time, slack, () if by is None else by)  # refuses an invalid slack
    check_distinct(flow, order.group_by)
    return BSort(order.on, order.slack, order.group_by)


def _make_wsort(flow: Flow, columns: Sequence[str], timeout: Duration) -> WSort:
    if not columns:
        columns = [time_of(flow, None, "name the columns to sort by: .wsort(…)")]
    check_distinct(flow, columns)
    return WSort(tuple(columns), timeout_in(timeout), show(timeout))
