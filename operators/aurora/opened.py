"""Windows that begin at rows: Aurora's Aggregate with a predicate in the place of Advance (Aurora paper, section
5.2.2.2).

"i is an integer or predicate that specifies how to advance the window when it slides" is all that the paper says. Here
a window begins at each row for which the predicate holds, and covers ``[a, a + size)`` of its group, where ``a`` is
that row's value. Rows with the same value begin one window. Which rows are in a window does not depend on their order.
So a row is held as long as a window may cover it, which is while it is not below the first open window or the bound.
`opened_operator.py` has the running operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from oop.operators.aurora.opened_operator import BEGINS, OpenedOperator, ended_below
from oop.operators.core.context import Context
from oop.operators.core.coverage import is_promised
from oop.operators.core.operator import Operator
from oop.operators.core.spec import Spec, UsedColumns
from oop.operators.expressions.expr import Expr
from oop.operators.functions.function import Function
from oop.operators.groups.shape import Shape
from oop.operators.groups.store_operator import describe_groups, unique_schema
from oop.operators.passing.filter import check_predicate
from oop.punctuation import Frontier
from oop.punctuation.crossing import Carried, Crossing
from oop.punctuation.patterns import Bound


@dataclass(frozen=True, eq=False)
class Opened(Spec):
    """``size`` is in the units of the attribute ``on``; ``begins`` is true for rows at which a window begins."""

    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, Function], ...]
    on: str
    size: Bound
    begins: Expr
    name = "Opened"

    def shard_columns(self, inputs: Sequence[pa.Schema]) -> list[tuple[str, ...]] | None:
        return [self.keys] if self.keys else None

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        check_predicate(self.begins, inputs[0])
        unique_schema([*inputs[0], pa.field(BEGINS, pa.bool_())])
        start = inputs[0].field(self.on).remove_metadata()
        return unique_schema([start, *Shape(inputs[0], self.keys, self.aggregates).fields()])

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        starts = {self.on: [(self.on, partial(ended_below, size=self.size))]}
        return Carried(starts, {k: [k] for k in self.keys}, holds=True)

    def needs(self, wanted: UsedColumns, inputs: Sequence[pa.Schema]) -> list[UsedColumns]:
        used = (a.columns() for _, a in self.aggregates)
        return [frozenset({self.on, *self.keys}).union(self.begins.columns(), *used)]

    def blocking(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> str | None:
        return None if is_promised(frontiers[0], self.on, self.keys) else self.on

    def start(self, context: Context) -> Operator:
        return OpenedOperator(self, context)

    def describe(self) -> str:
        return f"{describe_groups('Opened', self.aggregates, self.keys)} of {self.size} from {self.begins!r}"

    def promise_note(self) -> str:
        return f"emits a window when {self.on} < its end is promised"
