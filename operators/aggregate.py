"""Aggregate: WID's second half (paper 004, section 4.1, A.2.2 and figure A-3).

Rows come tagged with window ids from `Bucket`, in any order; each updates the partial aggregates of its group. When the
promise ``wid < W`` arrives, the windows below W go out and are purged. On every advance of W, with rows or without, the
output promises ``window_start < start(W)`` and ``window_end < start(W) + range``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from oop.errors import SchemaMismatch
from oop.kernels import views
from oop.operators.aggregates import Aggregate as AggregateFunction
from oop.operators.base import FRONTIERS, Element, Operator, Part, Ports, Spec, read_text, text_part
from oop.operators.bucket import WID_END, WID_START, Grid
from oop.operators.coverage import INT64_MAX, INT64_MIN, as_int64, group_columns, int_bounds
from oop.operators.groups import Shape, Store, Table
from oop.operators.marks import is_late
from oop.operators.panes import PaneCode, PaneTree
from oop.operators.times import from_physical
from oop.punctuation import Frontier, Interest, Punctuation
from oop.punctuation.translate import Image, carry

WINDOW_START, WINDOW_END = "window_start", "window_end"
_WHOLE_BATCH = 65_536


@dataclass(frozen=True, eq=False)
class Aggregate(Spec):
    """``on`` is the windowed attribute, ``time`` its type, ``grid`` the window in its units."""

    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, AggregateFunction], ...]
    grid: Grid
    on: str
    time: pa.DataType
    name = "Aggregate"

    def reads(self) -> frozenset[str]:
        return frozenset(self.keys).union(*(a.columns() for _, a in self.aggregates))

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        fields = [pa.field(WINDOW_START, self.time), pa.field(WINDOW_END, self.time)]
        return unique_schema(fields + Shape(inputs[0], self.keys, self.aggregates).fields())

    def translate(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> Frontier:
        images: dict[str, list[Image]] = {WID_START: [(WINDOW_START, self.grid.start), (WINDOW_END, self.grid.end)]}
        return carry(frontiers[0], images, {k: [k] for k in self.keys})

    def interests(self, wanted: Sequence[Interest], inputs: Sequence[pa.Schema]) -> list[list[Interest]]:
        return [[Interest(WID_START)]]

    def blocking(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> str | None:
        frontier = frontiers[0]
        if frontier.bound(WID_START) is not None:
            return None
        named = [corners for c, g in frontier.by.items() if c in self.keys for corners in g.groups.values()]
        return None if any(corners.bound(WID_START) is not None for corners in named) else self.on

    def start(self, inputs: Sequence[pa.Schema]) -> Operator:
        return AggregateOperator(self, inputs)

    def describe(self) -> str:
        return describe_aggregates("Aggregate", self.aggregates, self.keys)

    def promise_note(self) -> str:
        return "emits a window when wid < W is promised"


class AggregateOperator:
    def __init__(self, spec: Aggregate, inputs: Sequence[pa.Schema]) -> None:
        self.grid = spec.grid
        self.time = spec.time
        self.keys = spec.keys
        self.functions = [a for _, a in spec.aggregates]
        self.output = spec.schema(inputs)
        self.ports = Ports(spec, inputs)
        self.sliding = spec.grid.overlaps
        self.code = PaneCode(spec.grid)
        self.store = Store(Shape(inputs[0], spec.keys, spec.aggregates), adaptive=not self.sliding)
        self.tree = PaneTree(self.store, self.code)
        self.closed = Frontier()  # on wids: what has gone out, group by group
        self.late_unused = 0

    @property
    def buffered_rows(self) -> int:
        return len(self.store)

    @property
    def state_bytes(self) -> int:
        return self.store.nbytes + self.tree.nbytes

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        if is_late(batch):
            batch = self._usable(batch)
        if batch.num_rows:
            first = batch.column(WID_START).to_numpy()
            slots = self.code.encode(first, batch.column(WID_END).to_numpy()) if self.sliding else first
            keys = [views.column(batch.column(k)) for k in self.keys]
            touched = self.store.update(slots, keys, [f.evaluate(batch) for f in self.functions])
            if self.sliding:
                self.tree.touched(touched)
        yield from ()

    def _usable(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Of admitted late rows: those with a window that has not gone out (DESIGN section 3, late rows)."""
        bounds = int_bounds(self.closed, WID_START, {k: batch.column(k) for k in self.keys})
        open_ = batch.column(WID_END).to_numpy() >= bounds
        self.late_unused += int(batch.num_rows - open_.sum())
        return batch.filter(pa.array(open_))

    def process_punctuation(self, punct: Punctuation, port: int = 0) -> Iterator[Element]:
        if not self.ports.advance(punct, port):
            return
        frontier = self.ports.frontiers[0]
        # what went out before may be uneven too, even when the promise now is the same for all groups
        grouped = any(c in self.keys for f in (frontier, self.closed) for c in group_columns(f))
        if grouped:
            emitted = self._close_groups(frontier)
        elif self.sliding:
            emitted = self._close_sliding(as_int64(frontier.bound(WID_START)))
        else:
            emitted = self.store.take_below(as_int64(frontier.bound(WID_START)))
        yield from self._batches(emitted)
        self.closed = frontier.copy()
        yield from self.ports.promises()

    def _close_sliding(self, bound: int) -> Iterator[Table]:
        # windows below what was closed went out already; their panes are kept for later windows
        for wid in self.tree.open_wids(as_int64(self.closed.bound(WID_START)), bound):
            table = self.tree.window(wid)
            if table is not None:
                yield _at(table, wid)
        self._purge_panes(bound)

    def _purge_panes(self, bound: int) -> None:
        """A pane is held while its last wid is not below W."""
        for number in [n for n in self.store.tables if self.code.decode(n)[1] < bound]:
            self.store.take_where(number, np.ones(len(self.store.tables[number]), bool))
        if bound > INT64_MIN:
            self.tree.forget_below(INT64_MAX if bound == INT64_MAX else self.code.first_needed(bound))

    def _close_groups(self, frontier: Frontier) -> Iterator[Table]:
        """Group-wise promises (A.1.1): each group goes out as far as its own bound reaches."""
        if not self.sliding:
            for number in list(self.store.tables):
                table = self.store.tables[number]
                bounds = int_bounds(frontier, WID_START, table.key_arrays())
                gone = self.store.take_where(number, table.slots() < bounds)
                if gone is not None:
                    yield gone
            return
        most = max((as_int64(b) for b in _wid_bounds(frontier)), default=INT64_MIN)
        for wid in self.tree.open_wids(as_int64(self.closed.bound(WID_START)), most):
            window = self.tree.window(wid)
            if window is None:
                continue
            keys = window.key_arrays()
            before, now = (int_bounds(f, WID_START, keys) for f in (self.closed, frontier))
            ready = np.broadcast_to((before <= wid) & (wid < now), len(window))
            if ready.any():
                yield _at(window.select(np.flatnonzero(ready)), wid)
        for number in list(self.store.tables):
            table = self.store.tables[number]
            last = self.code.decode(number)[1]
            done = np.broadcast_to(last < int_bounds(frontier, WID_START, table.key_arrays()), len(table))
            self.store.take_where(number, done)
        self.tree.forget_below(min(self.store.tables, default=INT64_MAX))

    def _batches(self, tables: Iterable[Table]) -> Iterator[pa.RecordBatch]:
        """Small windows leave together: a batch downstream costs more than a row."""
        waiting: list[pa.RecordBatch] = []
        rows = 0
        for table in tables:
            waiting.append(self._batch(table))
            rows += len(table)
            if rows >= _WHOLE_BATCH:
                yield pa.concat_batches(waiting)
                waiting, rows = [], 0
        if waiting:
            yield pa.concat_batches(waiting)

    def _batch(self, table: Table) -> pa.RecordBatch:
        times = [from_physical(edge, self.time) for edge in self.grid.edges(table.slots())]
        return pa.RecordBatch.from_arrays([*times, *table.results()], schema=self.output)

    def save(self) -> Iterator[Part]:
        yield self.ports.save()
        yield text_part(
            "aggregate", {"closed": [p.to_json() for p in self.closed.promises()], "late": self.late_unused}
        )
        yield from self.store.save()

    def load(self, parts: Iterable[Part]) -> None:
        found = dict(parts)
        ports, state = found.get(FRONTIERS), found.get("aggregate")
        if ports is not None:
            self.ports.load(ports)
        if state is not None:
            said = read_text(state)
            assert isinstance(said, Mapping)
            self.closed = Frontier.of(*map(Punctuation.from_json, said["closed"]))
            self.late_unused = said["late"]
        self.store.load(found.items())
        self.tree = PaneTree(self.store, self.code)


def _at(table: Table, wid: int) -> Table:
    """The same groups as the rows of one window (a pane may serve several)."""
    if table.slot == wid:
        return table
    out = Table(table.shape, False, wid)
    out.keys, out.accumulators = table.keys, table.accumulators
    return out


def _wid_bounds(frontier: Frontier) -> Iterator[int | float | None]:
    yield frontier.bound(WID_START)
    for grouping in frontier.by.values():
        yield from (c.bound(WID_START) for c in (grouping.rest, *grouping.groups.values()))
    yield from (p.below.get(WID_START) for p in frontier.several)


def unique_schema(fields: Sequence[pa.Field]) -> pa.Schema:
    names = [f.name for f in fields]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise SchemaMismatch(f"two columns of the result would be called {twice[0]!r}", hint="rename one of them")
    return pa.schema(fields)


def describe_aggregates(name: str, aggregates: Sequence[tuple[str, AggregateFunction]], keys: Sequence[str]) -> str:
    shown = ", ".join(f"{n}={a}" for n, a in aggregates) or "no aggregate"
    return f"{name} {shown}" + (f" by {', '.join(keys)}" if keys else "")
