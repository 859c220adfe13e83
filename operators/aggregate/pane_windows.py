"""Sliding windows put together of their panes, many windows at a time (OOP paper, section 4.1).

Where panes have few rows, or groups leave by promises of their own, a table for each pane and each window costs more
than what is in it. Here the partial aggregates of all panes that are needed stand in one order, by group and then by
time; the panes of a window are side by side in it, and a window is the merge of a stretch of them. Stretches share
merges of aligned runs, so one of n panes costs about 2·log2(n) merges: the same tree as in `panes.py`, over places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from oop.kernels import views
from oop.operators.aggregate.panes import PaneCode
from oop.operators.core.keys import KeyTable
from oop.operators.core.ordering import order_by_numbers
from oop.operators.core.stretches import numbers_in
from oop.operators.functions.accumulators import Accumulator
from oop.operators.groups.shape import Shape
from oop.operators.groups.table import Table

_AT_ONCE = 65_536  # windows of groups that are put together in one go
_MOST = 2**22  # windows of groups that are looked up in one go
_DIRECTLY, _FEW = 4, 2_048  # with so few panes of a window on average, or of all, it does not pay to share merges

DueWindows = tuple[Table, np.ndarray | int, np.ndarray | int]
"""Panes, the window from which on windows go out of them, and the one below which; for all groups, or for each."""


def windows_of(shape: Shape, code: PaneCode, due: Iterable[DueWindows]) -> Iterator[Table]:
    """The windows that go out, with all their panes, in the order of their numbers."""
    panes = _Panes.gathered(shape, code, due)
    if panes is None:
        return
    shared: list[list[Accumulator]] = [panes.partials]  # the merges of aligned runs: each level has half as many
    for places, wids in panes.going_out():
        order = shape.kernels.order_slots(wids, 0)[1]
        if order is not None:
            places, wids = places[order], wids[order]
        for start in range(0, len(wids), _AT_ONCE):
            firsts, numbers = places[start : start + _AT_ONCE], wids[start : start + _AT_ONCE]
            table = Table(shape, True, 0, len(numbers))
            table._map(numbers, [views.take_rows(column, firsts) for column in panes.keys])
            _merge_stretches(table.accumulators, shared, firsts, panes.ends(firsts, numbers))
            yield table


class _Panes:
    """Partial aggregates of groups in panes, by group and then by time, with their first and last windows, and the
    windows from which on and below which they go out."""

    def __init__(self, keys: list[views.Column], partials: list[Accumulator], *numbers: np.ndarray) -> None:
        self.keys, self.partials = keys, partials
        self.groups, self.first, self.last, self.least, self.bound = numbers
        # groups are dense, so both fit one number unless the panes are very far from each other
        self._origin, self._span = int(self.first.min()), int(self.first.max()) - int(self.first.min()) + 2
        self._distinct: np.ndarray | None = None
        if self._span > 2**62 // (int(self.groups[-1]) + 1):
            self._distinct = np.unique(self.first)
            self._span = len(self._distinct) + 1
        self._ranks = self.groups * self._span + self._rank(self.first)

    @classmethod
    def gathered(cls, shape: Shape, code: PaneCode, due: Iterable[DueWindows]) -> _Panes | None:
        """The panes of which a window goes out; None if there are none."""
        found = [some for panes, *limits in due if (some := _DueGroups.of(panes, code, *limits)) is not None]
        if not found:
            return None
        kinds = enumerate(shape.kinds)
        keys = [views.concat_columns(kind, [some.keys()[i] for some in found]) for i, kind in kinds]
        parts = [some.partials() for some in found]
        partials = parts[0] if len(parts) == 1 else [type(of[0]).concat(of) for of in zip(*parts, strict=True)]
        columns = found[0].numbers
        if len(found) > 1:
            columns = [np.concatenate(of) for of in zip(*(some.numbers for some in found), strict=True)]
        groups = KeyTable(shape.kinds).map(keys, len(columns[0])) if keys else np.zeros(len(columns[0]), np.int64)
        order = order_by_numbers(columns[1], columns[0], groups)
        if order is not None:
            keys = [views.take_rows(column, order) for column in keys]
            partials = [a.take(order) for a in partials]
            groups, *columns = (column[order] for column in (groups, *columns))
        return cls(keys, partials, groups, *columns)

    def going_out(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The windows of groups that go out: for each the place of its first pane, and its number."""
        begins = np.maximum(self.first, self.least)
        # a pane adds the windows behind those of the panes before it
        same = self.groups[1:] == self.groups[:-1]
        begins[1:] = np.where(same, np.maximum(begins[1:], self.last[:-1] + 1), begins[1:])
        ends = np.minimum(self.last, self.bound - 1)
        if (begins <= ends).any():
            yield from self._in_parts(begins, ends)

    def _in_parts(self, begins: np.ndarray, ends: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Windows from ``begins`` to ``ends`` at each place. If there are very many, they come in halves, the earlier
        ones first: a row may be in 100,000 windows."""
        counts = np.maximum(ends - begins + 1, 0)
        low, high = int(begins[counts > 0].min()), int(ends[counts > 0].max())
        if low < high and float(counts.sum(dtype=np.float64)) > _MOST:
            middle = low + (high - low) // 2
            for some in ((begins, np.minimum(ends, middle)), (np.maximum(begins, middle + 1), ends)):
                if (some[0] <= some[1]).any():
                    yield from self._in_parts(*some)
            return
        yield np.repeat(np.arange(len(counts)), counts), numbers_in(begins, counts)

    def ends(self, places: np.ndarray, wids: np.ndarray) -> np.ndarray:
        """The place behind the last pane of each window."""
        return np.searchsorted(self._ranks, self.groups[places] * self._span + self._rank(wids), "right")

    def _rank(self, wids: np.ndarray) -> np.ndarray:
        """Ranks of windows among the first windows of panes, from 1: by their number, or by how many first windows are
        no greater. All windows behind the last of these have the same rank."""
        if self._distinct is not None:
            return np.searchsorted(self._distinct, wids, "right")
        return np.minimum(wids - self._origin, self._span - 2) + 1


class _DueGroups:
    """The groups of a table of which a window goes out; ``numbers`` are first and last windows, and the limits."""

    def __init__(self, table: Table, rows: np.ndarray | None, numbers: list[np.ndarray]) -> None:
        self.table, self.rows, self.numbers = table, rows, numbers

    @classmethod
    def of(cls, table: Table, code: PaneCode, least: np.ndarray | int, bound: np.ndarray | int) -> _DueGroups | None:
        first, last = code.decode_all(table.slots())
        due = (first < bound) & (last >= least)
        count = int(np.count_nonzero(due))
        if not count:
            return None
        rows = None if count == len(due) else np.flatnonzero(due)
        limits = [limit if isinstance(limit, np.ndarray) else np.full(len(due), limit) for limit in (least, bound)]
        return cls(table, rows, [of if rows is None else of[rows] for of in (first, last, *limits)])

    def keys(self) -> list[views.Column]:
        columns = self.table.key_columns()
        return columns if self.rows is None else [views.take_rows(column, self.rows) for column in columns]

    def partials(self) -> list[Accumulator]:
        """The table's own accumulators where all groups are due, since nothing is merged into them."""
        accumulators = self.table.accumulators
        return accumulators if self.rows is None else [a.take(self.rows) for a in accumulators]


def _merge_stretches(
    into: Sequence[Accumulator], shared: list[list[Accumulator]], starts: np.ndarray, ends: np.ndarray
) -> None:
    """Group i is the merge of the partials from its start up to its end."""
    sizes = ends - starts
    if int(sizes.sum()) <= max(_DIRECTLY * len(sizes), _FEW):
        _merge(into, np.repeat(np.arange(len(sizes)), sizes), shared[0], numbers_in(starts, sizes))
        return
    level, starts, ends = 0, starts.copy(), ends.copy()
    while True:
        if level == len(shared):
            shared.append([_halved(a) for a in shared[-1]])
        odd = np.flatnonzero((starts < ends) & (starts & 1 == 1))
        _merge(into, odd, shared[level], starts[odd])
        starts[odd] += 1
        odd = np.flatnonzero((starts < ends) & (ends & 1 == 1))
        ends[odd] -= 1
        _merge(into, odd, shared[level], ends[odd])
        if not (starts < ends).any():
            return
        starts, ends, level = starts >> 1, ends >> 1, level + 1


def _merge(into: Sequence[Accumulator], ids: np.ndarray, partials: Sequence[Accumulator], places: np.ndarray) -> None:
    if len(ids):
        for ours, theirs in zip(into, partials, strict=True):
            ours.merge(ids, theirs.take(places))


def _halved(partials: Accumulator) -> Accumulator:
    """Two neighbours as one; pairs of different groups are never asked for."""
    out = partials.empty()
    out.grow((partials.size + 1) // 2)
    out.merge(np.arange(partials.size) // 2, partials)
    return out
