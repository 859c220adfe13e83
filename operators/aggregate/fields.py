"""The fields of `Aggregate`, and what its running operators ask of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import pyarrow as pa

from oop.frozen import frozen
from oop.operators.aggregate.flush import Flush
from oop.operators.core.spec import UsedColumns
from oop.operators.functions.function import Function
from oop.operators.groups.aggregating import AggregatingSpec
from oop.operators.groups.shape import Shape
from oop.operators.groups.store_operator import (
    unique_schema,
)
from oop.operators.windows.bucket import WID_END, WID_START
from oop.operators.windows.windows import Windows

WINDOW_START, WINDOW_END = "window_start", "window_end"


@frozen(eq=False)
class AggregateFields(AggregatingSpec):
    """``on`` is the windowed attribute, and ``grid`` the windows in its units; ``how`` may force one implementation."""

    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, Function], ...]
    grid: Windows
    on: str
    time: pa.DataType
    flush: Flush | bool | None = field(default=None, kw_only=True)
    """How its rows are preaggregated, or whether, if the user said so."""
    how: str = field(default="hybrid", kw_only=True)  # or "incremental" or "buffered"

    @property
    def forbids_partials(self) -> bool:
        return self.flush is False

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        fields = [pa.field(WINDOW_START, self.time), pa.field(WINDOW_END, self.time)]
        return unique_schema(fields + Shape(inputs[0], self.keys, self.aggregates).fields())

    def needs(self, wanted: UsedColumns, inputs: Sequence[pa.Schema]) -> list[UsedColumns]:
        wids = {WID_START} if self.grid.tumbles else {WID_START, WID_END}
        return [frozenset(self.keys).union(wids, *(a.columns() for _, a in self.aggregates))]
