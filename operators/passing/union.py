"""Union: rows pass at once, the promise is the meet over the ports (OOP paper, figure A-1).

The only state is what each input has promised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa

from oop.errors import SchemaMismatch
from oop.operators.core.base import Element, Operator, Passing, Spec
from oop.operators.core.marks import keep_late
from oop.punctuation import Corners, Equal, Frontier, GroupPromises, Punctuation
from oop.punctuation.patterns import Bound, Value


@dataclass(frozen=True)
class Union(Spec):
    ports: int
    name = "Union"
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

    def translate(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> Frontier:
        return Frontier.meet(frontiers)

    def translate_promise(
        self, punct: Punctuation, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]
    ) -> Iterable[Punctuation] | None:
        """A promise about a group moves that group's meet alone, unless promises about other columns cut through it.

        One about all rows moves every group's.
        """
        groups = {c: p.value for c, p in punct.where.items() if isinstance(p, Equal)}
        named = {c for f in frontiers for c in (*((column,) for column in f.by), *f.across.cells)}
        if (
            any(f.across.mixed or f.ranges for f in frontiers)
            or len(groups) < len(punct.where)
            or named - {tuple(sorted(groups))}
        ):
            return None
        corners = reduce(Corners.meet, (f.at(groups) for f in frontiers))
        return [Punctuation(corner, punct.where) for corner in corners]

    def translate_groups(
        self, promises: GroupPromises, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]
    ) -> Iterable[GroupPromises] | None:
        """Of each group the least over the inputs, as long as nothing else is said of groups."""
        columns, attribute = promises.columns, promises.attribute
        least: dict[Value, Bound] = dict(promises.bounds)
        for frontier in frontiers:
            if frontier.ended:
                continue
            bounds = frontier.bounds_by(columns, attribute)
            if bounds is None:
                return None
            everyone = frontier.all.linear.get(attribute)
            least = {g: min(b, here) for g, b in least.items() if (here := bounds.get(g, everyone)) is not None}
        return [GroupPromises(columns, attribute, least)] if least else []

    def with_number(self) -> Spec | None:
        return None  # each input counts for itself

    def start(self, inputs: Sequence[pa.Schema]) -> Operator:
        return UnionOperator(self, inputs)

    def describe(self) -> str:
        return f"Union of {self.ports}"

    def promise_note(self) -> str:
        return "promises the least of its inputs"


class UnionOperator(Passing):
    """ProcessTuple: output t. ProcessPunctuation: output min(b_i) if it is greater than what went out before."""

    def __init__(self, spec: Union, inputs: Sequence[pa.Schema]) -> None:
        super().__init__(spec, inputs)
        self.output = spec.schema(inputs)
        # columns in another order are the same columns
        self.aligned = [s.names == self.output.names for s in inputs]

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        yield batch if self.aligned[port] else keep_late(batch.select(self.output.names), batch)


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
