"""Describe: promises as its consumers can use them (OOP paper, A.1.1; Tucker's describe operator).

It "filters out punctuation that will not help downstream operators and rolls incoming punctuation up to the
appropriate level". Rows pass. A bound is never rounded: it is held back until it changes something for a consumer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import pyarrow as pa

from oop.errors import UnknownColumn
from oop.frozen import frozen
from oop.operators.core.context import Context
from oop.operators.core.group_values import check_type
from oop.operators.core.operator import Element, Operator, Passing
from oop.operators.core.parts import Part
from oop.operators.core.spec import Spec
from oop.operators.core.times import check_time_type, duration_in
from oop.operators.source.numbers import SEQ, SHOWN
from oop.operators.windows.bucket import WID_START
from oop.punctuation import Gate, Interest
from oop.punctuation.crossing import Crossing, OnlyAsked
from oop.punctuation.durations import Duration, show
from oop.punctuation.group_promises import Advance
from oop.punctuation.patterns import Bound
from oop.punctuation.translate import Image


@frozen(eq=False)
class Describe(Spec):
    """``asked`` are the interests of its consumers; ``every`` is the step as the user wrote it, if one was given."""

    asked: tuple[Interest, ...]
    every: str = ""
    name = "Describe"
    note = "promises are rolled up to what helps"
    reads = frozenset[str]()
    passes = True

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        return OnlyAsked(self.asked)

    def with_number(self) -> Spec | None:
        return replace(self, asked=(*self.asked, Interest(SEQ, by=())))

    def start(self, context: Context) -> Operator:
        return DescribeOperator(self, context)

    def describe(self) -> str:
        shown = " and ".join(dict.fromkeys(str(i) for i in self.asked if i.uses)) or "the end"
        shown = shown.replace(WID_START, "wid").replace(SEQ, SHOWN)  # as the notes of other operators call them
        return f"Describe {shown}" + (f" every {self.every}" if self.every else "")


class DescribeOperator(Passing):
    """Its state is the promises that wait to be rolled up, and those that have been sent."""

    def __init__(self, spec: Describe, context: Context) -> None:
        super().__init__(spec, context)
        self.gate = Gate(spec.asked)
        self._share()

    def _share(self) -> None:
        """Let the gate use the frontiers of the ports, so that saving the ports saves the gate."""
        self.gate.restore(self.ports.out, self.ports.frontiers[0])

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterable[Element]:
        return (batch,)

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        return self.gate.through(advance)

    def load(self, parts: Iterable[Part]) -> None:
        super().load(parts)
        self._share()


def by_hand(attributes: Sequence[str], by: Sequence[str], every: Duration | None, schema: pa.Schema) -> Describe:
    """The Describe that a user asks for: bounds on these attributes, alone or together, each in steps of ``every``."""
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
