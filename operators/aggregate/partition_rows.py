"""Partitioned row windows: each partition counts its own rows (OOP paper, section 5.2).

A row's rank in its partition is known when no row with a lower number can come: rows are held until ``seq < n``, then
ranked, and aggregated as in other windows. A window is complete when its partition has as many rows, so of the output
nothing can be promised but the end: a new partition begins with its first window at any time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from oop.frozen import frozen
from oop.kernels import views
from oop.operators.aggregate.aggregate import Aggregate
from oop.operators.aggregate.operator import AggregateOperator
from oop.operators.core.context import Context
from oop.operators.core.coverage import INT64_MAX, as_int64
from oop.operators.core.keys import KeyTable, read_key
from oop.operators.core.marks import is_late
from oop.operators.core.operator import Element, Held, Operator
from oop.operators.core.partials import Partials
from oop.operators.core.parts import Part
from oop.operators.core.spec import UsedColumns
from oop.operators.groups.store_operator import describe_groups
from oop.operators.groups.table import Table
from oop.operators.rows.waiting_rows import WaitingRows
from oop.operators.source.numbers import SEQ, SHOWN
from oop.operators.windows.bucket import Grid
from oop.punctuation import END, Frontier, Interest, Punctuation
from oop.punctuation.crossing import Carried, Crossing
from oop.punctuation.group_promises import Advance

_COUNTED, _WAITING = "counted", "waiting/"


@frozen(eq=False)
class PartitionRows(Aggregate):
    """``by`` are the columns of the partitions, the first of the keys; ``text`` is the window as the user wrote it."""

    by: tuple[str, ...] = ()
    text: str = ""
    name = "PartitionRows"
    note = f"ranks rows when {SHOWN} < n is promised; state grows with the partitions"

    def shard_columns(self, inputs: Sequence[pa.Schema]) -> list[tuple[str, ...]] | None:
        return [self.by]

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        return Carried({}, {}, also=[Interest(SEQ, by=())])

    def needs(self, wanted: UsedColumns, inputs: Sequence[pa.Schema]) -> list[UsedColumns]:
        return [frozenset({SEQ, *self.keys}).union(*(a.columns() for _, a in self.aggregates))]

    def blocking(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> str | None:
        return SHOWN if frontiers[0].bound(SEQ) is None else None

    def start(self, context: Context) -> Operator:
        return PartitionRowsOperator(self, context)

    def partials(self, inputs: Sequence[pa.Schema]) -> Partials | None:
        return None  # which window a row is in is known only where its partition is counted

    def describe(self) -> str:
        return f"{describe_groups('PartitionRows', self.aggregates, self.keys)} over {self.text}"


class PartitionRowsOperator(AggregateOperator):
    """``counts`` has the rows of each partition that have been ranked."""

    grid: Grid

    def __init__(self, spec: PartitionRows, context: Context) -> None:
        super().__init__(spec, context)
        (needed,) = spec.needs(None, context.inputs)
        assert needed is not None
        self.names = [name for name in context.inputs[0].names if name in needed]
        self.waiting = WaitingRows(pa.schema([context.inputs[0].field(name) for name in self.names]), SEQ)
        self.by = spec.by
        self.types = [context.inputs[0].field(name).type for name in spec.by]
        self._forget()
        self._unsaved = self._saved = False

    def _forget(self) -> None:
        self.partitions = KeyTable([views.key_kind(type_) for type_ in self.types])
        self.counts = np.zeros(0, np.int64)
        self._unsaved = True

    @property
    def buffered_rows(self) -> int:
        return super().buffered_rows + len(self.waiting)

    @property
    def state_bytes(self) -> int:
        counted = self.partitions.nbytes + self.counts.nbytes if len(self.counts) else 0
        return super().state_bytes + self.waiting.nbytes + counted

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        if is_late(batch):  # late by its time; its place among the rows may still be open
            bound = as_int64(self.ports.frontiers[port].bound(SEQ))
            batch = self.keep_usable(batch, views.column(batch.column(SEQ)).data >= bound)
        if batch.num_rows:
            self.waiting.add(batch.select(self.names))
        yield from ()

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        frontier = self.ports.frontiers[port]
        new = self.ports.advance_singly(advance, port)
        if not new:
            return
        before = self._reached(self.counts)
        bound = frontier.bound(SEQ)
        if frontier.ended:
            ready = list(self.waiting.take_all())
        else:
            ready = [] if bound is None else list(self.waiting.take_below(bound))
        if ready:
            rows = pa.concat_batches(ready)
            order = np.argsort(views.column(rows.column(SEQ)).data, kind="stable")
            for piece in self.waiting.released(rows, order):
                self._take_ranked(piece)
        now = np.full(len(self.counts), INT64_MAX) if frontier.ended else self._reached(self.counts)
        if ready or frontier.ended:
            before = np.concatenate([before, self._reached(np.zeros(len(now) - len(before), np.int64))])
            further = now > before  # windows of no other partition are due
            if further.any():
                closed = self._close_groups(
                    int(before[further].min()),
                    int(now[further].max()),
                    lambda table: before[self._ids(table)],
                    lambda table: now[self._ids(table)],
                    None if frontier.ended else _between(before[further], now[further]),
                )
                yield from self._batches(closed)
        if frontier.ended:
            self._forget()
        yield from self.ports.promises(new)

    def _take_ranked(self, rows: pa.RecordBatch) -> None:
        """Take rows, between which no other row can come any more, into the windows of their ranks."""
        ids = self.partitions.map([read_key(rows.column(name)) for name in self.by], rows.num_rows)
        self.counts = np.concatenate([self.counts, np.zeros(len(self.partitions) - len(self.counts), np.int64)])
        ranks = self.counts[ids] + places_of(ids)
        self.counts += np.bincount(ids, minlength=len(self.counts))
        self._unsaved = True
        first, last = self.grid.wids(ranks)
        inside = first <= last
        if not inside.all():  # some rows are between two windows
            first, last, rows = first[inside], last[inside], rows.filter(pa.array(inside))
        if rows.num_rows:
            self.take_in_windows(first, last, rows)

    def _reached(self, counts: np.ndarray) -> np.ndarray:
        """For each partition the first window that is not complete."""
        return (counts - (self.grid.offset + self.grid.range)) // self.grid.slide + 1

    def _ids(self, table: Table) -> np.ndarray:
        return self.partitions.map(table.key_columns()[: len(self.by)], len(table))

    def _bounds(self, frontier: Frontier, table: Table) -> np.ndarray:
        return self._reached(self.counts)[self._ids(table)]

    def oldest(self) -> Held | None:
        least = self.waiting.least()
        if least is not None:
            return Held(f"row {least} of the input", 0, Punctuation({SEQ: least + 1}))
        return Held("windows of partitions that have too few rows", 0, END) if len(self.store) else None

    def save(self) -> Iterator[Part]:
        yield from super().save()
        yield from self.waiting.save(_WAITING)
        if self._unsaved:
            here = len(self.counts) > 0
            if here or self._saved:
                columns = [*self.partitions.arrays(self.types), pa.array(self.counts)]
                names = [*map(str, range(len(self.by))), "rows"]
                yield _COUNTED, pa.record_batch(columns, names=names) if here else None
            self._unsaved, self._saved = False, here

    def load(self, parts: Iterable[Part]) -> None:
        found = dict(parts)
        super().load(found.items())
        self.waiting.load(found, _WAITING)
        self._forget()
        counted = found.get(_COUNTED)
        self._saved = counted is not None
        if counted is not None:
            self.partitions.map([read_key(column) for column in counted.columns[:-1]], counted.num_rows)
            self.counts = views.column(counted.columns[-1]).data.copy()
        self._unsaved = False


def _between(first: np.ndarray, until: np.ndarray) -> set[int]:
    """All whole numbers of several ranges.

    >>> sorted(_between(np.array([3, 8]), np.array([5, 9])))
    [3, 4, 8]
    """
    ranges = np.unique(np.stack([first, until]), axis=1).T.tolist()
    return {number for begin, end in ranges for number in range(begin, end)}


def places_of(ids: np.ndarray) -> np.ndarray:
    """How many rows of the same id come before each.

    >>> places_of(np.array([0, 1, 0, 0, 1])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(ids, kind="stable")
    together = ids[order]
    begins = np.flatnonzero(np.diff(together, prepend=-1))
    lengths = np.diff(begins, append=len(ids))
    places = np.empty(len(ids), np.int64)
    places[order] = np.arange(len(ids)) - np.repeat(begins, lengths)
    return places
