"""Project (select) and map (with_columns): new columns from expressions (paper 004, section 5.4).

A bound crosses increasing functions only; ``=`` crosses columns that pass as they are. When a group column goes, what
is left of its promises is the minimum over all groups and the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from oop.operators.base import Columns, Element, Operator, Passing, Spec
from oop.operators.expressions import Col, Expr
from oop.operators.marks import keep_late
from oop.punctuation import Frontier, Interest, Punctuation
from oop.punctuation.patterns import Bound
from oop.punctuation.translate import Image, carry, carry_promise


@dataclass(frozen=True, eq=False)
class Project(Spec):
    """``columns`` are all columns of the output, in order."""

    columns: tuple[tuple[str, Expr], ...]
    name = "Project"

    def reads(self) -> frozenset[str]:
        return frozenset().union(*(e.columns() for _, e in self.columns))

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        return pa.schema([_field(name, expr, inputs[0]) for name, expr in self.columns])

    def images(self, schema: pa.Schema) -> tuple[dict[str, list[Image]], dict[str, list[str]]]:
        """Where each input attribute's bounds go, and the group columns that survive."""
        attributes: dict[str, list[Image]] = {}
        groups: dict[str, list[str]] = {}
        for name, expr in self.columns:
            if isinstance(expr, Col):
                attributes.setdefault(expr.name, []).append((name, None))
                groups.setdefault(expr.name, []).append(name)
                continue
            source = expr.increasing_in(schema)
            if source is not None:
                attributes.setdefault(source, []).append((name, partial(_move, expr, schema)))
        return attributes, groups

    def translate(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> Frontier:
        return carry(frontiers[0], *self.images(inputs[0]))

    def interests(self, wanted: Sequence[Interest], inputs: Sequence[pa.Schema]) -> list[list[Interest]]:
        attributes, _ = self.images(inputs[0])
        helpful: list[Interest] = []
        for source, images in attributes.items():
            for name, function in images:
                for interest in wanted:
                    if interest.attribute == name:
                        # behind a function the steps fall elsewhere: then every advance may help
                        helpful.append(Interest(source, interest.step if function is None else None))
        return [helpful]

    def needs(self, wanted: Columns, inputs: Sequence[pa.Schema]) -> list[Columns]:
        return [self.reads()]

    def start(self, inputs: Sequence[pa.Schema]) -> Operator:
        return ProjectOperator(self, inputs)

    def describe(self) -> str:
        shown = [n if isinstance(e, Col) and e.name == n else f"{n}={e!r}" for n, e in self.columns]
        return f"Project {', '.join(shown)}"

    def promise_note(self) -> str:
        return "bounds cross increasing functions"


class ProjectOperator(Passing):
    def __init__(self, spec: Project, inputs: Sequence[pa.Schema]) -> None:
        images = spec.images(inputs[0])  # once: which expressions increase does not change
        super().__init__(spec, inputs, lambda frontiers: carry(frontiers[0], *images))
        self.images = images
        self.columns = spec.columns
        self.output = spec.schema(inputs)

    def process_punctuation(self, punct: Punctuation, port: int = 0) -> Iterator[Element]:
        if self.ports.advance(punct, port):
            yield from self.ports.promises(punct, carry_promise(punct, *self.images))

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        arrays = [expr.evaluate(batch) for _, expr in self.columns]
        arrays = [a if a.type == f.type else a.cast(f.type) for a, f in zip(arrays, self.output, strict=True)]
        yield keep_late(pa.RecordBatch.from_arrays(arrays, schema=self.output), batch)


def _field(name: str, expr: Expr, schema: pa.Schema) -> pa.Field:
    if isinstance(expr, Col):
        expr.type(schema)  # raises UnknownColumn
        return schema.field(expr.name).with_name(name)
    return pa.field(name, expr.type(schema))


def _move(expr: Expr, schema: pa.Schema, bound: Bound) -> Bound | None:
    return expr.bound_of(bound, schema)
