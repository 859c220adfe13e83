"""The oldest row or span that a dedup holds back, and the least promise that would release it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from oop.operators.core.oldest import group_at, group_text, times_at
from oop.operators.core.operator import Held
from oop.operators.core.times import show_time
from oop.punctuation import END, Frontier, Punctuation
from oop.punctuation.patterns import Bound
from oop.punctuation.search import above, least_bound

if TYPE_CHECKING:
    from oop.operators.dedup.keyed_times import KeyedTimes
    from oop.operators.dedup.seen_keys import SeenKeys


def oldest_kept(rows: SeenKeys, keys: Sequence[str], frontier: Frontier) -> Held | None:
    """The kept row with the least value of the attribute that it waits for, and the promise that releases it."""
    first = rows.least() if rows.on is not None else None
    times = [] if first is None else times_at(first.column(rows.on))
    at = min((i for i, t in enumerate(times) if t is not None), key=lambda i: times[i] or 0, default=None)
    if at is None or first is None:
        return Held("rows that only the end releases", 0, END) if len(rows) else None
    least = times[at]
    assert least is not None and rows.on is not None
    group = group_at(first, at, keys, rows.on, frontier)
    what = f"the row with {rows.on} = {show_time(least, first.schema.field(rows.on).type)}{group_text(group)}"
    return Held(what, 0, Punctuation({rows.on: above(least)}, group))


def oldest_span(times: KeyedTimes, frontier: Frontier, complete: Callable[[Bound], Bound | None]) -> Held | None:
    """The open span that began first. ``complete`` gives, for a bound, the time before which spans began that get no
    row any more."""
    first = times.first()
    if first is None:
        return None
    began = times_at(first.column(times.time))[0]
    assert began is not None

    def frees(bound: Bound) -> bool:
        moved = complete(bound)
        return moved is not None and moved > began

    bound = least_bound(frees, began)
    group = group_at(first, 0, times.names, times.time, frontier)
    what = f"the span that began at {times.time} = {show_time(began, times.time_type)}{group_text(group)}"
    return Held(what, 0, END if bound is None or bound == float("inf") else Punctuation({times.time: bound}, group))
