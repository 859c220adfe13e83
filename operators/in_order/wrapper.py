"""In order: an operator whose input comes in order of an attribute, and which goes by that instead of by promises.

In a stream that is in order each row says that nothing before it follows (OOP paper, section 2, option 1: order is how
in-order systems learn of progress). So what is open is little: one window of a tumbling aggregate, one session of a
key, the keys of one time in a dedup. What it puts out is in order, too. Promises (heartbeats) still help in a lull.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oop.kernels import views
from oop.operators.core.base import Around, Columns, Element, Held, Holds, Narrowing, Operator, Part, ShowsOpen, Spec
from oop.operators.core.batches import couple
from oop.operators.rows.ordered_rows import check_ascending, load_reached, save_reached, without_place
from oop.punctuation import Frontier, Interest, Punctuation
from oop.punctuation.patterns import Bound


@dataclass(frozen=True, eq=False)
class InOrder(Spec):
    """``of`` is the operator, ``on`` the attribute that its input is in order of, ``out`` the one that its output is
    to be in order of (None: of none)."""

    of: Spec
    on: str
    out: str | None
    note: str = ""
    name = "InOrder"

    @property
    def held_back(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.of.held_back

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        return self.of.schema(inputs)

    def translate(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> Frontier:
        return self.of.translate(frontiers, inputs)

    def interests(self, wanted: Sequence[Interest], inputs: Sequence[pa.Schema]) -> list[list[Interest]]:
        return self.of.interests(wanted, inputs)

    def needs(self, wanted: Columns, inputs: Sequence[pa.Schema]) -> list[Columns]:
        asked = self.of.needs(wanted if wanted is None or self.out is None else wanted | {self.out}, inputs)
        return [None if names is None else names | {self.on} for names in asked]

    def blocking(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> str | None:
        return self.of.blocking(frontiers, inputs)

    def start(self, inputs: Sequence[pa.Schema]) -> Operator:
        inner = self.of.start(inputs)
        narrows = isinstance(inner, Narrowing)
        return _NarrowingInOrder(self, inner) if narrows else InOrderOperator(self, inner)

    def describe(self) -> str:
        return f"in order: {self.of.describe()}"

    def promise_note(self) -> str:
        return self.note


class InOrderOperator(Around):
    def __init__(self, spec: InOrder, of: Any) -> None:
        self.spec, self.of = spec, of
        self.last: Bound = -math.inf

    @property
    def ports(self) -> Any:
        return self.of.ports

    @property
    def late_unused(self) -> int:
        found: int = getattr(self.of, "late_unused", 0)
        return found

    @property
    def buffered_rows(self) -> int:
        found: int = self.of.buffered_rows
        return found

    @property
    def state_bytes(self) -> int:
        found: int = self.of.state_bytes
        return found

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        yield from self._in_order(self.of.process_batch(batch, port))
        values = batch.column(self.spec.on)
        apart = without_place(values)
        values = values if apart is None else values.filter(pc.invert(apart))
        if len(values):
            found = check_ascending(views.times(values), self.last, self.spec.on)
            if found > self.last:
                self.last = found
                yield from self._in_order(self.of.process_punctuation(Punctuation({self.spec.on: found}), port))

    def process_punctuation(self, punct: Punctuation, port: int = 0) -> Iterator[Element]:
        return self._in_order(self.of.process_punctuation(punct, port))

    def _in_order(self, elements: Iterable[Element]) -> Iterator[Element]:
        """Rows that leave together, in order; a promise stays behind the rows that came before it."""
        rows: list[pa.RecordBatch] = []
        for element in elements:
            if isinstance(element, Punctuation):
                yield from self._sorted(rows)
                rows = []
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
        whole, order = couple(rows), np.argsort(np.concatenate(times), kind="stable")
        for start in range(0, len(order), self.batch_rows):
            yield whole.take(pa.array(order[start : start + self.batch_rows]))

    def open_results(self) -> Iterator[pa.RecordBatch]:
        if isinstance(self.of, ShowsOpen):
            yield from self.of.open_results()

    def oldest(self) -> Held | None:
        return self.of.oldest() if isinstance(self.of, Holds) else None

    def save(self) -> Iterator[Part]:
        yield save_reached([self.last])
        yield from self.of.save()

    def load(self, parts: Iterable[Part]) -> None:
        found = dict(parts)
        (self.last,) = load_reached(found, 1)
        self.of.load(found.items())  # which asks for its own parts alone


class _NarrowingInOrder(InOrderOperator):
    def narrow(self, wanted: frozenset[str]) -> None:
        self.of.narrow(wanted if self.spec.out is None else wanted | {self.spec.out})
