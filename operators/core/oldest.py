"""What operators share that say which of the things that they hold back is the oldest; `Run.blame` begins there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.core.coverage import group_columns
from oop.operators.core.group_values import of_column
from oop.operators.core.operator import Held
from oop.operators.core.times import show_time
from oop.punctuation import Frontier
from oop.punctuation.patterns import Bound, Equal, Value


def oldest_of(found: Sequence[Held | None]) -> Held | None:
    """Of what several operators of one spec hold, what would be released first."""
    held = [h for h in found if h is not None]
    return min(held, key=lambda h: min(h.release.below.values(), default=float("inf")), default=None)


def show_window(start: Bound, end: Bound, type_: pa.DataType) -> str:
    """The edges of a window in words."""
    return f"[{show_time(start, type_)}, {show_time(end, type_)})"


def group_at(rows: pa.RecordBatch, row: int, keys: Sequence[str], on: str, frontier: Frontier) -> dict[str, Value]:
    """Of a row the keys by which there are promises of groups."""
    return {c: value_at(rows.column(c), row) for c in group_columns(frontier) if c in keys and c != on}


def of_group(group: Mapping[str, Value]) -> str:
    """A group in words, behind what is held of it."""
    return f" of {', '.join(f'{c} {Equal(v)}' for c, v in group.items())}" if group else ""


def value_at(column: pa.Array, row: int) -> Value:
    """The value of a row, as promises have it."""
    return of_column(column.slice(row, 1))[0]


def times_at(column: pa.Array) -> list[Bound | None]:
    """Physical numbers; None where there is no time."""
    valid = views.booleans(column.is_valid())
    out: list[Bound | None] = [None] * len(column)
    for row, time in zip(np.flatnonzero(valid).tolist(), views.times(column.drop_null()).tolist(), strict=True):
        out[row] = None if time != time else time
    return out
