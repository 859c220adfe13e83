"""Judges policies by group for whole batches.

Rows of groups that are active throughout a batch are judged only by rows of their own group, and kernels do that. A
group that begins, or comes back, starts from where the other groups are at that row. A part of a batch with such a
group goes row by row through the executable specification (`oop.punctuation.progress_groups`). Kernels and
specification work on the same state.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels import dispatch
from oop.operators.core.row_groups import encode_groups
from oop.operators.source.judges.judge import Judge
from oop.operators.source.judges.row_by_row import as_bounds, observed
from oop.punctuation.patterns import Value
from oop.punctuation.progress import Progress
from oop.punctuation.progress_groups import GroupedProgress
from oop.punctuation.trackers import Greatest, NthGreatest, Tracker

_ROW_BY_ROW = 1_024  # rows are not divided further in search of some that can be judged together
_MOST_KEPT = 8  # kept values of slack by rows for each row of a batch: handing more to a kernel does not pay


class ByGroup(Judge):
    """Rows of groups that are active throughout are judged together, the others one by one.

    >>> import oop
    >>> judge = ByGreatestOfGroup(oop.slack(2, by="link", groups=("A", "B")).start("ts"))
    >>> first = judge.bounds(np.array([5, 9]), pa.record_batch({"link": ["A", "B"]}))
    >>> judge.bounds(np.array([6, 6, 6]), pa.record_batch({"link": ["A", "B", "A"]})).tolist()  # B's is late
    [3, 7, 4]
    """

    def __init__(self, progress: Progress) -> None:
        super().__init__(progress)
        assert isinstance(progress, GroupedProgress)
        self.groups = progress

    def bounds(self, times: np.ndarray, rows: pa.RecordBatch) -> np.ndarray:
        return self._bounds(times, [rows.column(name) for name in self.groups.columns])

    def _bounds(self, times: np.ndarray, columns: Sequence[pa.Array]) -> np.ndarray:
        """Groups begin with a stream: one half of a batch may go row by row, and the other one together."""
        found = self._together(times, columns) if len(times) else None
        if found is not None:
            return found
        if len(times) <= _ROW_BY_ROW:
            return observed(self.groups, times, *columns)
        half = len(times) // 2
        first = self._bounds(times[:half], [column.slice(0, half) for column in columns])
        return np.concatenate([first, self._bounds(times[half:], [column.slice(half) for column in columns])])

    def _together(self, times: np.ndarray, columns: Sequence[pa.Array]) -> np.ndarray | None:
        """The bound before each row, by a kernel; None if rows of one group decide about another, or if it does not
        pay."""
        progress = self.groups
        codes, groups = _occurring(*encode_groups(columns[0]))
        if len(columns) > 1:
            codes, groups = _combined(
                [(codes, groups), *(_occurring(*encode_groups(column)) for column in columns[1:])]
            )
        trackers = progress.active(groups)
        if trackers is None or (progress.idle is not None and _retires(progress, trackers, times, codes)):
            return None
        bounds = self._by_kernel(trackers, times, codes)
        if bounds is None:
            return None
        progress.saw(groups, times.max().item())
        if progress.floors:
            # Rows below a floor are late, and a tracker does not take them in. Kernels do, which gives the same bounds,
            # because the values of such rows are below the floor.
            floors = [progress.floors.get(group) for group in groups]
            known = as_bounds(floors, times)
            np.maximum(bounds, known[codes], out=bounds)
        return bounds

    @abstractmethod
    def _by_kernel(self, trackers: Sequence[Any], times: np.ndarray, codes: np.ndarray) -> np.ndarray | None:
        """The bound before each row, by the group in ``codes``; None if a kernel does not pay."""


class ByGreatestOfGroup(ByGroup):
    """The kernel has one greatest value for each group."""

    def _by_kernel(self, trackers: Sequence[Greatest], times: np.ndarray, codes: np.ndarray) -> np.ndarray | None:
        seen = np.array([t.greatest is not None for t in trackers], bool)
        greatest = np.array([t.greatest or 0 for t in trackers], times.dtype)
        bounds: np.ndarray = self.kernels.prefix_bounds_by(times, codes, greatest, seen, trackers[0].slack)
        for tracker, value in zip(trackers, greatest.tolist(), strict=True):
            tracker.greatest = value  # each group has a row in the batch, so it has a value
        return bounds


class ByRankOfGroup(ByGroup):
    """The kernel has the n + 1 greatest values of each group."""

    def _by_kernel(self, trackers: Sequence[NthGreatest], times: np.ndarray, codes: np.ndarray) -> np.ndarray | None:
        kept = [t.top for t in trackers]
        sizes = [len(top) for top in kept]
        if sum(sizes) > _MOST_KEPT * len(times):
            return None
        rows = self.kernels.RowBounds(trackers[0].n, times.dtype)
        rows.push(np.repeat(np.arange(len(kept)), sizes), np.array(list(chain.from_iterable(kept)), times.dtype))
        bounds: np.ndarray = rows.push(codes, times)
        ids, values = rows.held()
        ends = np.searchsorted(ids, np.arange(len(kept) + 1)).tolist()
        values = values.tolist()
        for i, tracker in enumerate(trackers):
            tracker.restore(values[ends[i] : ends[i + 1]])  # ascending: already a heap
        return bounds


def _occurring(codes: np.ndarray, groups: list[Value]) -> tuple[np.ndarray, list[Value]]:
    """The codes without those of dictionary values that no row has, and with one code for each group: -0.0 and 0.0 are
    one group, and a dictionary may have a value twice."""
    occur = np.flatnonzero(np.bincount(codes, minlength=len(groups))).tolist()
    numbers: dict[Value, int] = {}
    places = np.zeros(len(groups), np.int64)
    places[occur] = [numbers.setdefault(groups[i], len(numbers)) for i in occur]
    return (codes, groups) if len(numbers) == len(groups) else (places[codes], list(numbers))


def _combined(encoded: Sequence[tuple[np.ndarray, list[Value]]]) -> tuple[np.ndarray, list[Value]]:
    """The groups of several columns that occur, as tuples, and for each row which one it has.

    >>> codes, groups = _combined([(np.array([0, 1, 0]), ["A", "B"]), (np.array([0, 0, 0]), [6])])
    >>> codes.tolist(), groups
    ([0, 1, 0], [('A', 6), ('B', 6)])
    """
    codes, groups = encoded[0][0], [(value,) for value in encoded[0][1]]
    for more, values in encoded[1:]:
        # All groups and values occur, so neither are more than the rows, and the product is far below 2 ** 63.
        pairs, codes = np.unique(codes.astype(np.int64) * len(values) + more, return_inverse=True)
        firsts, seconds = np.divmod(pairs, len(values))
        groups = [(*groups[i], values[j]) for i, j in zip(firsts.tolist(), seconds.tolist(), strict=True)]
    return codes, groups


def _retires(progress: GroupedProgress, trackers: Sequence[Tracker], times: np.ndarray, codes: np.ndarray) -> bool:
    """Has a group been silent so long when its next row comes that it had retired?"""
    kernels = dispatch.kernels()
    greatest = np.array([t.greatest for t in trackers], times.dtype)
    of_group = kernels.prefix_bounds_by(times, codes, greatest, np.ones(len(greatest), bool), 0)
    assert progress.idle is not None  # else no group retires, and this is not called
    active_from, _ = kernels.prefix_bounds(times, progress.greatest, progress.idle)
    return bool((of_group < active_from).any())
