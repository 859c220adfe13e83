"""Landmark windows: all begin at one time, the landmark, and each reaches a step further than the one before.

Window ``w`` covers ``[begin, begin + (w+1)·every)``: a running result. Rows are aggregated once, into the step (the
pane) in which they are; `landmark_operator.py` has the operator. Without ``every`` there is one window, which only the
end of the stream completes. ``ts < v`` becomes ``wid < W`` as for tumbling windows of ``every``; of the output nothing
but ``window_end < end(W)`` can be promised, because every window has the same start.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from oop.frozen import frozen
from oop.operators.aggregate.aggregate import Aggregate
from oop.operators.aggregate.fields import WINDOW_END
from oop.operators.aggregate.landmark_operator import LandmarkOperator
from oop.operators.aggregate.operator import AggregateOperator
from oop.operators.core.context import Context
from oop.operators.core.operator import Operator
from oop.operators.core.spec import UsedColumns
from oop.operators.core.times import from_physical
from oop.operators.groups.table import Table
from oop.operators.groups.table_pieces import TablePiece
from oop.operators.windows.bucket import WID_END, WID_START, Grid
from oop.punctuation import Frontier
from oop.punctuation.crossing import Carried, Crossing
from oop.punctuation.patterns import Bound


@frozen()
class Landmark:
    """Windows since ``begin``. A row is tagged with the first that it is in; it is in all later ones too.

    >>> since = Landmark(100, 10)
    >>> since.wids(np.array([100, 115, 99]))[0].tolist(), since.start(1), since.end(1)
    ([0, 1, -1], 100, 120)
    """

    begin: Bound
    every: Bound | None
    overlaps = False
    tumbles = False
    gaps = True  # before the landmark

    @property
    def steps(self) -> Grid:
        assert self.every is not None
        return Grid(self.every, self.every, self.begin)

    def wids(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.every is None:
            first = np.zeros(len(times), np.int64)
            return first, np.where(times >= self.begin, first, -1)
        first, _ = self.steps.wids(times)
        return first, np.where(first < 0, first - 1, first)

    def wid_bound(self, bound: Bound) -> int | None:
        return None if self.every is None else self.steps.wid_bound(bound)

    def start(self, wid: Bound) -> Bound:
        return self.begin

    def end(self, wid: Bound) -> Bound:
        return self.steps.end(wid)

    def edges(self, wids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where there is no end, the start stands for it; see `OpenOperator`."""
        starts = np.full(len(wids), self.begin, np.float64 if isinstance(self.begin, float) else np.int64)
        return starts, starts if self.every is None else self.steps.edges(wids)[1]


@frozen(eq=False)
class LandmarkAggregate(Aggregate):
    """With ``changes`` a step puts out only the groups that had a row in it."""

    changes: bool = False

    @property
    def endless(self) -> bool:
        return self.grid.wid_bound(0) is None

    @property
    def unblocked_by(self) -> str:  # type: ignore[override]
        return "give the landmark every=…, or punctuate=oop.at_end()" if self.endless else super().unblocked_by

    def shard_columns(self, inputs: Sequence[pa.Schema]) -> list[tuple[str, ...]] | None:
        """A silent group is put out at the end as far as the last row of any group, so all groups must meet."""
        return super().shard_columns(inputs) if self.changes or self.endless else None

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        return Carried({WID_START: [(WINDOW_END, self.grid.end)]}, {k: [k] for k in self.keys}, holds=True)

    def needs(self, wanted: UsedColumns, inputs: Sequence[pa.Schema]) -> list[UsedColumns]:
        (columns,) = super().needs(wanted, inputs)
        assert columns is not None
        return [columns if self.endless else columns - {WID_END}]

    def blocking(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> str | None:
        blocked = super().blocking(frontiers, inputs)
        return "" if blocked and self.endless else blocked

    def start(self, context: Context) -> Operator:
        return OpenOperator(self, context) if self.endless else LandmarkOperator(self, context, self.changes)

    def promise_note(self) -> str:
        if self.endless:
            return "emits at the end; state grows with the groups"
        which = "the groups of a step" if self.changes else "all groups so far"
        return f"emits {which} when wid < W is promised; state grows with the groups"


class OpenOperator(AggregateOperator):
    """One window without an end: its end is null."""

    def _batch(self, table: Table | TablePiece) -> pa.RecordBatch:
        begin = np.full(len(table), self.grid.start(0))
        times = [from_physical(begin, self.time), pa.nulls(len(table), self.time)]
        return pa.RecordBatch.from_arrays([*times, *table.results()], schema=self.output)
