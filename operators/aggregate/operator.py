"""The running `Aggregate`: rows update the partial aggregates of their windows, and a promise lets windows go."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.kernels.dictionaries import concat_batches
from oop.operators.aggregate.fields import AggregateFields
from oop.operators.aggregate.pane_windows import DueWindows, windows_of
from oop.operators.aggregate.panes import PaneCode, PaneTree, has_panes
from oop.operators.aggregate.window_edges import WindowEdges
from oop.operators.aggregate.window_results import WindowResults
from oop.operators.core.context import Context
from oop.operators.core.coverage import INT64_MAX, INT64_MIN, as_int64, group_columns, int_bounds
from oop.operators.core.keys import read_key
from oop.operators.core.marks import is_late, is_partial
from oop.operators.core.oldest import group_text, show_window, value_at
from oop.operators.core.operator import Element, Held
from oop.operators.core.parts import Part
from oop.operators.core.stretches import numbers_in
from oop.operators.core.times import from_physical
from oop.operators.groups.reach import GroupReach, TableBounds
from oop.operators.groups.store_operator import (
    NamedAggregates,
    StoreOperator,
    can_merge,
)
from oop.operators.groups.table import Table
from oop.operators.groups.table_pieces import TablePiece, in_pieces
from oop.operators.windows.bucket import WID_END, WID_START
from oop.punctuation import Frontier, GroupPromises, Punctuation
from oop.punctuation.group_promises import Advance, Promise
from oop.punctuation.many_bounds import most_of
from oop.punctuation.patterns import Value

_MANY = 64  # at least so many windows with one promise, and at most so many groups held for each, share merges
_MOST_AT_ONCE = 2**17  # windows that are looked up in one go, at most


class AggregateOperator(StoreOperator):
    """A subclass may keep other ``aggregates`` than the spec; without ``panes`` rows go into each of their windows."""

    shows_open = True

    def __init__(
        self, spec: AggregateFields, context: Context, aggregates: NamedAggregates | None = None, panes: bool = True
    ) -> None:
        aggregates = spec.aggregates if aggregates is None else aggregates
        # panes are merged; where that cannot be, each row goes into each of its windows, as into tumbling ones
        self.sliding = has_panes(spec.grid) and panes and can_merge(aggregates)
        self.repeats = spec.grid.overlaps and not self.sliding
        self.code = PaneCode(spec.grid)
        super().__init__(spec, context, spec.keys, aggregates, self.code.thin if self.sliding else None)
        self.grid, self.overlaps = spec.grid, spec.grid.overlaps
        self.edges = WindowEdges(spec.grid)
        self.time = spec.time
        self._key_columns = frozenset(spec.keys)
        self.tree = PaneTree(self.store, self.code)
        # subclasses give results, or close windows, in other ways
        plain = type(self) is AggregateOperator and not self.sliding
        self.results = WindowResults.of(self.store.shape, self.output, spec.grid) if plain else None
        self.reach = GroupReach(WID_START, spec.keys, self.store.shape.key_types)

    @property
    def state_bytes(self) -> int:
        return self.store.nbytes + self.tree.nbytes + self.reach.nbytes

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        marked = batch.schema.metadata is not None
        if marked and is_partial(batch):
            self._touched(self.take_partials(batch))
            return
        least: np.ndarray | None = None
        if marked and is_late(batch):  # taken for windows that have not gone out (``late="admit"``)
            keys = {k: batch.column(k) for k in self.keys}
            bounds = int_bounds(self.ports.frontiers[port], WID_START, keys)
            usable = wids_of(batch, WID_START if self.grid.tumbles else WID_END) >= bounds
            batch, least = self.keep_usable(batch, usable), np.broadcast_to(bounds, len(usable))[usable]
        if batch.num_rows:
            first = wids_of(batch, WID_START)
            last = wids_of(batch, WID_END) if self.overlaps else first
            self.take_in_windows(first if least is None or not self.repeats else np.maximum(first, least), last, batch)
        yield from ()

    def take_in_windows(self, first: np.ndarray, last: np.ndarray, batch: pa.RecordBatch) -> None:
        """Take rows into their windows, from the first to the last."""
        if self.sliding:
            self._touched(self.take_in(self.code.encode(first, last), batch))
        elif self.repeats:
            self.take_in_each(first, last, batch)
        else:
            self.take_in(first, batch)

    def _touched(self, slices: list[int]) -> None:
        if self.sliding and not self.store.shift:
            self.tree.touched(slices)
        elif self.tree.nodes:  # panes share tables now
            self.tree.forget_below(INT64_MAX)

    def take_in_each(self, first: np.ndarray, last: np.ndarray, batch: pa.RecordBatch) -> None:
        """Take rows into each of their windows: all rows into their first, then all into the next."""
        while batch.num_rows:
            keys, values = [read_key(batch.column(k)) for k in self.keys], self.store.shape.prepare(batch)
            more = np.ones(batch.num_rows, np.bool_)
            while more.all():
                self.store.update(first, keys, values)
                more = first < last
                first = first + 1
            batch, first, last = batch.filter(pa.array(more)), first[more], last[more]

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        frontier = self.ports.frontiers[port]
        plain = self.results is not None and frontier.rising is not None and len(advance) == 1
        if plain and advance[0].linear is not None:
            return self._close_plainly(advance, frontier)
        return self._completed(advance, frontier, port)

    def _completed(self, advance: Advance, frontier: Frontier, port: int) -> Iterator[Element]:
        uneven, least = self._is_uneven(frontier), as_int64(frontier.bound(WID_START))
        # windows below ``least`` went out already; a pane stays until all of its windows are out
        before = self.reach.before(frontier, len(self.store)) if uneven and self.sliding else None
        new = self.ports.advance(advance, port)
        if not new:
            return
        self.reach.follow(new)
        self.advanced(new)
        self.store.drop_spare()
        # groups may have gone out unevenly before, even if the promise now is the same for all
        if uneven or self._is_uneven(frontier):
            most = max(map(reached_wid, new))
            now = self.reach.now(frontier, len(self.store))
            among = self.reach.slices(self.store, self._slots_due)
            closed = self._close_groups(least, most, before or _constant_reach(least), now, among=among)
        elif self.sliding:
            closed = self._close_sliding(least, as_int64(frontier.bound(WID_START)))
        else:
            closed = self.store.take_below(as_int64(frontier.bound(WID_START)))
        yield from self._batches(closed)
        yield from self.ports.promises(new)

    def _close_plainly(self, advance: Advance, frontier: Frontier) -> Iterator[Element]:
        """What leaves where only bounds about all rows were ever promised. One window of few groups leaves its table to
        the next one."""
        new = self.ports.advance(advance, 0)
        if not new:
            return
        self.reach.follow(new)
        store, bound = self.store, as_int64(frontier.bound(WID_START))
        numbers = store.numbers_below(bound)
        if numbers:
            table, batch = store.tables[numbers[0]], None
            if self.results and len(numbers) == 1 and not store.shift and table.groups <= self.batch_rows:
                batch = self.results.give(table)
            if batch is None:
                yield from self._batches(store.take_below(bound))
            else:
                store.take_whole(numbers[0])
                yield batch
        yield from self.ports.promises(new)

    def advanced(self, new: Sequence[Promise]) -> None:
        """Called before complete windows leave, for subclasses that hold rows which are not in the store yet."""

    def _is_uneven(self, frontier: Frontier) -> bool:
        """Do promises tell groups apart?"""
        if frontier.rising is not None:
            return False  # only bounds about all rows
        return not self._key_columns.isdisjoint(frontier.group_columns())

    def _close_sliding(self, before: int, bound: int) -> Iterator[Table]:
        if self.store.shift:
            yield from self._together((t, before, bound) for t in self._panes_below(bound))
        else:
            wids = self.tree.open_wids(before, bound)
            while some := list(islice(wids, _MOST_AT_ONCE)):
                yield from self._windows(some)
        self._purge_panes(bound)

    def _windows(self, wids: list[int]) -> Iterator[Table]:
        """Complete windows of panes with tables of their own; many nearly empty ones do not get a table each."""
        if len(wids) >= _MANY and len(self.store) <= _MANY * len(wids):
            end = wids[-1] + 1
            yield from self._together((t, wids[0], end) for t in self._panes_below(end))
            return
        for wid in wids:
            table = self.tree.window(wid)
            if table is not None:
                yield _at(table, wid)

    def _panes_below(self, bound: int) -> Iterator[Table]:
        """The tables of panes that may have windows below a bound."""
        return (self.store.tables[number] for number in self._slices_below(bound))

    def _slices_below(self, bound: int) -> list[int]:
        return self.store.numbers_below(INT64_MAX if bound == INT64_MAX else self.code.bounds(bound)[1])

    def _slots_due(self, bound: int) -> tuple[int, int]:
        """The slot below which nothing of a group is left by a bound, and the slot from which on nothing changes."""
        if not self.sliding or bound == INT64_MAX:
            return bound, bound
        return self.code.first_needed(bound), self.code.bounds(bound)[1]

    def _slices_with(self, due: set[int] | None, below: int) -> list[int]:
        """The slices of panes below a bound that may have one of these windows."""
        numbers, shift = self._slices_below(below), self.store.shift
        if due is None:
            return numbers
        wids = sorted(due)
        ends = ((self.code.decode(n << shift)[0], self.code.decode(((n + 1) << shift) - 1)[1]) for n in numbers)
        return [n for n, (first, last) in zip(numbers, ends, strict=True) if _some_between(wids, first, last)]

    def _together(self, due: Iterable[DueWindows]) -> Iterator[Table]:
        return windows_of(self.store.shape, self.code, due)

    def _purge_panes(self, bound: int) -> None:
        """A pane is held while its last wid is not below W."""
        if bound > INT64_MIN:
            first = INT64_MAX if bound == INT64_MAX else self.code.first_needed(bound)
            self.store.drop_below(first)
            self.tree.forget_below(first)
            if self.store.is_dense:
                self.store.narrow()

    def _close_groups(
        self,
        least: int,
        most: int,
        before: TableBounds,
        now: TableBounds,
        due: set[int] | None = None,
        among: list[int] | None = None,
    ) -> Iterator[Table]:
        """Group-wise promises (A.1.1): each group goes out as far as its own bound reaches.

        Windows below ``least`` are out, and no new bound is beyond ``most``. ``due`` are the windows that go out of any
        group, and ``among`` the slices that they may be in, where this is known.
        """
        if not self.sliding:
            slices = None if due is None else {wid >> self.store.shift for wid in due}
            for number in self.store.numbers_below(most) if among is None else among:
                if slices is not None and number not in slices:
                    continue
                table = self.store.tables[number]
                gone = self.store.take_where(number, table.slots() < now(table))
                if gone is not None:
                    yield gone
            return
        reached: dict[int, np.ndarray] = {}
        going: list[DueWindows] = []
        for number in self._slices_with(due, most) if among is None else among:
            table = self.store.tables[number]
            was, is_ = np.maximum(before(table), least), now(table)
            if due is not None or (is_ > was).any():
                reached[number] = is_
                going.append((table, was, is_))
        yield from self._together(going)
        for number, bounds in reached.items():
            self.store.take_where(number, self.code.decode_all(self.store.tables[number].slots())[1] < bounds)
        # a merge may have a group that left one of its panes, but no window of that pane is due for it any more
        merged = self.tree.nodes and not self.store.shift
        self.tree.forget_below(min(self.store.tables, default=INT64_MAX) if merged else INT64_MAX)

    def _bounds(self, frontier: Frontier, table: Table) -> np.ndarray:
        """The bound on wids for each group of a table."""
        return np.broadcast_to(int_bounds(frontier, WID_START, table.key_arrays()), len(table))

    def open_results(self) -> Iterator[pa.RecordBatch]:
        if self.sliding:
            return self._batches(self._open_sliding(self.store.touched_slots()))
        return self._batches(self.store.tables[number].copy() for number in self.store.touched())  # rows go on coming

    def _open_sliding(self, slots: np.ndarray) -> Iterator[Table]:
        """The open windows of some panes, given by their slots."""
        if not len(slots):
            return
        first, last = self.code.decode_all(slots)
        touched = np.unique(numbers_in(first, last - first + 1))
        low, high = int(touched[0]), int(touched[-1]) + 1
        frontier = self.ports.frontiers[0]
        # windows of some groups may have gone out
        due = ((t, np.maximum(self._bounds(frontier, t), low), high) for t in self._panes_below(high))
        for table in self._together(due):
            rows = np.flatnonzero(np.isin(table.slots(), touched))
            if len(rows):
                yield table if len(rows) == len(table) else table.select(rows)

    def _batches(self, tables: Iterable[Table]) -> Iterator[pa.RecordBatch]:
        for pieces in in_pieces(tables, self.batch_rows):
            yield self._batch(pieces[0]) if len(pieces) == 1 else concat_batches(list(map(self._batch, pieces)))

    def _batch(self, table: Table | TablePiece) -> pa.RecordBatch:
        batch = None if self.results is None else self.results.give(table)
        if batch is not None:
            return batch
        edges = self.edges.of(table)
        start, end = from_physical(edges[0], self.time), from_physical(edges[1], self.time)
        batch = pa.RecordBatch.from_arrays([start, end, *table.results(edges)], schema=self.output)
        answers = table.shape.answers(table.accumulators)
        return batch if answers is None else batch.filter(pa.array(answers))

    def oldest(self) -> Held | None:
        """The first open window, with one of its groups; for sliding windows the first pane tells which it is."""
        frontier = self.ports.frontiers[0]
        by = [c for c in group_columns(frontier) if c in self.keys]
        found: tuple[int, dict[str, Value]] | None = None
        for number in sorted(self.store.tables):
            table = self.store.tables[number]
            first = number << self.store.shift
            first = self.code.decode(first)[0] if self.sliding else first
            if found is not None and (not by or first >= found[0]):
                break  # later ones begin later
            # of a pane's windows those below the group's bound have gone out
            bounds = self._bounds(frontier, table) if by else as_int64(frontier.bound(WID_START))
            wids = table.slots()
            if self.sliding:
                wids = np.maximum(self.code.decode_all(wids)[0], bounds)
            row = int(np.argmin(wids))
            if found is None or wids[row] < found[0]:
                keys = table.key_arrays()
                found = int(wids[row]), {c: value_at(keys[c], row) for c in by}
        if found is None:
            return None
        return self.held_window(*found)

    def held_window(self, wid: int, group: Mapping[str, Value] | None = None) -> Held:
        """What is held of a window, or of one group in it."""
        grid, group = self.grid, group or {}
        what = f"window {show_window(grid.start(wid), grid.end(wid), self.time)}{group_text(group)}"
        return Held(what, 0, Punctuation({WID_START: wid + 1}, group))

    def load(self, parts: Iterable[Part]) -> None:
        super().load(parts)
        self.tree = PaneTree(self.store, self.code)
        self.reach.forget()


def _some_between(sorted_: Sequence[int], first: int, last: int) -> bool:
    place = bisect_left(sorted_, first)
    return place < len(sorted_) and sorted_[place] <= last


def _constant_reach(bound: int) -> TableBounds:
    return lambda table: np.full(len(table), bound)


def reached_wid(punct: Promise) -> int:
    """How far one promise may reach; the end of a group reaches everywhere, a bound on something else nowhere."""
    if isinstance(punct, GroupPromises):
        return as_int64(most_of(punct.bounds)) if punct.attribute == WID_START else INT64_MIN
    if not punct.below:
        return INT64_MAX
    return as_int64(punct.below.get(WID_START))


def wids_of(batch: pa.RecordBatch, name: str) -> np.ndarray:
    wids = views.fixed_values(batch.column(name))
    assert wids is not None  # Bucket puts them there for every row
    return wids


def _at(table: Table, wid: int) -> Table:
    """A copy of the groups for one window: a pane may serve several windows, and may take more rows."""
    out = table.copy()
    out.slot, out.slotted = wid, False
    return out
