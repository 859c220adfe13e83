"""Helpers of `Operator.oldest`, which names the oldest thing that an operator holds back; `Run.blame` begins there."""

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
    """The one of these things, held by several operators of one spec, that would be released first."""
    held = [h for h in found if h is not None]
    return min(held, key=lambda h: min(h.release.below.values(), default=float("inf")), default=None)


def show_window(start: Bound, end: Bound, type_: pa.DataType) -> str:
    """The edges of a window in words."""
    return f"[{show_time(start, type_)}, {show_time(end, type_)})"


def group_at(rows: pa.RecordBatch, row: int, keys: Sequence[str], on: str, frontier: Frontier) -> dict[str, Value]:
    """The values of a row's keys by which the frontier has group-wise promises."""
    return {c: value_at(rows.column(c), row) for c in group_columns(frontier) if c in keys and c != on}


def group_text(group: Mapping[str, Value]) -> str:
    """A group in words, to follow the text of what is held."""
    return f" of {', '.join(f'{c} {Equal(v)}' for c, v in group.items())}" if group else ""


def value_at(column: pa.Array, row: int) -> Value:
    """The value of a row, as promises name it."""
    return of_column(column.slice(row, 1))[0]


def times_at(column: pa.Array) -> list[Bound | None]:
    """The physical time of each row; None where there is no time."""
    valid = views.booleans(column.is_valid())
    out: list[Bound | None] = [None] * len(column)
    for row, time in zip(np.flatnonzero(valid).tolist(), views.times(column.drop_null()).tolist(), strict=True):
        out[row] = None if time != time else time
    return out
