"""Hybrid aggregation: sliding windows by panes (WID) or from buffered rows, whichever suits the stream as it is now
(OOP paper, section 5.5, and the third of its next steps).

A switch is made at a boundary between two windows, behind every window that has a row yet. Windows from the boundary on
belong to the newer implementation, those before it to the older one. A row goes to each implementation that has one of
its windows, so rows at the boundary go to both, and each implementation puts out its own windows. When the last window
before the boundary is out, the older implementation is empty. So no answer changes, and no promise is later. There are
never more than two implementations at work: a switch waits until the one before is complete.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict

import numpy as np
import pyarrow as pa

from oop.operators.aggregate.buffered_windows import BufferedWindows
from oop.operators.aggregate.fields import AggregateFields
from oop.operators.aggregate.hybrid_costs import (
    BUFFERED,
    INCREMENTAL,
    Estimate,
    PeriodCounts,
    QueryTraits,
    estimate,
    is_enough,
    row_bytes,
)
from oop.operators.aggregate.operator import AggregateOperator
from oop.operators.aggregate.panes import has_panes
from oop.operators.aggregate.window_tables import wids
from oop.operators.core.context import Context
from oop.operators.core.coverage import INT64_MAX, INT64_MIN, as_int64
from oop.operators.core.marks import is_partial
from oop.operators.core.oldest import oldest_of
from oop.operators.core.operator import Element, Held
from oop.operators.core.parts import FRONTIERS, Part, read_text, text_part
from oop.operators.functions.function import any_keeps_account
from oop.operators.groups.table import Table
from oop.operators.windows.bucket import WID_END, WID_START
from oop.punctuation import Punctuation
from oop.punctuation.group_promises import Advance, Promise

_STATE, _ROWS = "hybrid", "rows/"


def may_switch(spec: AggregateFields) -> bool:
    """Only windows that overlap have the choice: in others each row is looked at once either way, and no workload was
    found in which buffered rows are clearly faster (0.3 to 1.3 times as fast). Functions that keep account of late rows
    must be told of each row at once."""
    if spec.how == INCREMENTAL or any_keeps_account(spec.aggregates):
        return False
    return has_panes(spec.grid) or spec.how == BUFFERED


class HybridOperator(AggregateOperator):
    """An `AggregateOperator`, whose store has the partial aggregates, with buffered ``rows`` beside it.

    Windows from ``boundary`` on are those of the ``newer`` implementation; those before it are the other's, until they
    are out. ``greatest`` is the greatest window that a row has come for. ``settled`` says that it stays incremental for
    good: it was given partials, which can only be merged, or promises group by group, or was asked for open results.
    """

    def __init__(self, spec: AggregateFields, context: Context) -> None:
        super().__init__(spec, context)
        (needed,) = spec.needs(None, context.inputs)
        assert needed is not None
        fields = [f for f in context.inputs[0] if f.name in needed]
        self.how = spec.how
        self.rows = BufferedWindows(self.store.shape, [f.name for f in fields], spec.grid.overlaps)
        width = float(spec.grid.range / spec.grid.slide) if has_panes(spec.grid) else 1.0
        limits = tuple(a.rows_held for _, a in spec.aggregates)
        self.query = QueryTraits(
            width, row_bytes([_width(f.type) for f in fields]), not self.repeats, limits, self.code.thin
        )
        # rows of aggregates that cannot merge go into each window either way
        self.newer = BUFFERED if self.repeats or self.how == BUFFERED else INCREMENTAL
        self.boundary: int | None = None
        self.greatest = INT64_MIN
        self.settled = False
        self.counts = PeriodCounts()
        self.note = self.newer
        self._used = False  # has a row been buffered? Until then there are no rows to save

    @property
    def older(self) -> str:
        return BUFFERED if self.newer == INCREMENTAL else INCREMENTAL

    @property
    def buffered_rows(self) -> int:
        return super().buffered_rows + len(self.rows)

    @property
    def state_bytes(self) -> int:
        return super().state_bytes + self.rows.nbytes

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        if is_partial(batch):
            self._settle()
        return super().process_batch(batch, port)

    def take_in_windows(self, first: np.ndarray, last: np.ndarray, batch: pa.RecordBatch) -> None:
        if not self.settled:
            self._count(last)
        if self.boundary is None:
            self._take(self.newer, first, last, batch)
            return
        before, behind = first < self.boundary, last >= self.boundary
        clipped = np.minimum(last, self.boundary - 1) if self.repeats else last
        self._take_some(self.older, before, first, clipped, batch)
        clipped = np.maximum(first, self.boundary) if self.repeats else first
        self._take_some(self.newer, behind, clipped, last, batch)

    def _take_some(
        self, side: str, chosen: np.ndarray, first: np.ndarray, last: np.ndarray, batch: pa.RecordBatch
    ) -> None:
        if chosen.all():
            self._take(side, first, last, batch)
        elif chosen.any():
            self._take(side, first[chosen], last[chosen], batch.filter(pa.array(chosen)))

    def _take(self, side: str, first: np.ndarray, last: np.ndarray, batch: pa.RecordBatch) -> None:
        if side == INCREMENTAL:
            super().take_in_windows(first, last, batch)
        else:
            self.rows.add(batch)
            self._used = True

    def _count(self, last: np.ndarray) -> None:
        least, greatest = int(last.min()), int(last.max())
        further = greatest - max(self.greatest, least - 1)
        self.counts.took(len(last), greatest - least + 1, max(further, 0))
        self.greatest = max(self.greatest, greatest)

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        if any(c in self.keys for p in advance for c in _columns(p)):
            self._settle()
        frontier = self.ports.frontiers[port]
        before = as_int64(frontier.bound(WID_START))
        yield from super().process_punctuation(advance, port) if self._is_plain else self._advance(advance, port)
        further = min(as_int64(frontier.bound(WID_START)), self.greatest + 1) - before
        if further > 0 and not self.settled:
            self.counts.close(further)
            self._choose()

    @property
    def _is_plain(self) -> bool:
        """Is the incremental implementation alone at work?"""
        return self.newer == INCREMENTAL and self.boundary is None

    def _advance(self, advance: Advance, port: int) -> Iterator[Element]:
        frontier = self.ports.frontiers[port]
        before = as_int64(frontier.bound(WID_START))
        new = self.ports.advance(advance, port)
        self.reach.follow(new)
        now = as_int64(frontier.bound(WID_START))
        if now > before:
            yield from self._batches(self._close(before, now))
        yield from self.ports.promises(new)

    def _close(self, before: int, now: int) -> Iterator[Table]:
        boundary = INT64_MIN if self.boundary is None else self.boundary
        if before < boundary:
            yield from self._close_side(self.older, before, min(now, boundary))
        if now > boundary:
            yield from self._close_side(self.newer, max(before, boundary), now)
        self._drop_older(now)

    def _close_side(self, side: str, least: int, bound: int) -> Iterator[Table]:
        if side == BUFFERED:
            return self.rows.close(least, bound)
        return self._close_sliding(least, bound) if self.sliding else self.store.take_below(bound)

    def _drop_older(self, now: int) -> None:
        """Empty the older implementation when it has no window left; rows at the boundary are in the newer one, too."""
        if self.boundary is not None and now >= self.boundary:
            if self.older == BUFFERED:
                self.rows.clear()
            elif self.sliding:
                self._purge_panes(INT64_MAX)
            self.boundary = None

    def _batches(self, tables: Iterable[Table]) -> Iterator[pa.RecordBatch]:
        return super()._batches(self._counted(tables))

    def _counted(self, tables: Iterable[Table]) -> Iterator[Table]:
        for table in tables:
            self.counts.groups += len(table)
            yield table

    def _choose(self) -> None:
        """At a promise that has closed windows, switch if the other implementation suits the stream better now."""
        if self.boundary is not None or self.how != "hybrid":
            return
        found = estimate(self.query, self.counts)
        if is_enough(found, self.counts):
            wanted = found.prefers(self.newer)
            if wanted != self.newer:
                self._switch(wanted, found)
            self.counts = PeriodCounts(open=self.counts.open)

    def _switch(self, to: str, found: Estimate | None = None) -> None:
        """Switch from the first window on that no row has come for."""
        self.newer, self.boundary = to, self.greatest + 1
        self.note = f"{to} from window {self.boundary} on" + ("" if found is None else f": {self._why(found)}")
        self._drop_older(as_int64(self.ports.frontiers[0].bound(WID_START)))

    def _why(self, found: Estimate) -> str:
        rows = self.counts.rows / max(self.counts.opened, 1)
        groups = self.counts.groups / max(self.counts.closed, 1)
        costs = " and ".join(f"{side} {cost / 1000:,.0f} us" for side, cost in found.nanoseconds.items())
        return (
            f"{rows:,.0f} rows a pane, {self.query.windows:g} windows a row, {groups:,.0f} groups a window so far; "
            f"a window is estimated at {costs}"
        )

    def _settle(self) -> None:
        """Put the rows that wait into the partial aggregates, for good."""
        if self.settled:
            return
        self.settled, self.note = True, INCREMENTAL
        boundary, newer, out = self.boundary, self.newer, as_int64(self.ports.frontiers[0].bound(WID_START))
        for batch in self.rows.take_all():
            first, last = wids(batch, WID_START), wids(batch, WID_END if self.grid.overlaps else WID_START)
            here = np.ones(len(first), np.bool_)
            if boundary is not None:  # rows at the boundary are in the store already, since panes take them as a whole
                here = last < boundary if newer == INCREMENTAL else first >= boundary
            if self.repeats:
                least, most = np.maximum(first, out), last
                if boundary is not None and newer == INCREMENTAL:
                    most = np.minimum(last, boundary - 1)
                elif boundary is not None:
                    least = np.maximum(least, boundary)
                first, last, here = least, most, least <= most
            if here.any():
                super().take_in_windows(first[here], last[here], batch.filter(pa.array(here)))
        self.newer, self.boundary = INCREMENTAL, None

    def open_results(self) -> Iterator[pa.RecordBatch]:
        """Results that are asked for once will be asked for again, so open windows are kept as partial aggregates."""
        self._settle()
        return super().open_results()

    def oldest(self) -> Held | None:
        least = self.rows.least()
        if least is None:
            return super().oldest()
        bound = as_int64(self.ports.frontiers[0].bound(WID_START))
        return oldest_of([super().oldest(), self.held_window(max(least, bound))])

    def save(self) -> Iterator[Part]:
        yield from super().save()
        if self._used:
            yield from self.rows.save(_ROWS)
        said = {"newer": self.newer, "boundary": self.boundary, "greatest": self.greatest, "settled": self.settled}
        yield text_part(_STATE, {**said, "used": self._used, "note": self.note, "counts": asdict(self.counts)})

    def load(self, parts: Iterable[Part]) -> None:
        found = dict(parts)
        super().load(found.items())
        self.rows.load(found, _ROWS)
        said = found.get(_STATE)
        if said is None:  # saved by an operator that was incremental only
            self.settled = FRONTIERS in found
            self.newer = INCREMENTAL if self.settled else self.newer
            return
        state = read_text(said)
        assert isinstance(state, dict)
        self.newer, self.boundary, self.greatest = state["newer"], state["boundary"], state["greatest"]
        self.settled, self._used, self.note = state["settled"], state["used"], state["note"]
        self.counts = PeriodCounts(**state["counts"])


def _columns(promise: Promise) -> Iterable[str]:
    """The columns whose groups the promise tells apart."""
    return promise.where if isinstance(promise, Punctuation) else promise.columns


def _width(type_: pa.DataType) -> int | None:
    """Bytes of a value."""
    try:
        return int(type_.bit_width) // 8
    except ValueError:
        return None
