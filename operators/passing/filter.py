"""Filter: the rows for which a predicate is true; promises pass (OOP paper, section 5.4).

A predicate that is null drops the row, as in SQL. A filter that fixes a group (``link == 'A'``) turns that group's
bound into one for all of its output; so does one that keeps an attribute within a range (``10 <= k < 20``) with what is
promised about that range.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from oop.errors import SchemaMismatch, WrongArgument
from oop.operators.core.base import Columns, Element, Operator, Passing, Spec
from oop.operators.expressions.expr import Expr
from oop.operators.expressions.limits import ranges_of
from oop.punctuation import Frontier, GroupPromises, Interest, Punctuation
from oop.punctuation.group_promises import Promise
from oop.punctuation.patterns import Range, group_value
from oop.punctuation.translate import restrict


@dataclass(frozen=True, eq=False)
class Filter(Spec):
    predicate: Expr
    name = "Filter"
    passes = True

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        check_predicate(self.predicate, inputs[0])
        return inputs[0]

    def translate(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> Frontier:
        return restrict(frontiers[0], self.predicate.fixed(), self._within(inputs[0]))

    def _within(self, schema: pa.Schema) -> dict[str, Range]:
        """The ranges that it keeps columns within."""
        return ranges_of(self.predicate.limits(), schema)

    def translate_promise(
        self, punct: Punctuation, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]
    ) -> Iterable[Punctuation] | None:
        """The rows that pass have the values that it fixes: a promise about them is one about the other columns."""
        if not punct.where:
            return [punct]
        fixed = {c: group_value(v) for c, v in self.predicate.fixed().items() if c in punct.where}
        if self._within(inputs[0]).keys() & (punct.where.keys() - fixed.keys()):
            return None
        if not all(punct.where[c].matches(v) for c, v in fixed.items()):
            return []
        return [Punctuation(punct.below, {c: p for c, p in punct.where.items() if c not in fixed}) if fixed else punct]

    def translate_groups(
        self, promises: GroupPromises, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]
    ) -> Iterable[Promise] | None:
        fixed = self.predicate.fixed().keys() & set(promises.columns)
        if not fixed:
            return [promises]
        if len(promises.columns) > 1:
            return None
        value = group_value(self.predicate.fixed()[promises.columns[0]])
        bound = promises.bounds.get(value)
        return [] if bound is None else [Punctuation({promises.attribute: bound})]

    def needs(self, wanted: Columns, inputs: Sequence[pa.Schema]) -> list[Columns]:
        return [None if wanted is None else wanted | self.predicate.columns()]

    def interests(self, wanted: Sequence[Interest], inputs: Sequence[pa.Schema]) -> list[list[Interest]]:
        within = self._within(inputs[0])
        return [[i.also_by(self.predicate.fixed()).also_ranges(within) for i in wanted]]

    def start(self, inputs: Sequence[pa.Schema]) -> Operator:
        return FilterOperator(self, inputs)

    def describe(self) -> str:
        return f"Filter {self.predicate!r}"

    def promise_note(self) -> str:
        return "promises pass"


class FilterOperator(Passing):
    def __init__(self, spec: Filter, inputs: Sequence[pa.Schema]) -> None:
        super().__init__(spec, inputs)
        self.predicate = spec.predicate

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        kept = batch.filter(self.predicate.evaluate(batch))
        if kept.num_rows:
            yield kept


def check_predicate(predicate: Any, schema: pa.Schema) -> None:
    if not isinstance(predicate, Expr):
        raise WrongArgument(
            f"a predicate is an expression over the columns, not {predicate!r}", hint="write oop.col('Pos') >= 30"
        )
    found = predicate.type(schema)
    if not pa.types.is_boolean(found):
        raise SchemaMismatch(f"a predicate must be true or false; {predicate!r} is {found}")
