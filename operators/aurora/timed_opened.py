"""Windows that begin at rows, with a timeout (Aurora paper, section 5.2.2.2): the two arguments of Aurora's Aggregate,
Advance by a predicate and Timeout, together.

The computation of a window begins when the row at which it begins arrives; then it is "timestamped with the local
time". When the window has been open for longer than the timeout, it goes out with its rows. The window and the number
of its rows are remembered until its end is promised, so that rows that came too late can be counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from oop.frozen import frozen
from oop.kernels import views
from oop.kernels.dictionaries import concat_batches
from oop.operators.aurora.opened import BEGINS, Opened, OpenedOperator
from oop.operators.aurora.timed import EARLY, Timed
from oop.operators.core.arrival import ARRIVAL, without_ticks
from oop.operators.core.context import Context
from oop.operators.core.coverage import INT64_MAX, INT64_MIN
from oop.operators.core.keys import KeyTable, read_key
from oop.operators.core.operator import Element, Operator
from oop.operators.core.parts import Part
from oop.operators.groups.store_operator import unique_schema
from oop.punctuation.group_promises import Advance

_OUT = "__out"
"""A held column: the number of rows with which the window that begins at this row went out early; -1 if it did not."""
_UNKNOWN = INT64_MAX
"""The time of arrival of rows that came before the first tick."""


@frozen(eq=False)
class TimedOpened(Timed, Opened):
    """``timeout`` is in the clock's unit."""

    timeout: int = 0
    name = "TimedOpened"

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        unique_schema([*inputs[0], pa.field(ARRIVAL, pa.int64()), pa.field(_OUT, pa.int64())])
        return super().schema(inputs)

    def start(self, context: Context) -> Operator:
        return TimedOpenedOperator(self, context)


class TimedOpenedOperator(OpenedOperator):
    """``late_unused`` also counts rows that came too late for a window, once for each window, when its end is
    promised."""

    def __init__(self, spec: TimedOpened, context: Context) -> None:
        super().__init__(spec, context)
        self.timeout = spec.timeout
        self.held = self.held.append(pa.field(ARRIVAL, pa.int64())).append(pa.field(_OUT, pa.int64()))
        self.now = _UNKNOWN
        self.due = INT64_MIN  # no window times out before this time

    def _holding(self, columns: Sequence[pa.Array], begins: pa.Array) -> pa.RecordBatch:
        count = len(begins)
        self.due = min(self.due, INT64_MIN if self.now == _UNKNOWN else self.now + self.timeout)
        came, out = np.full(count, self.now), np.full(count, -1)
        return pa.RecordBatch.from_arrays([*columns, begins, pa.array(came), pa.array(out)], schema=self.held)

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        others, self.now = without_ticks(advance, self.now)
        yield from super().process_punctuation(others, port)
        if self.rows and self.now != _UNKNOWN and self.now > self.due:
            yield from self._time_out(concat_batches(self.rows))

    def _time_out(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Put out the windows that have been open for too long, in the order in which they began, then by value."""
        times, came = views.times(rows.column(self.spec.on)), views.column(rows.column(ARRIVAL)).data.copy()
        came[came == _UNKNOWN] = self.now
        out = views.column(rows.column(_OUT)).data.copy()
        groups = KeyTable(self.shape.kinds).map([read_key(rows.column(k)) for k in self.spec.keys], len(times))
        open_ = np.flatnonzero(views.booleans(rows.column(BEGINS)))
        windows = _first_of_each(groups, times, came, open_)
        began = np.array([came[first] for first, _ in windows])
        is_out = np.array([bool((out[all_] >= 0).any()) for _, all_ in windows], bool)
        late = np.flatnonzero(~is_out & (began < self.now - self.timeout))
        if len(late):
            late = late[np.lexsort((times[[windows[i][0] for i in late]], began[late]))]
            begun = np.array([windows[i][0] for i in late])
            starts, found = self._rows_of_windows(times, groups, begun)
            for i, members in zip(late.tolist(), found, strict=True):
                out[windows[i][1]] = len(members)
                is_out[i] = True
            yield self._leaving(self._aggregated(rows, starts, found), early=True)
        waiting = began[~is_out]
        self.due = int(waiting.min()) + self.timeout if len(waiting) else INT64_MAX
        columns = [*rows.columns[:-2], pa.array(came), pa.array(out)]
        self.rows = [pa.RecordBatch.from_arrays(columns, schema=self.held)]
        self._unsaved = True

    def _windows(
        self, rows: pa.RecordBatch, times: np.ndarray, groups: np.ndarray, begun: np.ndarray
    ) -> Iterator[pa.RecordBatch]:
        """The windows that have ended, without those that went out early, whose late rows are counted."""
        out = views.column(rows.column(_OUT)).data
        starts, found = self._rows_of_windows(times, groups, begun)
        # Rows of the same value begin one window. Those that came after it went out early still have -1.
        went = [int(out[members[times[members] == start]].max()) for start, members in zip(starts, found, strict=True)]
        self.late_unused += sum(len(members) - n for n, members in zip(went, found, strict=True) if n >= 0)
        here = [i for i, n in enumerate(went) if n < 0]
        if here:
            yield self._leaving(self._aggregated(rows, starts[here], [found[i] for i in here]), early=False)

    def _leaving(self, windows: pa.RecordBatch, early: bool) -> pa.RecordBatch:
        return windows.append_column(EARLY, pa.array(np.full(windows.num_rows, early)))

    def load(self, parts: Iterable[Part]) -> None:
        super().load(parts)
        self.due = INT64_MIN


def _first_of_each(
    groups: np.ndarray, times: np.ndarray, came: np.ndarray, rows: np.ndarray
) -> list[tuple[int, np.ndarray]]:
    """For each group and value among these rows, the row that came first, and all rows."""
    order = rows[np.lexsort((came[rows], times[rows], groups[rows]))]
    if not len(order):
        return []
    new = (np.diff(groups[order]) != 0) | (np.diff(times[order]) != 0)
    return [(int(part[0]), part) for part in np.split(order, np.flatnonzero(new) + 1)]
