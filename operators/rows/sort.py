"""Sort: rows leave in order of time, once no earlier row can come.

An in-order system sorts at its input; here a sort is used only where the user asks for it (OOP paper, section 2). A row
is held until its time is below the promised bound. Released batches never go back in time.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from oop.frozen import frozen
from oop.operators.core.context import Context
from oop.operators.core.operator import Operator
from oop.operators.core.ordering import check_order
from oop.operators.rows.releasing import Releasing, ReleasingOperator


@frozen(eq=False)
class Sort(Releasing):
    """Rows are sorted by the time ``on``, then by the columns ``ties``, then by arrival."""

    on: str
    ties: tuple[str, ...] = ()
    name = "Sort"
    note = "emits a row when {self.on} < t is promised for all rows"
    needs_order = True

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        for name in self.ties:
            check_order(inputs[0].field(name), "sorting needs")
        return super().schema(inputs)

    def start(self, context: Context) -> Operator:
        return SortOperator(self, context)

    def describe(self) -> str:
        return f"{self.name} by {', '.join((self.on, *self.ties))}"


class SortOperator(ReleasingOperator):
    def leaving(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return rows
