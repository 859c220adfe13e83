"""Filter: the rows for which a predicate is true; promises pass (OOP paper, section 5.4).

A predicate that is null drops the row, as in SQL. A filter that fixes a group (``link == 'A'``) turns that group's
bound into a bound for its whole output. A filter that keeps an attribute within a range (``10 <= k < 20``) does the
same with a promise about that range.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from oop.errors import SchemaMismatch, WrongArgument
from oop.frozen import frozen
from oop.operators.core.compute import compute as pc
from oop.operators.core.context import Context
from oop.operators.core.operator import Element, Operator, Passing
from oop.operators.core.spec import PassingSpec
from oop.operators.core.writing import ProgramWriter
from oop.operators.expressions.expr import Expr
from oop.operators.expressions.limits import ranges_of
from oop.operators.expressions.program import Program
from oop.operators.expressions.written import write
from oop.punctuation.crossing import Crossing, Restricted


@frozen(eq=False)
class Filter(PassingSpec):
    """Passes the rows for which the predicate is true."""

    predicate: Expr
    name = "Filter"
    line = "Filter {self.predicate!r}"

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        check_predicate(self.predicate, inputs[0])
        return inputs[0]

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        return Restricted(self.predicate.fixed(), ranges_of(self.predicate.limits(), inputs[0]))

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        return self.predicate.columns()

    def write(self, writer: ProgramWriter, inputs: Sequence[pa.Schema]) -> None:
        writer.filter(write(writer, self.predicate).register)

    def start(self, context: Context) -> Operator:
        return FilterOperator(self, context)


class FilterOperator(Passing):
    def __init__(self, spec: Filter, context: Context) -> None:
        super().__init__(spec, context)
        self.passes = Program(spec.predicate)
        self.filter = pc.get_function("filter")  # `batch.filter` calls it through several Python functions

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterable[Element]:
        kept = self.filter.call([batch, self.passes.evaluate(batch)])
        return (kept,) if kept.num_rows else ()


def check_predicate(predicate: Any, schema: pa.Schema) -> None:
    if not isinstance(predicate, Expr):
        raise WrongArgument(
            f"a predicate is an expression over the columns, not {predicate!r}", hint="write oop.col('Pos') >= 30"
        )
    found = predicate.type(schema)
    if not pa.types.is_boolean(found):
        raise SchemaMismatch(f"a predicate must be true or false; {predicate!r} is {found}")
