"""Preaggregate: the low-level half of two-level aggregation (OOP paper, section 6 and figure 7).

It stands before an aggregate, the high-level half, and reduces rows to partial aggregates in a table of a fixed size,
or, where no size is given and no promise may wait, holds all groups (`gathering_operator.py`). In a table a partial
aggregate that is in the way of another goes out, and the high-level half rolls it up, so the answer is the same
whatever the size. In order, partials of a new window may go out only behind all old ones, which makes a burst
(figure 7). Out of order no partial waits for another: old ones leave when others need their slots (lazy-flush), or the
oldest one every i rows (slow-flush), and at the latest when they are m windows old. Partials that are held lower the
bound: ``wid < min(W, least held)``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from oop.frozen import frozen
from oop.kernels.steps import ProgramCode
from oop.operators.aggregate.aggregate import Aggregate
from oop.operators.aggregate.flush import Flush
from oop.operators.aggregate.gathering_operator import GatheringOperator
from oop.operators.aggregate.low_level import PreaggregateBase
from oop.operators.aggregate.reducing import HERE, Reducing
from oop.operators.core.context import Context
from oop.operators.core.coverage import INT64_MIN, as_int64
from oop.operators.core.operator import Element, Operator
from oop.operators.core.parts import Part, read_text, text_part
from oop.operators.core.spec import Spec
from oop.operators.core.writing import ProgramWriter, Unwritten
from oop.operators.windows.bucket import WID_START
from oop.punctuation.crossing import Carried, Crossing
from oop.punctuation.group_promises import Advance

_TABLE, _STATE = "table", "state"


@frozen(eq=False)
class Preaggregate(Spec):
    """``of`` is the aggregate behind it."""

    of: Aggregate
    flush: Flush
    in_order: bool = False
    name = "Preaggregate"
    note = "wid < W becomes wid < min(W, least held); asked for"
    reads = frozenset[str]()
    held_back = (WID_START,)

    def with_inner(self, change: Callable[[Any], Any]) -> Spec:
        return replace(self, of=change(self.of))

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        return Carried({WID_START: [(WID_START, None)]}, {k: [k] for k in self.of.keys}, holds=True)

    @property
    def holds_all_groups(self) -> bool:
        """Are all groups held until their window is complete, so that no slot is ever contested?"""
        flush = self.flush
        return flush.slots is None and not (flush.m or flush.i or self.in_order or self.of.grid.overlaps)

    def write(self, writer: ProgramWriter, inputs: Sequence[pa.Schema]) -> ProgramCode:
        if not self.holds_all_groups:
            raise Unwritten("its table lets partials make way for others")
        writer.parts = False  # rows are parted when they are reduced
        return self.of.write(writer, inputs)

    def start(self, context: Context) -> Operator:
        if self.holds_all_groups:
            return GatheringOperator(self, context, self.of)
        return PreaggregateOperator(self, context)

    def describe(self) -> str:
        return f"Preaggregate {self.flush if not self.in_order else self._in_order}"

    @property
    def _in_order(self) -> str:
        size = "sized as it runs" if self.flush.slots is None else f"{self.flush.slots:,} slots"
        return f"in-order slow-flush, {size}, at most 1 window late"


class PreaggregateOperator(PreaggregateBase):
    def __init__(self, spec: Preaggregate, context: Context) -> None:
        super().__init__(spec, context, spec.of, 1 if spec.in_order else spec.flush.m)
        self.spec = spec
        self.reducing = Reducing(self.partials, spec.flush, HERE, spec.in_order)
        self.reducing.batch_rows = context.batch_rows
        self._saved = False

    @property
    def buffered_rows(self) -> int:
        return 0 if self.reducing.table is None else len(self.reducing.table)

    @property
    def state_bytes(self) -> int:
        return 0 if self.reducing.table is None else self.reducing.table.nbytes

    @property
    def note(self) -> str:  # type: ignore[override]
        return self.reducing.note

    @property
    def panes(self) -> Collection[int]:
        return () if self.reducing.table is None else self.reducing.table.panes

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        yield from self.reducing.take(batch)
        yield from self.promises()  # partials that have left may have held a promise back

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        if not self.ports.advance(advance, port):
            return
        frontier = self.ports.frontiers[0]
        if frontier.ended or not frontier.is_linear:  # it is not known what the table holds of single groups
            yield from self.reducing.drain()
        else:
            bound = as_int64(frontier.bound(WID_START))
            self.reducing.advance(self._pane_of(bound))
            yield from self.reducing.flush(self._pane_of(bound - self.m))  # section 6: at most m windows late
            if self.m and not self.spec.in_order:  # what the next window's promise will flush
                self.reducing.due(self._pane_of(bound - self.m + 1))
            yield from self.reducing.settle()
        yield from self.promises()

    def _pane_of(self, bound: int) -> int:
        """A bound on windows as a bound on panes, or on windows where these do not slide: partials below it belong
        to a window below ``bound``."""
        return max((pane + 1 for pane in self.panes if self.partials.first_wid(pane) < bound), default=INT64_MIN)

    def save(self) -> Iterator[Part]:
        """Save the whole table, which has a fixed size."""
        yield self.ports.save()
        numbers, batch = self.reducing.save()
        yield text_part(_STATE, numbers)
        if batch is not None or self._saved:
            yield _TABLE, batch
        self._saved = batch is not None

    def load(self, parts: Iterable[Part]) -> None:
        found = self.load_common(parts)
        said, batch = found.get(_STATE), found.get(_TABLE)
        if said is not None:
            numbers = read_text(said)
            assert isinstance(numbers, list)
            self.reducing.load(numbers, batch)
        self._saved = batch is not None
