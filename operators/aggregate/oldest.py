"""The oldest window or group that an aggregate holds back, and the least promise that would release it.

Nothing is kept for this: it is looked up when it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from oop.operators.core.coverage import as_int64, group_columns
from oop.operators.core.oldest import group_text, show_window, times_at, value_at
from oop.operators.core.operator import Held
from oop.operators.core.row_text import show_row
from oop.operators.windows.bucket import WID_START
from oop.punctuation import END, Punctuation
from oop.punctuation.patterns import Value
from oop.punctuation.search import above

if TYPE_CHECKING:
    from oop.operators.aggregate.aggregate import AggregateOperator
    from oop.operators.aggregate.group_by import GroupByOperator


def oldest_window(operator: AggregateOperator) -> Held | None:
    """The first open window, with one of its groups; for sliding windows the first pane tells which it is."""
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
            found = int(wids[row]), {c: value_at(keys[c], row) for c in by}
    if found is None:
        return None
    return held_window(operator, *found)


def held_window(operator: AggregateOperator, wid: int, group: Mapping[str, Value] | None = None) -> Held:
    """What is held of a window, or of one group in it."""
    grid, group = operator.grid, group or {}
    what = f"window {show_window(grid.start(wid), grid.end(wid), operator.time)}{group_text(group)}"
    return Held(what, 0, Punctuation({WID_START: wid + 1}, group))


def oldest_group(operator: GroupByOperator) -> Held | None:
    """The group with the least time among those of the first slot that is held."""
    store = operator.store
    if not len(store):
        return None
    table = store.tables[min(store.tables)]
    slots = table.slots()
    rows = np.flatnonzero(slots == slots.min())
    keys = table.key_arrays()
    if not keys:
        return Held("the one group of all rows", 0, END)
    times = {a: times_at(keys[a].take(pa.array(rows))) for a in operator.spec.on}
    first = min(range(len(rows)), key=lambda i: [(t[i] is None, t[i] or 0) for t in times.values()])
    below = {a: above(at) for a, t in times.items() if (at := t[first]) is not None}
    by = [c for c in group_columns(operator.ports.frontiers[0]) if c in keys and c not in below]
    group = {c: value_at(keys[c], int(rows[first])) for c in by}
    what = f"group {show_row(pa.RecordBatch.from_pydict(keys), int(rows[first]))}"
    return Held(what, 0, Punctuation(below, group))
