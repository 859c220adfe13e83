"""Aurora's sorts, from what a user writes: `Stream.bsort`, `Stream.wsort`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from oop.operators.assume.order import Order
from oop.operators.aurora.bsort import BSort
from oop.operators.aurora.wsort import WSort
from oop.operators.core.arrival import timeout_in
from oop.punctuation.durations import Duration, show
from oop.streams.waiting import check_columns, time_of

if TYPE_CHECKING:
    from oop.streams.stream import Stream


def make_bsort(stream: Stream, slack: int, by: str | Iterable[str] | None, on: str | None) -> BSort:
    time = time_of(stream, on, "say .bsort(…, on=…)")
    order = Order(time, slack, () if by is None else by)  # refuses what is no slack
    check_columns(stream, order.group_by)
    return BSort(order.on, order.slack, order.group_by)


def make_wsort(stream: Stream, columns: Sequence[str], timeout: Duration) -> WSort:
    if not columns:
        columns = [time_of(stream, None, "name the columns to sort by: .wsort(…)")]
    check_columns(stream, columns)
    return WSort(tuple(columns), timeout_in(timeout), show(timeout))
