"""Split: Aurora's Filter(P1, …, Pm) with m+1 outputs (Aurora paper, section 5.1; figure 3 of the OOP paper).

A row goes to the output of the first predicate that is true for it, else to the last output. A predicate is evaluated
only for the rows that no earlier one took, so a cheap one in front spares an expensive one behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from oop.frozen import frozen
from oop.operators.core.compute import compute as pc
from oop.operators.core.context import Context
from oop.operators.core.marks import mark_route
from oop.operators.core.operator import Element, Operator, Passing
from oop.operators.core.spec import Spec
from oop.operators.expressions.expr import Expr
from oop.operators.expressions.program import Program
from oop.operators.passing.filter import check_predicate


@frozen(eq=False)
class Split(Spec):
    """Each row goes to the output of the first predicate that takes it, and to the last output where none does."""

    predicates: tuple[Expr, ...]
    name = "Split"
    note = "promises go to every output"
    passes = True

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        for predicate in self.predicates:
            check_predicate(predicate, inputs[0])
        return inputs[0]

    def start(self, context: Context) -> Operator:
        return SplitOperator(self, context)

    def describe(self) -> str:
        return f"Split {' | '.join(map(repr, self.predicates))} | else"


class SplitOperator(Passing):
    def __init__(self, spec: Split, context: Context) -> None:
        super().__init__(spec, context)
        self.predicates = list(map(Program, spec.predicates))

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        left = batch
        for route, predicate in enumerate(self.predicates):
            taken = pc.fill_null(predicate.evaluate(left), False)
            yield from _routed(left.filter(taken), route)
            left = left.filter(pc.invert(taken))
            if not left.num_rows:
                return
        yield from _routed(left, len(self.predicates))


def _routed(batch: pa.RecordBatch, route: int) -> Iterator[pa.RecordBatch]:
    if batch.num_rows:
        yield mark_route(batch, route)
