"""What a `Resample` holds: the values of left rows, ascending, and right rows as they came, with their groups.

Of a left row only its value is in results, so that is all that is kept: eight bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.operators.coverage import INT64_MAX, INT64_MIN
from oop.operators.group_values import of_column
from oop.operators.held_rows import as_type, own_copy, plain_type
from oop.operators.keys import KeyTable, read_key
from oop.punctuation.patterns import Value

_MOST_PAIRS = 1_000_000  # that are laid out at once
_SLOP = 2.0**-50  # relative: more than a sum of two floats is rounded by


class RightRows:
    """``batch`` are the rows in their order of arrival, beside it their times and the numbers of their groups."""

    def __init__(self, schema: pa.Schema, on: str, keys: Sequence[str]) -> None:
        self.schema, self.on, self.keys = schema, on, tuple(keys)
        self._plain = pa.schema([pa.field(f.name, plain_type(f.type)) for f in schema])
        self._kinds = [views.key_kind(schema.field(k).type) for k in keys]
        self.clear()

    def clear(self) -> None:
        self.groups = KeyTable(self._kinds)
        self.cells: list[tuple[Value, ...]] = []  # the groups' values
        self.numbers: dict[tuple[Value, ...], int] = {}
        self._pieces: list[tuple[pa.RecordBatch, np.ndarray, np.ndarray]] = []
        self._count = 0
        self.nbytes = 0  # kept as a number: another thread may ask

    def __len__(self) -> int:
        return self._count

    def enter(self, batch: pa.RecordBatch) -> np.ndarray:
        """The groups of rows, by number; new ones are entered."""
        known = len(self.cells)
        if self.keys:
            ids = self.groups.map([read_key(batch.column(k)) for k in self.keys], batch.num_rows)
        else:
            ids = np.zeros(batch.num_rows, np.int64)
        if len(ids) and int(ids.max()) >= known:
            new, rows = np.unique(ids, return_index=True)
            first = pa.array(rows[new >= known])
            columns = [of_column(batch.column(k).take(first)) for k in self.keys]
            self.cells += list(zip(*columns, strict=True)) if self.keys else [()]
            self.numbers.update((cell, i) for i, cell in enumerate(self.cells[known:], known))
        return ids

    def add(self, batch: pa.RecordBatch, ids: np.ndarray) -> None:
        if not batch.num_rows:
            return
        columns = [as_type(own_copy(batch.column(f.name)), f.type) for f in self._plain]
        held = pa.RecordBatch.from_arrays(columns, schema=self._plain)
        self._append(held, views.times(held.column(self.on)).copy(), ids)

    def _append(self, batch: pa.RecordBatch, times: np.ndarray, ids: np.ndarray) -> None:
        self._count += len(ids)
        self.nbytes += batch.nbytes + times.nbytes + ids.nbytes
        # a short batch is joined with one that is not much longer: there are never many, and no row is copied often
        while self._pieces and len(self._pieces[-1][1]) <= 2 * len(ids):
            earlier, before, of = self._pieces.pop()
            batch = pa.concat_batches([earlier, batch])
            times, ids = np.concatenate([before, times]), np.concatenate([of, ids])
        self._pieces.append((batch, times, ids))

    def all(self) -> tuple[pa.RecordBatch, np.ndarray, np.ndarray]:
        """The rows, their times and groups, in one piece."""
        if len(self._pieces) != 1:
            batches, times, ids = zip(*self._pieces, strict=True)
            self._pieces = [(pa.concat_batches(batches), np.concatenate(times), np.concatenate(ids))]
        return self._pieces[0]

    def keep(self, needed: np.ndarray) -> None:
        """Free the other rows. Groups without rows are forgotten when they are most."""
        batch, times, ids = self.all()
        self._pieces, self._count, self.nbytes = [], 0, 0
        if needed.any():
            self._append(batch.filter(pa.array(needed)), times[needed], ids[needed])
        else:
            self.clear()

    def is_crowded(self) -> bool:
        return len(self.cells) > 2 * self._count + 1_024

    def regroup(self) -> None:
        """The groups anew: those that have rows."""
        batch, _, _ = self.all()
        self.clear()
        self.add(batch, self.enter(batch))

    def columns(self, names: Sequence[str], rows: np.ndarray) -> list[pa.Array]:
        """These columns of some rows, in their own types."""
        taken = self.all()[0].select(list(names)).take(pa.array(rows))
        return [as_type(c, self.schema.field(n).type) for n, c in zip(names, taken.columns, strict=True)]


def near_rows(
    lefts: np.ndarray, first: np.ndarray, last: np.ndarray, times: np.ndarray, size: int | float
) -> list[tuple[np.ndarray, np.ndarray]]:
    """All pairs of a left value (by its number in ``lefts``, ascending) and a right row with
    ``|left - right| <= size``; for each right row only lefts with a number from ``first`` up to ``last``. By left, then
    as right rows stand.

    >>> ends = np.zeros(3, int), np.full(3, 2)
    >>> [(a.tolist(), b.tolist()) for a, b in near_rows(np.array([10, 20]), *ends, np.array([12, 15, 40]), 5)]
    [([0, 0, 1], [0, 1, 1])]
    """
    low, high = _reach(times, size)
    begins = np.maximum(first, np.searchsorted(lefts, low, "left"))
    counts = np.maximum(np.minimum(last, np.searchsorted(lefts, high, "right")) - begins, 0)
    total = int(counts.sum())
    if not total:
        return []
    if total > _MOST_PAIRS and len(lefts) > 1:  # in two, so that the pairs of a left value stay together
        middle = len(lefts) // 2
        lower = near_rows(lefts[:middle], first, np.minimum(last, middle), times, size)
        upper = near_rows(lefts[middle:], np.maximum(first - middle, 0), last - middle, times, size)
        return lower + [(left + middle, row) for left, row in upper]
    rows = np.repeat(np.arange(len(times)), counts)
    within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    numbers = begins[rows] + within
    if times.dtype == np.float64:  # near is what the rounded difference says
        near = np.abs(lefts[numbers] - times[rows]) <= size
        rows, numbers = rows[near], numbers[near]
    order = np.argsort(numbers, kind="stable")
    return [(numbers[order], rows[order])] if len(rows) else []


def _reach(times: np.ndarray, size: int | float) -> tuple[np.ndarray, np.ndarray]:
    """Between which left values a right row counts; of floats somewhat more."""
    if times.dtype == np.float64:
        wide = size + (np.abs(times) + size) * _SLOP
        return times - wide, times + wide
    low = np.where(times < INT64_MIN + size, INT64_MIN, times - size)
    return low, np.where(times > INT64_MAX - size, INT64_MAX, times + size)


def is_near_or_above(times: np.ndarray, least: np.ndarray, size: int | float) -> np.ndarray:
    """Which right rows may count for a left value that is at least this?"""
    above = times >= least
    if times.dtype == np.float64:
        return above | (least - times <= size)
    # what lies between two whole numbers may be more than one of them can hold
    return above | ((least - times).view(np.uint64) <= np.uint64(size))
