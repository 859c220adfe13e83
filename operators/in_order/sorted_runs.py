"""Rows that wait to leave in order of time, as sorted runs: the buffer of the sort of an in-order plan.

Rows that have come since the last release are sorted together when some of them are due. The rows that stay are a run.
A release takes the head of every run, and merges the heads. If there are many runs, those of similar size are merged,
so that there are few, and a row is merged only a few times.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oop.kernels import dispatch, views
from oop.operators.core.parts import Part
from oop.operators.rows.layout import held_as, laid_out, plain_schema
from oop.operators.rows.ordered_rows import without_place
from oop.punctuation.patterns import Bound

_FEW = 8  # so many heads are merged at each release for less than it takes to merge their runs beforehand

SortedRun = tuple[pa.RecordBatch, np.ndarray]


class SortedRuns:
    """Rows in order of ``on``, those of equal value in order of arrival. Rows without a value, or with NaN, are kept
    apart and leave last."""

    def __init__(self, schema: pa.Schema, on: str) -> None:
        self.schema, self.on = schema, on
        self._plain = plain_schema(schema)
        self._start()

    def _start(self) -> None:
        self._new: list[pa.RecordBatch] = []
        self._least_new: Bound = math.inf
        self._runs: list[SortedRun] = []  # the oldest first, and each much longer than the next
        self._valueless: list[pa.RecordBatch] = []
        self._rows = 0
        self._saved = False
        self._run_bytes = self._new_bytes = self._valueless_bytes = 0  # counters: a sum over many batches is slow

    def __len__(self) -> int:
        return self._rows

    @property
    def nbytes(self) -> int:
        return self._run_bytes + self._new_bytes + self._valueless_bytes

    def add(self, batch: pa.RecordBatch) -> None:
        held = held_as(batch, self._plain)
        self._rows += held.num_rows
        apart = without_place(held.column(self.on))
        if apart is not None:
            self._valueless.append(held.filter(apart))
            self._valueless_bytes += self._valueless[-1].nbytes
            held = held.filter(pc.invert(apart))
        if held.num_rows:
            self._new.append(held)
            self._new_bytes += held.nbytes
            self._least_new = min(self._least_new, views.times(held.column(self.on)).min().item())

    def take_below(self, bound: Bound) -> pa.RecordBatch | None:
        """Remove and give the rows below a bound, in order; None if there are none."""
        if self._new and (self._least_new < bound or bound == math.inf):  # at the end infinite times leave too
            self._runs.append(_sort(self._new, self.on))
            self._new, self._least_new, self._new_bytes = [], math.inf, 0
        heads: list[pa.RecordBatch] = []
        left: list[SortedRun] = []
        for rows, times in self._runs:
            count = len(times) if bound == math.inf else int(np.searchsorted(times, bound))
            if count:
                heads.append(rows.slice(0, count))
            if count < len(times):
                left.append((rows.slice(count), times[count:]))
        if not heads:
            return None
        self._runs = left
        found = _merge(heads, self.on)[0]
        self._rows -= found.num_rows
        self._join_runs()
        self._run_bytes = sum(rows.nbytes for rows, _ in self._runs)
        return found

    def take_valueless(self) -> Iterator[pa.RecordBatch]:
        """Remove and give the rows without a value."""
        found, self._valueless = self._valueless, []
        self._rows -= sum(rows.num_rows for rows in found)
        self._valueless_bytes = 0
        yield from found

    def _join_runs(self) -> None:
        """If there are many runs, merge the two shortest as long as the longer of them is not much longer."""
        while len(self._runs) > _FEW and len(self._runs[-2][1]) <= 2 * len(self._runs[-1][1]):
            *self._runs, a, b = self._runs
            self._runs.append(_merge([a[0], b[0]], self.on))

    def held(self) -> list[pa.RecordBatch]:
        """All rows, in no order."""
        return [*(rows for rows, _ in self._runs), *self._new, *self._valueless]

    def least(self) -> Bound | None:
        """The least value that is held."""
        found = min([self._least_new, *(times[0].item() for _, times in self._runs)])
        return None if found == math.inf else found

    def released(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Rows that were taken, in their own types."""
        return laid_out(rows, self.schema)

    def save(self, key: str) -> Iterator[Part]:
        """All rows as one part, in which rows of equal value are in order of arrival."""
        pieces = self.held()
        if pieces or self._saved:
            yield key, pa.concat_batches(pieces) if pieces else None
        self._saved = bool(pieces)

    def load(self, parts: Mapping[str, pa.RecordBatch | None], key: str) -> None:
        self._start()
        part = parts.get(key)
        self._saved = part is not None
        if part is not None:
            self.add(part)


def _sort(pieces: list[pa.RecordBatch], on: str) -> SortedRun:
    whole = pieces[0] if len(pieces) == 1 else pa.concat_batches(pieces)
    times = views.times(whole.column(on))
    if (times[1:] >= times[:-1]).all():
        return whole, times
    order = _order(times)
    return whole.take(pa.array(order)), times[order]


def _order(times: np.ndarray) -> np.ndarray:
    """The numbers of the rows in order of time, those of equal time in order of arrival.

    Most rows of a stream are in order, so only the others are sorted, and then merged with the rows in order. That is
    stable: if of two rows of equal time one is in order and one is not, the row in order came first. For a greater row
    came before the other, and behind it both would be out of order."""
    rises = times >= np.maximum.accumulate(times)
    others = np.flatnonzero(~rises)
    if 2 * len(others) > len(times):
        return np.argsort(times, kind="stable")
    rows = np.concatenate([np.flatnonzero(rises), others[np.argsort(times[others], kind="stable")]])
    order = dispatch.kernels().merge_runs(times[rows], np.array([0, len(times) - len(others), len(times)]))
    found: np.ndarray = rows[order]
    return found


def _merge(runs: list[pa.RecordBatch], on: str) -> SortedRun:
    """Sorted runs, the oldest first, merged into one."""
    if len(runs) == 1:
        return runs[0], views.times(runs[0].column(on))
    whole = pa.concat_batches(runs)
    times = views.times(whole.column(on))
    order = dispatch.kernels().merge_runs(times, np.cumsum([0, *(run.num_rows for run in runs)]))
    return whole.take(pa.array(order)), times[order]
