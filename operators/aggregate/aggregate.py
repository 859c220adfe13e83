"""Aggregate: WID's second half (OOP paper, section 4.1, A.2.2 and figure A-3).

Rows come tagged with window ids, in any order. When ``wid < W`` is promised, the windows below W go out and are purged,
and the output promises ``window_start < start(W)`` and ``window_end < start(W) + range``, with rows or without. This
file has the spec, and `fields.py` its fields; `operator.py` has the running operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pyarrow as pa

from oop.kernels.steps import ProgramCode
from oop.operators.aggregate.fields import WINDOW_END, WINDOW_START, AggregateFields
from oop.operators.aggregate.hybrid import HybridOperator, may_switch
from oop.operators.aggregate.operator import AggregateOperator, wids_of
from oop.operators.aggregate.panes import PaneCode, has_panes
from oop.operators.core.context import Context
from oop.operators.core.coverage import is_promised
from oop.operators.core.operator import Operator
from oop.operators.core.partials import Partials
from oop.operators.core.writing import ProgramWriter, Unwritten
from oop.operators.groups.shape import Shape
from oop.operators.groups.store_operator import can_merge, describe_groups
from oop.operators.windows.bucket import WID_END, WID_START
from oop.punctuation import Frontier
from oop.punctuation.crossing import Carried, Crossing
from oop.punctuation.translate import Image


class Aggregate(AggregateFields):
    """The spec of an aggregate over windows; `fields.py` says what it is given."""

    name = "Aggregate"
    note = "emits a window when wid < W is promised"

    def shard_columns(self, inputs: Sequence[pa.Schema]) -> list[tuple[str, ...]] | None:
        return [self.keys] if self.keys else None

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        """``wid < w`` becomes bounds on the edges of the windows that are still to come."""
        edges: list[Image] = [(WINDOW_START, self.grid.start), (WINDOW_END, self.grid.end)]
        return Carried({WID_START: edges}, {k: [k] for k in self.keys}, holds=True)

    def early(self) -> tuple[str | None, tuple[str, ...]]:
        return self.on, (WINDOW_START, WINDOW_END, *self.keys)

    def blocking(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> str | None:
        return None if is_promised(frontiers[0], WID_START, self.keys) else self.on

    def write(self, writer: ProgramWriter, inputs: Sequence[pa.Schema]) -> ProgramCode:
        if type(self) is not Aggregate:
            raise Unwritten(f"{self.name} is another operator")
        if self.grid.overlaps:
            raise Unwritten("windows overlap")
        if may_switch(self):
            raise Unwritten("rows may be buffered")
        keys, updates = Shape(inputs[0], self.keys, self.aggregates).write(writer)
        return writer.code(keys, writer.number(WID_START).register, updates)

    def start(self, context: Context) -> Operator:
        return AggregateOperator(self, context) if not may_switch(self) else HybridOperator(self, context)

    def partials(self, inputs: Sequence[pa.Schema]) -> Partials | None:
        if not can_merge(self.aggregates) or (self.grid.overlaps and not has_panes(self.grid)):
            return None
        shape, code = Shape(inputs[0], self.keys, self.aggregates), PaneCode(self.grid)
        if not self.grid.overlaps:
            return Partials(shape, partial(wids_of, name=WID_START), slot_name=WID_START)
        return Partials(
            shape,
            lambda batch: code.encode(wids_of(batch, WID_START), wids_of(batch, WID_END)),
            lambda slot: code.decode(slot)[0],
        )

    def describe(self) -> str:
        forced = "" if self.how == "hybrid" else f" ({self.how})"
        return describe_groups("Aggregate", self.aggregates, self.keys) + forced
