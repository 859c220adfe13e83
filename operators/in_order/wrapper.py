"""InOrder: wraps an operator whose input is in order of an attribute, and takes that order as progress.

In an ordered stream each row says that no earlier row follows (OOP paper, section 2, option 1: order is how in-order
systems learn of progress). So little is open at a time: one window of a tumbling aggregate, one session of a key, the
keys of one time in a dedup. The output is in order, too. Promises (heartbeats) still help in a lull.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oop.frozen import frozen
from oop.kernels import views
from oop.kernels.dictionaries import concat_batches
from oop.kernels.steps import ProgramCode
from oop.operators.core.context import Context
from oop.operators.core.operator import Around, Element, Operator
from oop.operators.core.parts import Part
from oop.operators.core.spec import Spec, UsedColumns
from oop.operators.core.writing import ProgramWriter, RowsCode, Unwritten
from oop.operators.rows.ordered_rows import check_ascending, load_reached, save_reached, without_place
from oop.operators.windows.bucket import WID_START
from oop.punctuation import Frontier, Punctuation
from oop.punctuation.crossing import Crossing
from oop.punctuation.group_promises import Advance
from oop.punctuation.patterns import Bound


@frozen(eq=False)
class InOrder(Spec):
    """``of`` is the wrapped operator, ``on`` the attribute that orders its input, ``out`` the attribute that is to
    order its output (None: the output is in no order)."""

    of: Spec
    on: str
    out: str | None
    note: str = ""
    name = "InOrder"
    needs_order = True

    @property
    def held_back(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.of.held_back

    def with_inner(self, change: Callable[[Any], Any]) -> Spec:
        return replace(self, of=change(self.of))

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        return self.of.schema(inputs)

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        return self.of.crossing(inputs)

    def needs(self, wanted: UsedColumns, inputs: Sequence[pa.Schema]) -> list[UsedColumns]:
        asked = self.of.needs(self.used(wanted), inputs)
        return [None if names is None else names | {self.on} for names in asked]

    def used(self, wanted: UsedColumns) -> UsedColumns:
        """The columns of the wrapped operator's output that are used, if the consumers want these."""
        return wanted if wanted is None or self.out is None else wanted | {self.out}

    def blocking(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> str | None:
        return self.of.blocking(frontiers, inputs)

    def write(self, writer: ProgramWriter, inputs: Sequence[pa.Schema]) -> ProgramCode | RowsCode | None:
        """Only for windows of many times: where each time ends groups, sessions or keys, as many leave as come, and a
        program would not make that faster."""
        if self.on != WID_START:
            raise Unwritten("in order each time ends what it holds")
        writer.parts = False  # one thread takes all rows
        writer.wanted = self.used(writer.wanted)
        writer.ascend(self.on)
        return self.of.write(writer, inputs)

    def start(self, context: Context) -> Operator:
        return InOrderOperator(self, context)

    def describe(self) -> str:
        return f"in order: {self.of.describe()}"


class InOrderOperator(Around):
    """``left`` are the promises that have been sent. They lag behind the promises of the wrapped operator: rows that
    are put in order leave after it has promised, and before the promise is sent."""

    def __init__(self, spec: InOrder, context: Context) -> None:
        super().__init__(spec.of.start(replace(context, wanted=spec.used(context.wanted))))
        self.spec = spec
        self.last: Bound = -math.inf
        self.left = Frontier()

    @property
    def promised(self) -> Frontier:
        return self.left

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        yield from self._in_order(self.of.process_batch(batch, port))
        values = batch.column(self.spec.on)
        apart = without_place(values)
        values = values if apart is None else values.filter(pc.invert(apart))
        if len(values):
            yield from self.reach(check_ascending(views.times(values), self.last, self.spec.on), port)

    def reach(self, found: Bound, port: int = 0) -> Iterator[Element]:
        """What leaves because rows have come up to this value, here or by a program."""
        if found > self.last:
            self.last = found
            yield from self._in_order(self.of.process_punctuation([Punctuation({self.spec.on: found})], port))

    def targets(self) -> Any:
        return self.of.targets()

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        return self._in_order(self.of.process_punctuation(advance, port))

    def _in_order(self, elements: Iterable[Element]) -> Iterator[Element]:
        """Put rows that leave together in order. A promise stays behind the rows that came before it."""
        rows: list[pa.RecordBatch] = []
        for element in elements:
            if not isinstance(element, pa.RecordBatch):
                yield from self._sorted(rows)
                rows = []
                self.left.take(element)
                yield element
            elif element.num_rows:
                rows.append(element)
        yield from self._sorted(rows)

    def _sorted(self, rows: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        out = self.spec.out
        if out is None or not rows or any(batch.column(out).null_count for batch in rows):
            yield from rows
            return
        times = [views.times(batch.column(out)) for batch in rows]
        joins = zip(times[1:], times[:-1], strict=True)
        if all((t[1:] >= t[:-1]).all() for t in times) and all(b[0] >= a[-1] for b, a in joins):
            yield from rows
            return
        whole, order = concat_batches(rows), np.argsort(np.concatenate(times), kind="stable")
        for start in range(0, len(order), self.batch_rows):
            yield whole.take(pa.array(order[start : start + self.batch_rows]))

    def save(self) -> Iterator[Part]:
        yield save_reached([self.last])
        yield from self.of.save()

    def load(self, parts: Iterable[Part]) -> None:
        found = dict(parts)
        (self.last,) = load_reached(found, 1)
        self.of.load(found.items())  # it looks only at its own parts
        self.left = self.of.promised.copy()
