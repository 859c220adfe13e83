"""Union: rows pass at once, the promise is the meet over the ports (OOP paper, figure A-1).

The only state is what each input has promised.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from oop.errors import SchemaMismatch
from oop.frozen import frozen
from oop.operators.core.context import Context
from oop.operators.core.marks import keep_late
from oop.operators.core.operator import Element, Operator, Passing
from oop.operators.core.spec import Spec
from oop.operators.core.writing import ProgramWriter
from oop.punctuation.crossing import Crossing, Met


@frozen()
class Union(Spec):
    """The rows of all inputs as they come."""

    ports: int
    name = "Union"
    line = "{self.name} of {self.ports}"
    note = "promises the least of its inputs"
    passes = True

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        first = inputs[0]
        for port, other in enumerate(inputs[1:], start=2):
            problem = _difference(first, other)
            if problem:
                raise SchemaMismatch(
                    f"union of {len(inputs)}: input {port} differs from input 1: {problem}",
                    hint="give both the same columns with .select(…) or .with_columns(…cast(…))",
                )
        return first.remove_metadata()

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        return Met(len(inputs))

    def with_number(self) -> Spec | None:
        return None  # each input numbers its own rows

    def write(self, writer: ProgramWriter, inputs: Sequence[pa.Schema]) -> None:
        writer.columns = {name: writer.columns[name] for name in inputs[0].names}

    def start(self, context: Context) -> Operator:
        return UnionOperator(self, context)


class UnionOperator(Passing):
    """ProcessTuple: output t. ProcessPunctuation: output min(b_i) if it is greater than what went out before."""

    def __init__(self, spec: Union, context: Context) -> None:
        super().__init__(spec, context)
        self.output = spec.schema(context.inputs)
        # Inputs may have the same columns in different orders.
        self.aligned = [s.names == self.output.names for s in context.inputs]

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterable[Element]:
        return (batch if self.aligned[port] else keep_late(batch.select(self.output.names), batch),)


def _difference(a: pa.Schema, b: pa.Schema) -> str | None:
    """The first difference in names or types, whatever the order of the columns."""
    for one, other, which in ((a, b, "misses"), (b, a, "has an extra")):
        for name in one.names:
            if name not in other.names:
                return f"it {which} column {name!r}"
    for field in a:
        found = b.field(field.name).type
        if found != field.type:
            return f"column {field.name!r} is {found}, not {field.type}"
    return None
