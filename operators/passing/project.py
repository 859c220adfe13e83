"""Project (select) and map (with_columns): new columns from expressions (OOP paper, section 5.4).

Bounds and ranges cross increasing functions only; ``=`` crosses columns that pass unchanged. If a group column is
dropped, the minimum over all its groups and the rest is left of its promises. A bound ``v`` on the greatest of
several columns follows from a promise, joint or about one of them, whose bounds are all at least v; a bound on the
least follows once each column has one (section 7).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from oop.frozen import frozen
from oop.operators.core.context import Context
from oop.operators.core.marks import keep_late
from oop.operators.core.operator import Element, Operator, Passing
from oop.operators.core.spec import Spec, UsedColumns
from oop.operators.core.writing import ProgramWriter
from oop.operators.expressions.expr import Col, Expr
from oop.operators.expressions.extremes import least_of_greatests
from oop.operators.expressions.monotone import lower_through
from oop.operators.expressions.program import Program
from oop.operators.expressions.written import write
from oop.operators.source.numbers import SEQ
from oop.punctuation.crossing import Carried
from oop.punctuation.patterns import Bound
from oop.punctuation.translate import Image


@frozen(eq=False)
class Project(Spec):
    """``columns`` are all columns of the output, in order."""

    columns: tuple[tuple[str, Expr], ...]
    name = "Project"
    note = "bounds cross increasing functions"
    passes = True

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        return pa.schema([_field(name, expr, inputs[0]) for name, expr in self.columns])

    def crossing(self, inputs: Sequence[pa.Schema]) -> Carried:
        (schema,) = inputs
        attributes: dict[str, list[Image]] = {}
        groups: dict[str, list[str]] = {}
        leasts: dict[str, list[dict[str, list[Image]]]] = {}
        for name, expr in self.columns:
            if isinstance(expr, Col):
                attributes.setdefault(expr.name, []).append((name, None))
                groups.setdefault(expr.name, []).append(name)
                continue
            choices = [_images(name, term, schema) for term in least_of_greatests(expr, schema) or ()]
            if len(choices) == 1:
                attributes = _joined(attributes, choices[0])
            elif choices:
                leasts[name] = choices
        every = [[_joined(attributes, choice) for choice in choices] for choices in leasts.values()]
        return Carried(attributes, groups, least=dict(zip(leasts, every, strict=True)))

    def needs(self, wanted: UsedColumns, inputs: Sequence[pa.Schema]) -> list[UsedColumns]:
        return [frozenset().union(*(e.columns() for _, e in self.columns))]

    def with_number(self) -> Spec | None:
        return Project((*self.columns, (SEQ, Col(SEQ))))

    def write(self, writer: ProgramWriter, inputs: Sequence[pa.Schema]) -> None:
        writer.columns = {
            name: writer.columns[expr.name] if isinstance(expr, Col) else write(writer, expr)
            for name, expr in self.columns
        }

    def start(self, context: Context) -> Operator:
        return ProjectOperator(self, context)

    def describe(self) -> str:
        shown = [n if isinstance(e, Col) and e.name == n else f"{n}={e!r}" for n, e in self.columns if n != SEQ]
        return f"Project {', '.join(shown)}"


class ProjectOperator(Passing):
    def __init__(self, spec: Project, context: Context) -> None:
        super().__init__(spec, context)
        self.output = spec.schema(context.inputs)
        # Columns that pass unchanged are given by name, others by the program that computes them.
        sources = [expr.name if isinstance(expr, Col) else Program(expr) for _, expr in spec.columns]
        self.columns = list(zip(sources, self.output.types, strict=True))

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterable[Element]:
        arrays = []
        for source, type_ in self.columns:
            array = batch.column(source) if isinstance(source, str) else source.evaluate(batch)
            arrays.append(array if array.type == type_ else array.cast(type_))
        return (keep_late(pa.RecordBatch.from_arrays(arrays, schema=self.output), batch),)


def _field(name: str, expr: Expr, schema: pa.Schema) -> pa.Field:
    if isinstance(expr, Col):
        expr.type(schema)  # raises UnknownColumn
        return schema.field(expr.name).with_name(name)
    return pa.field(name, expr.type(schema))


def _images(name: str, term: Sequence[Expr], schema: pa.Schema) -> dict[str, list[Image]]:
    """The images of the arguments' bounds: each is a bound on the greatest of the arguments."""
    images: dict[str, list[Image]] = {}
    for expr in term:
        source = expr.increasing_in(schema)
        assert source is not None
        # No promise about a range follows for the greatest of several: it may be in a range that one of them is not in.
        function = (InRanges if len(term) == 1 else Increasing)(expr, schema)
        images.setdefault(source, []).append((name, function))
    return images


class Increasing:
    """The function by which bounds cross an expression that increases in one column."""

    __slots__ = ("expr", "schema")

    def __init__(self, expr: Expr, schema: pa.Schema) -> None:
        self.expr, self.schema = expr, schema

    def __call__(self, bound: Bound) -> Bound | None:
        return self.expr.bound_of(bound, self.schema)


class InRanges(Increasing):
    """Like `Increasing`, but ranges cross too."""

    __slots__ = ()

    def low_end(self, low: Bound) -> Bound | None:
        return lower_through(self.expr, low, self.schema)


def _joined(a: dict[str, list[Image]], b: dict[str, list[Image]]) -> dict[str, list[Image]]:
    return {n: a.get(n, []) + b.get(n, []) for n in {**a, **b}}
