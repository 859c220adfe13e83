"""The low-level half of two-level aggregation where nobody says how large its table is, and no promise may be delayed.

Then nothing has to make way for another partial: the groups of a window are held until it is promised complete, as an
aggregate holds its own, so a program may end here. `gathering.py` has what is held.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import pyarrow as pa

from oop.operators.aggregate.aggregate import Aggregate
from oop.operators.aggregate.gathering import Gathering, GatheringLimits, GatheringTargets
from oop.operators.aggregate.low_level import PreaggregateBase
from oop.operators.core.batches import cut
from oop.operators.core.context import Context
from oop.operators.core.coverage import as_int64
from oop.operators.core.operator import Element
from oop.operators.core.parts import Part, read_text, text_part
from oop.operators.windows.bucket import WID_START
from oop.punctuation.group_promises import Advance

_STATE = "state"

HERE = GatheringLimits(first=1 << 14, enough=1 << 16, repeats=1 / 8, worth=0.2, most=1 << 16)
"""In one process, where a row that passes costs less than on the way to another one."""


class GatheringOperator(PreaggregateBase):
    leaves_when_filled = True

    def __init__(self, spec: Any, context: Context, of: Aggregate) -> None:
        super().__init__(spec, context, of, 0)
        self.gathering = Gathering(self.partials, HERE)

    @property
    def buffered_rows(self) -> int:
        return self.gathering.store.held

    @property
    def state_bytes(self) -> int:
        return self.gathering.store.nbytes

    @property
    def note(self) -> str:  # type: ignore[override]
        return self.gathering.note

    @property
    def panes(self) -> Collection[int]:
        return self.gathering.slots()

    def least(self) -> int | None:
        return self.gathering.least()

    def targets(self) -> GatheringTargets:
        return self.gathering.targets

    def filled(self) -> Iterable[Element]:
        for batch in self.gathering.settle():
            yield from cut(batch, self.batch_rows)
        yield from self.promises()  # partials that have left may have held a promise back

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        for left in self.gathering.take(batch):
            yield from cut(left, self.batch_rows)
        yield from self.promises()

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        if not self.ports.advance(advance, port):
            return
        frontier = self.ports.frontiers[0]
        if frontier.ended or not frontier.is_linear:  # it is not known what is held of single groups
            leaving = self.gathering.drain()
        else:
            leaving = self.gathering.leave_below(as_int64(frontier.bound(WID_START)))
        for batch in leaving:
            yield from cut(batch, self.batch_rows)
        yield from self.promises()

    def save(self) -> Iterator[Part]:
        yield self.ports.save()
        yield text_part(_STATE, self.gathering.numbers)
        yield from self.gathering.store.save()

    def load(self, parts: Iterable[Part]) -> None:
        found = self.load_common(parts)
        said = found.pop(_STATE, None)
        if said is not None:
            numbers = read_text(said)
            assert isinstance(numbers, list)
            self.gathering.numbers = numbers
        self.gathering.store.load(found.items())
