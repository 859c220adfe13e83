"""Describe: promises as its consumers can use them (OOP paper, A.1.1; Tucker's describe operator).

It "filters out punctuation that will not help downstream operators and rolls incoming punctuation up to the
appropriate level". Rows pass. A bound is never rounded: it is held back until it changes something for a consumer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from oop.errors import UnknownColumn
from oop.operators.core.base import Columns, Element, Operator, Part, Passing, Spec
from oop.operators.core.group_values import check_type
from oop.operators.core.times import check_time_type, duration_in
from oop.operators.source.numbers import SEQ, SHOWN
from oop.operators.windows.bucket import WID_START
from oop.punctuation import Frontier, Gate, Interest, Punctuation
from oop.punctuation.durations import Duration, show
from oop.punctuation.group_promises import Promise
from oop.punctuation.interest import asked_of
from oop.punctuation.patterns import Bound
from oop.punctuation.translate import Image


@dataclass(frozen=True, eq=False)
class Describe(Spec):
    """``asked`` is what helps its consumers; ``every`` is how the user wrote the step, if there is one by hand."""

    asked: tuple[Interest, ...]
    every: str = ""
    name = "Describe"
    passes = True

    def translate(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> Frontier:
        """As far as promises may go: how much of it has left depends on what helped on the way."""
        return asked_of(frontiers[0], self.asked)

    def interests(self, wanted: Sequence[Interest], inputs: Sequence[pa.Schema]) -> list[list[Interest]]:
        return [list(self.asked)]

    def needs(self, wanted: Columns, inputs: Sequence[pa.Schema]) -> list[Columns]:
        return [wanted]

    def with_number(self) -> Spec | None:
        return replace(self, asked=(*self.asked, Interest(SEQ, by=())))

    def start(self, inputs: Sequence[pa.Schema]) -> Operator:
        return DescribeOperator(self, inputs)

    def describe(self) -> str:
        shown = " and ".join(dict.fromkeys(str(i) for i in self.asked if i.uses)) or "the end"
        shown = shown.replace(WID_START, "wid").replace(SEQ, SHOWN)  # as the notes of other operators call them
        return f"Describe {shown}" + (f" every {self.every}" if self.every else "")

    def promise_note(self) -> str:
        return "promises are rolled up to what helps"


class DescribeOperator(Passing):
    """What it holds are promises: those that wait to be rolled up, and those that have left."""

    def __init__(self, spec: Describe, inputs: Sequence[pa.Schema]) -> None:
        super().__init__(spec, inputs)
        self.gate = Gate(spec.asked)
        self._share()

    def _share(self) -> None:
        """What the gate holds is what is saved, and what the output has promised."""
        self.gate.restore(self.ports.out, self.ports.frontiers[0])

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        yield batch

    def process_punctuation(self, punct: Punctuation, port: int = 0) -> Iterator[Element]:
        return self.process_punctuations([punct], port)

    def process_punctuations(self, train: Sequence[Promise], port: int = 0) -> Iterator[Element]:
        return self.ports.as_they_leave(self.gate.through(train))

    def load(self, parts: Iterable[Part]) -> None:
        super().load(parts)
        self._share()


def by_hand(attributes: Sequence[str], by: Sequence[str], every: Duration | None, schema: pa.Schema) -> Describe:
    """As a user asks for it: bounds on these attributes, alone or together, each in steps of ``every``."""
    for name in (*attributes, *by):
        if name not in schema.names:
            raise UnknownColumn.of(name, schema.names)
    for name in by:
        check_type(schema.field(name).type)
    uses: dict[str, list[Image]] = {}
    for name in attributes:
        type_ = schema.field(name).type
        check_time_type(name, type_)
        step = None if every is None else duration_in(every, type_)
        if step is not None and step <= 0:
            raise ValueError(f"every must be greater than 0, not {step}")
        uses[name] = [(name, None if step is None else partial(_floor, step))]
    return Describe((Interest(uses, by=by),), "" if every is None else show(every))


def _floor(step: Bound, bound: Bound) -> Bound:
    return bound // step
