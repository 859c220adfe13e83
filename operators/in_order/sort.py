"""Input sort: what an in-order plan has where rows may come out of order (OOP paper, section 5.5: "punctuation can
unblock sort", and the sort of figure 5a).

A row leaves, in order, when the source promises that nothing before it follows: the source's policy decides how long
rows wait. Promises about other attributes cross as far as the rows that wait allow (`operators/in_order/beside.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from oop.operators.core.base import BATCH_ROWS, Columns, Element, Held, Operator, Part, Ports, load_common
from oop.operators.core.batches import cut
from oop.operators.in_order.beside import Beside, asked, crossing, held_note
from oop.operators.in_order.sorted_runs import SortedRuns
from oop.operators.rows.releasing import held_row
from oop.operators.rows.sort import Sort
from oop.punctuation import Frontier, Interest, Punctuation

_ROWS = "rows"


@dataclass(frozen=True, eq=False)
class InputSort(Sort):
    """``beside`` are the other attributes that promises cross about."""

    beside: tuple[str, ...] = ()
    name = "InputSort"
    sorts = True

    @property
    def held_back(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.beside

    def translate(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> Frontier:
        return crossing(frontiers[0], self.on, self.beside)

    def translate_promise(
        self, punct: Punctuation, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]
    ) -> Iterable[Punctuation] | None:
        return None if self.beside else super().translate_promise(punct, frontiers, inputs)

    def interests(self, wanted: Sequence[Interest], inputs: Sequence[pa.Schema]) -> list[list[Interest]]:
        return [asked(wanted, self.on, self.beside)]

    def needs(self, wanted: Columns, inputs: Sequence[pa.Schema]) -> list[Columns]:
        return [None if wanted is None else (wanted & set(inputs[0].names)) | {self.on, *self.beside}]

    def start(self, inputs: Sequence[pa.Schema]) -> Operator:
        return InputSortOperator(self, inputs)

    def describe(self) -> str:
        return f"InputSort by {self.on}"

    def promise_note(self) -> str:
        return f"holds a row until {self.on} < t is promised{held_note(self.beside)}"


class InputSortOperator:
    batch_rows = BATCH_ROWS

    def __init__(self, spec: InputSort, inputs: Sequence[pa.Schema]) -> None:
        self.spec = spec
        self.ports = Ports(spec, inputs)
        self.beside = Beside(self.ports)
        self._use(inputs[0])

    def narrow(self, wanted: frozenset[str]) -> None:
        (schema,) = self.ports.inputs
        self._use(pa.schema([f for f in schema if f.name in wanted | {self.spec.on, *self.spec.beside}]))

    def _use(self, schema: pa.Schema) -> None:
        self.rows = SortedRuns(schema.remove_metadata(), self.spec.on)

    @property
    def buffered_rows(self) -> int:
        return len(self.rows)

    @property
    def state_bytes(self) -> int:
        return self.rows.nbytes

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        self.rows.add(batch)
        yield from ()

    def process_punctuation(self, punct: Punctuation, port: int = 0) -> Iterator[Element]:
        if not self.ports.advance(punct, port):
            return
        frontier = self.ports.frontiers[0]
        bound = frontier.bound(self.spec.on)
        found = None if bound is None else self.rows.take_below(bound)
        if found is not None:
            for start in range(0, found.num_rows, self.batch_rows):
                yield self.rows.released(found.slice(start, self.batch_rows))
        if frontier.ended:
            for rows in self.rows.take_valueless():
                yield from cut(self.rows.released(rows), self.batch_rows)
        yield from self.beside.promises(self.rows.held()) if self.spec.beside else self.ports.promises(punct)

    def open_results(self) -> Iterator[pa.RecordBatch]:
        """The rows that are held and may be below a bound on another attribute."""
        yield from self.rows.held()

    def oldest(self) -> Held | None:
        return held_row(self.rows.least(), len(self.rows), self.spec.on, self.rows.schema)

    def save(self) -> Iterator[Part]:
        yield self.ports.save()
        yield from self.rows.save(_ROWS)

    def load(self, parts: Iterable[Part]) -> None:
        found = dict(parts)
        load_common(found, self.ports)
        self.beside = Beside(self.ports)
        self.rows.load(found, _ROWS)
