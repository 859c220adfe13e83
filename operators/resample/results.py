"""The results of a `Resample`: F over the right rows near a left row, by group (Aurora paper, section 5.2.2.4).

Pairs of left and right rows are laid out and aggregated like groups, so any aggregate works, also one of the left
value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.kernels.dictionaries import concat_batches
from oop.operators.core.batches import BATCH_ROWS
from oop.operators.core.keys import KeyTable
from oop.operators.core.times import from_physical
from oop.operators.groups.shape import Shape
from oop.operators.join.band import LEFT, RIGHT
from oop.operators.passing.qos import ENTERED, LEFT_ENTERED
from oop.operators.resample.fields import ResampleFields
from oop.operators.resample.lefts import LeftRows
from oop.operators.resample.near_rows import near_rows
from oop.operators.resample.rights import RightRows


class NearResults:
    """``stamped`` says whether aggregates read the time when left rows entered."""

    def __init__(self, spec: ResampleFields, inputs: Sequence[pa.Schema]) -> None:
        self.keys, self.size = spec.keys, spec.size
        self.output = spec.schema(inputs)
        self.type = inputs[LEFT].field(spec.left).type
        self.seen_as = spec.seen_as(inputs[RIGHT])
        used = frozenset().union(*(a.columns() for _, a in spec.aggregates))
        self.pairs = pa.schema([f for f in spec.pair_schema(inputs) if f.name in used])
        self.shape = Shape(self.pairs, (), spec.aggregates)
        self.stamped = LEFT_ENTERED in self.pairs.names

    def of(self, lefts: LeftRows, rows: RightRows, first: np.ndarray, last: np.ndarray) -> Iterator[pa.RecordBatch]:
        """The results of each group for the left rows from number ``first`` up to ``last``, which differ by group."""
        if not (last > first).any():
            return
        _, times, ids = rows.all()
        open_ = np.flatnonzero((last > first)[ids])
        for numbers, near in near_rows(lefts.values, first[ids[open_]], last[ids[open_]], times[open_], self.size):
            yield self._batch(lefts, numbers, rows, open_[near])

    def of_each(self, lefts: LeftRows, rows: RightRows, last: int) -> Iterator[pa.RecordBatch]:
        """The results if the right has no groups: one "for every tuple, t, from S1" up to ``last``, also for those that
        no right row is near to."""
        done = 0
        if len(rows):
            _, times, _ = rows.all()
            none = np.zeros(len(times), np.int64)
            for numbers, near in near_rows(lefts.values, none, none + last, times, self.size):
                until = int(numbers.max()) + 1  # stretches of left rows come one after the other
                alone = np.setdiff1d(np.arange(done, until), numbers)
                yield self._by_time([self._batch(lefts, numbers, rows, near), self._of_none(lefts, alone)])
                done = until
        for start in range(done, last, BATCH_ROWS):
            yield self._of_none(lefts, np.arange(start, min(start + BATCH_ROWS, last)))

    def _by_time(self, parts: list[pa.RecordBatch]) -> pa.RecordBatch:
        if not parts[1].num_rows:
            return parts[0]
        found = concat_batches(parts)
        return found.take(pa.array(np.argsort(views.times(found.column(0)), kind="stable")))

    def _of_none(self, lefts: LeftRows, numbers: np.ndarray) -> pa.RecordBatch:
        """The results of left rows that no right row is near to: F of no rows."""
        accumulators = self.shape.accumulators()
        for accumulator in accumulators:
            accumulator.grow(len(numbers))
        at = from_physical(lefts.values[numbers], self.type)
        columns = [at, *self.shape.results(accumulators)]
        if lefts.stamps is not None:  # the result comes from the left row alone
            entered = pa.array(lefts.stamps[numbers])
            names = enumerate(self.output.names)
            columns = [entered if name in (ENTERED, LEFT_ENTERED) else columns[i] for i, name in names]
        return pa.RecordBatch.from_arrays(columns, schema=self.output)

    def _batch(self, lefts: LeftRows, numbers: np.ndarray, rows: RightRows, places: np.ndarray) -> pa.RecordBatch:
        """The aggregates of pairs by left row and group, in the order of the pairs, which are given by the numbers of
        left rows and the places of right rows."""
        groups = rows.all()[2][places]
        results = KeyTable(["int", "int"])
        ids = results.map([views.column(pa.array(numbers)), views.column(pa.array(groups))], len(places))
        accumulators = self.shape.accumulators()
        prepared = self.shape.prepare(self._pairs(lefts, numbers, rows, places))
        for accumulator, value in zip(accumulators, prepared, strict=True):
            accumulator.grow(len(results))
            accumulator.update(ids, value)
        firsts = np.unique(ids, return_index=True)[1]
        keys = rows.columns(self.keys, places[firsts])
        at = from_physical(lefts.values[numbers[firsts]], self.type)
        return pa.RecordBatch.from_arrays([*keys, at, *self.shape.results(accumulators)], schema=self.output)

    def _pairs(self, lefts: LeftRows, numbers: np.ndarray, rows: RightRows, places: np.ndarray) -> pa.RecordBatch:
        """The columns of pairs that aggregates read; if they read none, nulls for as many rows."""
        if not len(self.pairs):
            return pa.RecordBatch.from_arrays([pa.nulls(len(places))], names=[""])
        names = [name for name in self.pairs.names if name not in (self.seen_as, LEFT_ENTERED)]
        columns = dict(zip(names, rows.columns(names, places), strict=True))
        if self.seen_as in self.pairs.names:
            columns[self.seen_as] = from_physical(lefts.values[numbers], self.type)
        if lefts.stamps is not None:
            columns[LEFT_ENTERED] = pa.array(lefts.stamps[numbers])
        return pa.RecordBatch.from_arrays([columns[name] for name in self.pairs.names], schema=self.pairs)
