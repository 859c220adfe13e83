"""Project (select) and map (with_columns): new columns from expressions (OOP paper, section 5.4).

A bound crosses increasing functions only, and so does a range; ``=`` crosses columns that pass as they are. When a
group column goes, what is left of its promises is the minimum over all groups and the rest. The greatest of several
columns is below v as soon as a promise, joint or about one of them, has no bound under v; the least as soon as each is
(section 7).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import pyarrow as pa

from oop.operators.core.base import Columns, Element, Operator, Passing, Spec
from oop.operators.core.marks import keep_late
from oop.operators.expressions.expr import Col, Expr
from oop.operators.expressions.extremes import least_of_greatests
from oop.operators.expressions.monotone import lower_through
from oop.operators.source.numbers import SEQ
from oop.punctuation import Frontier, GroupPromises, Interest, Punctuation
from oop.punctuation.patterns import Bound
from oop.punctuation.translate import Image, carry, carry_groups, carry_least, carry_promise


@dataclass(frozen=True, eq=False)
class Project(Spec):
    """``columns`` are all columns of the output, in order."""

    columns: tuple[tuple[str, Expr], ...]
    name = "Project"
    passes = True

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        return pa.schema([_field(name, expr, inputs[0]) for name, expr in self.columns])

    def crossing(self, schema: pa.Schema) -> Crossing:
        """How bounds cross, for an input with these columns: a node asks again and again about the same."""
        known = _CROSSINGS.get(self)
        if known is None or known[0] is not schema:
            known = _CROSSINGS[self] = (schema, self._crossing(schema))
        return known[1]

    def _crossing(self, schema: pa.Schema) -> Crossing:
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
        return Crossing(attributes, groups, dict(zip(leasts, every, strict=True)))

    def translate(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> Frontier:
        return self.crossing(inputs[0]).translate(frontiers[0])

    def translate_groups(
        self, promises: GroupPromises, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]
    ) -> Iterable[GroupPromises] | None:
        crossing = self.crossing(inputs[0])
        if crossing.leasts:
            return None
        return carry_groups(promises, crossing.attributes, crossing.groups, among=frontiers[0])

    def interests(self, wanted: Sequence[Interest], inputs: Sequence[pa.Schema]) -> list[list[Interest]]:
        crossing = self.crossing(inputs[0])
        helpful = [i.before(crossing.attributes, crossing.groups) for i in wanted]
        for name, choices in crossing.leasts.items():
            helpful += [i.before(c, crossing.groups) for i in wanted if name in i.uses for c in choices]
        return [helpful]

    def needs(self, wanted: Columns, inputs: Sequence[pa.Schema]) -> list[Columns]:
        return [frozenset().union(*(e.columns() for _, e in self.columns))]

    def with_number(self) -> Spec | None:
        return Project((*self.columns, (SEQ, Col(SEQ))))

    def start(self, inputs: Sequence[pa.Schema]) -> Operator:
        return ProjectOperator(self, inputs)

    def describe(self) -> str:
        shown = [n if isinstance(e, Col) and e.name == n else f"{n}={e!r}" for n, e in self.columns if n != SEQ]
        return f"Project {', '.join(shown)}"

    def promise_note(self) -> str:
        return "bounds cross increasing functions"


@dataclass(frozen=True, eq=False)
class Crossing:
    """Where each input attribute's bounds go, the group columns that survive, and for each column that is the least of
    several, all images once for each of these."""

    attributes: dict[str, list[Image]]
    groups: dict[str, list[str]]
    leasts: dict[str, list[dict[str, list[Image]]]]

    def translate(self, frontier: Frontier) -> Frontier:
        out = carry(frontier, self.attributes, self.groups)
        for choices in self.leasts.values():
            for promise in carry_least(frontier, choices, self.groups).promises():
                out.advance(promise)
        return out

    def translate_promise(self, punct: Punctuation, frontier: Frontier) -> list[Punctuation] | None:
        """None where all promises together decide."""
        return None if self.leasts else carry_promise(punct, self.attributes, self.groups, among=frontier)


_CROSSINGS: WeakKeyDictionary[Project, tuple[pa.Schema, Crossing]] = WeakKeyDictionary()
"""Beside the plans, which are shipped."""


class ProjectOperator(Passing):
    def __init__(self, spec: Project, inputs: Sequence[pa.Schema]) -> None:
        crossing = spec.crossing(inputs[0])  # once: which expressions increase does not change
        super().__init__(spec, inputs, lambda frontiers: crossing.translate(frontiers[0]))
        self.crossing = crossing
        self.columns = spec.columns
        self.output = spec.schema(inputs)

    def process_punctuation(self, punct: Punctuation, port: int = 0) -> Iterator[Element]:
        if self.ports.advance(punct, port):
            yield from self.ports.promises(punct, self.crossing.translate_promise(punct, self.ports.frontiers[0]))

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        arrays = [expr.evaluate(batch) for _, expr in self.columns]
        arrays = [a if a.type == f.type else a.cast(f.type) for a, f in zip(arrays, self.output, strict=True)]
        yield keep_late(pa.RecordBatch.from_arrays(arrays, schema=self.output), batch)


def _field(name: str, expr: Expr, schema: pa.Schema) -> pa.Field:
    if isinstance(expr, Col):
        expr.type(schema)  # raises UnknownColumn
        return schema.field(expr.name).with_name(name)
    return pa.field(name, expr.type(schema))


def _images(name: str, term: Sequence[Expr], schema: pa.Schema) -> dict[str, list[Image]]:
    """Every argument's bound is one on the greatest of them."""
    images: dict[str, list[Image]] = {}
    for expr in term:
        source = expr.increasing_in(schema)
        assert source is not None
        # No range follows for the greatest of several: it may lie in a range in which one of them does not.
        function = (InRanges if len(term) == 1 else Increasing)(expr, schema)
        images.setdefault(source, []).append((name, function))
    return images


class Increasing:
    """An expression that increases in one column, as bounds cross it."""

    __slots__ = ("expr", "schema")

    def __init__(self, expr: Expr, schema: pa.Schema) -> None:
        self.expr, self.schema = expr, schema

    def __call__(self, bound: Bound) -> Bound | None:
        return self.expr.bound_of(bound, self.schema)


class InRanges(Increasing):
    """The same, as ranges cross it too."""

    __slots__ = ()

    def lower(self, low: Bound) -> Bound | None:
        return lower_through(self.expr, low, self.schema)


def _joined(a: dict[str, list[Image]], b: dict[str, list[Image]]) -> dict[str, list[Image]]:
    return {n: a.get(n, []) + b.get(n, []) for n in {**a, **b}}
