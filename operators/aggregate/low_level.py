"""`PreaggregateBase`: what operators of a `Preaggregate` share. Their output bound is the least window still held."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa

from oop.operators.aggregate.aggregate import Aggregate
from oop.operators.core.context import Context
from oop.operators.core.coverage import as_int64
from oop.operators.core.oldest import show_window
from oop.operators.core.operator import Element, Held, Operator
from oop.operators.core.partials import Partials
from oop.operators.windows.bucket import WID_START
from oop.punctuation import Punctuation


class PreaggregateBase(Operator):
    """Reduces rows to partial aggregates for the aggregate ``of``. ``m`` is how many windows late they leave at most.

    Subclasses say in `panes` of which stretches of time something is held.
    """

    shows_open = True

    def __init__(self, spec: Any, context: Context, of: Aggregate, m: int) -> None:
        super().__init__(spec, context)
        self.of, self.m = of, m
        partials = of.partials(context.inputs)
        assert partials is not None
        self.partials: Partials[Any] = partials

    @property
    def panes(self) -> Collection[int]:
        raise NotImplementedError

    def least(self) -> int | None:
        """The first pane that something is held of."""
        return min(self.panes, default=None)

    def promises(self) -> Iterator[Element]:
        """Promise as far as nothing is held below the bound."""
        least = self.least()
        if least is None:
            yield from self.ports.whole()
            return
        bound = min(as_int64(self.ports.frontiers[0].bound(WID_START)), self.partials.first_wid(least))
        if bound > as_int64(self.ports.out.bound(WID_START)):
            promise = Punctuation({WID_START: bound})
            if self.ports.out.advance(promise):
                yield promise

    def open_results(self) -> Iterator[pa.RecordBatch]:
        """The windows that something is held of."""
        held = [self.partials.first_wid(pane) for pane in sorted(self.panes)]
        if held:
            yield pa.record_batch({WID_START: pa.array(held, pa.int64())})

    def oldest(self) -> Held | None:
        least = self.least()
        if least is None:
            return None
        grid, wid = self.of.grid, self.partials.first_wid(least)
        what = f"window {show_window(grid.start(wid), grid.end(wid), self.of.time)}"
        return Held(what, 0, Punctuation({WID_START: wid + 1 + self.m}))
