"""The oldest thing that an operator with groups or rows holds back, and the least promise that would release it.

`Run.blame` begins here. What is asked for is small, so nothing is kept for it: it is looked up when asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from oop.errors import TimeError
from oop.kernels import views
from oop.operators.core.coverage import as_int64, group_columns
from oop.operators.core.group_values import of_column
from oop.operators.core.operator import Held
from oop.operators.core.shown import show_row
from oop.operators.core.times import is_whole, show_time
from oop.operators.join.band import LEFT, RIGHT, SameWindow
from oop.operators.windows.bucket import WID_START
from oop.punctuation import END, Frontier, Punctuation
from oop.punctuation.patterns import Bound, Equal, Value
from oop.punctuation.search import above, least_bound

if TYPE_CHECKING:
    from oop.operators.aggregate.aggregate import AggregateOperator
    from oop.operators.aggregate.group_by import GroupByOperator
    from oop.operators.dedup.keyed_times import KeyedTimes
    from oop.operators.dedup.seen_keys import SeenKeys
    from oop.operators.join.operator import JoinOperator


def oldest_window(operator: AggregateOperator) -> Held | None:
    """The first window that is open, of its groups one; of a sliding window's panes the first tells."""
    frontier = operator.ports.frontiers[0]
    by = [c for c in group_columns(frontier) if c in operator.keys]
    found: tuple[int, dict[str, Value]] | None = None
    for number in sorted(operator.store.tables):
        table = operator.store.tables[number]
        first = number << operator.store.shift
        first = operator.code.decode(first)[0] if operator.sliding else first
        if found is not None and (not by or first >= found[0]):
            break  # later ones begin later
        # of a pane's windows those below the group's bound have gone out
        bounds = operator._bounds(frontier, table) if by else as_int64(frontier.bound(WID_START))
        wids = table.slots()
        if operator.sliding:
            wids = np.maximum(operator.code.decode_all(wids)[0], bounds)
        row = int(np.argmin(wids))
        if found is None or wids[row] < found[0]:
            keys = table.key_arrays()
            found = int(wids[row]), {c: _value(keys[c], row) for c in by}
    if found is None:
        return None
    return held_window(operator, *found)


def held_window(operator: AggregateOperator, wid: int, group: Mapping[str, Value] | None = None) -> Held:
    """A window, of a group."""
    grid, group = operator.grid, group or {}
    what = f"window {show_window(grid.start(wid), grid.end(wid), operator.time)}{_of(group)}"
    return Held(what, 0, Punctuation({WID_START: wid + 1}, group))


def oldest_group(operator: GroupByOperator) -> Held | None:
    """A group of the first slot that is held, of those the one with the least time."""
    store = operator.store
    if not len(store):
        return None
    table = store.tables[min(store.tables)]
    slots = table.slots()
    rows = np.flatnonzero(slots == slots.min())
    keys = table.key_arrays()
    if not keys:
        return Held("the one group of all rows", 0, END)
    times = {a: _times(keys[a].take(pa.array(rows))) for a in operator.spec.on}
    first = min(range(len(rows)), key=lambda i: [(t[i] is None, t[i] or 0) for t in times.values()])
    below = {a: above(at) for a, t in times.items() if (at := t[first]) is not None}
    by = [c for c in group_columns(operator.ports.frontiers[0]) if c in keys and c not in below]
    group = {c: _value(keys[c], int(rows[first])) for c in by}
    what = f"group {show_row(pa.RecordBatch.from_pydict(keys), int(rows[first]))}"
    return Held(what, 0, Punctuation(below, group))


def oldest_row(operator: JoinOperator) -> Held | None:
    """The row with the least point. It is held because of what the other side has not promised."""
    places = {side: place for side in (LEFT, RIGHT) if (place := operator.sides[side].first()) is not None}
    if not places:
        return None
    points = {s: operator.sides[s].table.read(np.array([p]))[1][0].item() for s, p in places.items()}
    side = min(points, key=points.__getitem__)
    own, band, point, other = operator.sides[side], operator.spec.band, points[side], 1 - side
    type_ = operator.given[side].field(operator.spec.times[side]).type
    name = "left" if side == LEFT else "right"
    if isinstance(band, SameWindow):
        near = band.grid.end(point)
        what = f"{name} row in window {show_window(band.grid.start(point), near, type_)}"
    else:
        near = point
        what = f"{name} row at {operator.spec.times[side]} = {show_time(point, type_)}"

    def frees(bound: Bound) -> bool:
        try:
            return band.least_held(side, bound) > point
        except TimeError:  # out of reach of the windows
            return bound > near

    bound = least_bound(frees, near if is_whole(type_) else float(near))
    if bound is None or bound == float("inf"):
        return Held(what, other, END)
    row = np.array([places[side]])
    group = {theirs: _value(own.take([ours], row)[0], 0) for theirs, ours in operator._groups(side).items()}
    return Held(what + _of(group), other, Punctuation({operator.spec.times[other]: bound}, group))


def oldest_kept(rows: SeenKeys, keys: Sequence[str], frontier: Frontier) -> Held | None:
    """Of the rows that dedup keeps the one with the least of what they wait for, as far as its group needs."""
    first = rows.least() if rows.on is not None else None
    times = [] if first is None else _times(first.column(rows.on))
    at = min((i for i, t in enumerate(times) if t is not None), key=lambda i: times[i] or 0, default=None)
    if at is None or first is None:
        return Held("rows that only the end releases", 0, END) if len(rows) else None
    least = times[at]
    assert least is not None and rows.on is not None
    group = _group(first, at, keys, rows.on, frontier)
    what = f"the row with {rows.on} = {show_time(least, first.schema.field(rows.on).type)}{_of(group)}"
    return Held(what, 0, Punctuation({rows.on: above(least)}, group))


def oldest_span(times: KeyedTimes, frontier: Frontier, complete: Callable[[Bound], Bound | None]) -> Held | None:
    """Of the spans that are open the one that began first; ``complete`` says of a bound before which time a span began
    that gets no row any more."""
    first = times.first()
    if first is None:
        return None
    began = _times(first.column(times.time))[0]
    assert began is not None

    def frees(bound: Bound) -> bool:
        moved = complete(bound)
        return moved is not None and moved > began

    bound = least_bound(frees, began)
    group = _group(first, 0, times.names, times.time, frontier)
    what = f"the span that began at {times.time} = {show_time(began, times.time_type)}{_of(group)}"
    return Held(what, 0, END if bound is None or bound == float("inf") else Punctuation({times.time: bound}, group))


def _group(rows: pa.RecordBatch, row: int, keys: Sequence[str], on: str, frontier: Frontier) -> dict[str, Value]:
    """Of a row the keys by which there are promises of groups."""
    return {c: _value(rows.column(c), row) for c in group_columns(frontier) if c in keys and c != on}


def oldest_of(found: Sequence[Held | None]) -> Held | None:
    """Of what several operators of one spec hold, what would be released first."""
    held = [h for h in found if h is not None]
    return min(held, key=lambda h: min(h.release.below.values(), default=float("inf")), default=None)


def show_window(start: Bound, end: Bound, type_: pa.DataType) -> str:
    return f"[{show_time(start, type_)}, {show_time(end, type_)})"


def _of(group: Mapping[str, Value]) -> str:
    return f" of {', '.join(f'{c} {Equal(v)}' for c, v in group.items())}" if group else ""


def _value(column: pa.Array, row: int) -> Value:
    return of_column(column.slice(row, 1))[0]


def _times(column: pa.Array) -> list[Bound | None]:
    """Physical numbers; None where there is no time."""
    valid = views.booleans(column.is_valid())
    out: list[Bound | None] = [None] * len(column)
    for row, time in zip(np.flatnonzero(valid).tolist(), views.times(column.drop_null()).tolist(), strict=True):
        out[row] = None if time != time else time
    return out
