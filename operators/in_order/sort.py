"""Input sort: puts rows in order where an in-order plan may get them out of order (OOP paper, section 5.5: "punctuation
can unblock sort", and the sort of figure 5a).

Rows leave in order, each when the source promises that no earlier row follows. So the source's policy decides how long
rows wait. Promises about other attributes cross as far as the waiting rows allow (`operators/in_order/beside.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from oop.frozen import frozen
from oop.operators.core.batches import cut
from oop.operators.core.context import Context
from oop.operators.core.operator import Element, Held, Kept, Operator
from oop.operators.core.parts import Part
from oop.operators.in_order.buffering import Buffering, BufferingOperator
from oop.operators.in_order.sorted_runs import SortedRuns
from oop.operators.rows.releasing import held_row
from oop.operators.rows.sort import Sort
from oop.punctuation.crossing import Crossing
from oop.punctuation.group_promises import Advance

_ROWS = "rows"


@frozen(eq=False)
class InputSort(Buffering, Sort):
    """``beside`` are the other attributes that promises cross about."""

    beside: tuple[str, ...] = ()
    name = "InputSort"
    note = "holds a row until {self.on} < t is promised"

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        return super().crossing(inputs) if self.beside else Sort.crossing(self, inputs)

    def start(self, context: Context) -> Operator:
        return InputSortOperator(self, context)


class InputSortOperator(BufferingOperator):
    def __init__(self, spec: InputSort, context: Context) -> None:
        super().__init__(spec, context)
        (needed,) = spec.needs(context.wanted, context.inputs)
        self.rows = SortedRuns(context.held(needed), spec.on)

    def kept(self) -> Iterable[Kept]:
        return (self.rows,)

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterable[Element]:
        self.rows.add(batch)
        return ()

    def released(self, new: Advance, port: int) -> Iterator[Element]:
        frontier = self.ports.frontiers[0]
        bound = frontier.bound(self.spec.on)
        found = None if bound is None else self.rows.take_below(bound)
        if found is not None:
            for start in range(0, found.num_rows, self.batch_rows):
                yield self.rows.released(found.slice(start, self.batch_rows))
        if frontier.ended:
            for rows in self.rows.take_valueless():
                yield from cut(self.rows.released(rows), self.batch_rows)
        yield from self.beside.promises(self.rows.held()) if self.spec.beside else self.ports.promises(new)

    def open_results(self) -> Iterator[pa.RecordBatch]:
        yield from self.rows.held()

    def oldest(self) -> Held | None:
        return held_row(self.rows.least(), len(self.rows), self.spec.on, self.rows.schema)

    def save(self) -> Iterator[Part]:
        yield self.ports.save()
        yield from self.rows.save(_ROWS)

    def load(self, parts: Iterable[Part]) -> None:
        found = self.load_common(parts)
        self.rows.load(found, _ROWS)
