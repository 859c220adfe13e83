"""Bucket: tags each row with the range of window ids that it belongs to (OOP paper, A.2.2 and figure A-2).

Window ``w`` covers ``[offset + w·slide, offset + w·slide + range)``. A row in a gap between windows (slide > range), or
whose time is null, belongs to no window and is dropped. The promise ``ts < v`` becomes
``__wid_start < wid_bound(v)``, which is written ``wid < W`` elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from oop.errors import SchemaMismatch
from oop.frozen import frozen
from oop.kernels import dispatch, views
from oop.kernels.steps import Op, Step
from oop.operators.core.context import Context
from oop.operators.core.marks import keep_late
from oop.operators.core.operator import Element, Operator, Passing
from oop.operators.core.spec import Spec
from oop.operators.core.times import check_time_type
from oop.operators.core.writing import FLOAT, INT, Filled, ProgramWriter, Unwritten
from oop.operators.source.numbers import SEQ, SHOWN
from oop.operators.windows.windows import Windows
from oop.punctuation.crossing import Carried, Crossing
from oop.punctuation.patterns import Bound
from oop.punctuation.translate import carry_unchanged, wid_bound, window_end, window_start

WID_START = "__wid_start"
WID_END = "__wid_end"


@frozen()
class Grid:
    """A time window in the units of its attribute."""

    range: Bound
    slide: Bound
    offset: Bound = 0

    def wid_bound(self, bound: Bound) -> int:
        if type(bound) is int and type(self.slide) is int and type(self.range) is int and type(self.offset) is int:
            return (bound - self.offset - self.range) // self.slide + 1  # `wid_bound` inlined: most times are whole
        return wid_bound(bound, self.range, self.slide, self.offset)

    @property
    def overlaps(self) -> bool:
        return self.slide < self.range

    @property
    def tumbles(self) -> bool:
        """Is every time in exactly one window?"""
        return self.slide == self.range

    @property
    def gaps(self) -> bool:
        return self.slide > self.range

    def wids(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.finder()(times)

    def finder(self) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """A function that does the same as `wids`, but looks the kernel up only once, for use on many batches."""
        return partial(dispatch.kernels().wid_ranges, range=self.range, slide=self.slide, offset=self.offset)

    def start(self, wid: Bound) -> Bound:
        return window_start(int(wid), self.slide, self.offset)

    def end(self, wid: Bound) -> Bound:
        return window_end(int(wid), self.range, self.slide, self.offset)

    def edges(self, wids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Start and end of many windows, computed with the same arithmetic as `start` and `end`."""
        slide = self.slide
        if isinstance(slide, float):
            wids = wids.astype(np.float64)
        start = self.offset + wids * slide
        return start, self.offset + (wids + 1) * slide if self.range == slide else start + self.range


@frozen()
class Bucket(Spec):
    """Gives each row the windows that it belongs to."""

    on: str
    grid: Windows
    text: str  # the window as the user wrote it
    name = "Bucket"
    line = "Bucket {self.text} on {self.shown}"
    note = "{self.shown} < t becomes wid < W(t)"
    passes = True

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        check_time_type(self.on, inputs[0].field(self.on).type)
        if {WID_START, WID_END} & set(inputs[0].names):
            raise SchemaMismatch(
                f"columns may not be called {WID_START} or {WID_END}", hint="rename it with .select(…)"
            )
        return inputs[0].append(pa.field(WID_START, pa.int64())).append(pa.field(WID_END, pa.int64()))

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        attributes, columns = carry_unchanged(inputs[0].names)
        attributes[self.on].append((WID_START, self.grid.wid_bound))
        return Carried(attributes, columns)

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset({self.on})

    def write(self, writer: ProgramWriter, inputs: Sequence[pa.Schema]) -> None:
        grid = self.grid
        if not isinstance(grid, Grid):
            raise Unwritten(f"windows that are not on a grid ({self.text})")
        times = writer.number(self.on)
        if times.kind not in (INT, FLOAT):
            raise Unwritten(f"a time that is {times.type}")
        if self.on not in writer.known:  # a row that has no time is in no window
            writer.filter(writer.step(Op.IS_VALID, times.register))
            times = writer.number(self.on)
        number = float if times.kind == FLOAT else int
        numbers = tuple(map(number, (grid.range, grid.slide, grid.offset)))
        first = writer.new()
        last = first if grid.tumbles else writer.new()
        writer.add(Step(Op.WINDOW, last, times.register, first, numbers=numbers))
        writer.columns[WID_START] = Filled(first, INT, pa.int64())
        writer.columns[WID_END] = Filled(last, INT, pa.int64())
        if grid.gaps:
            writer.filter(writer.step(Op.LESS_EQUAL, first, last))

    def start(self, context: Context) -> Operator:
        return BucketOperator(self, context)

    @property
    def shown(self) -> str:
        return SHOWN if self.on == SEQ else self.on


class BucketOperator(Passing):
    def __init__(self, spec: Bucket, context: Context) -> None:
        super().__init__(spec, context)
        grid = spec.grid
        self.on = spec.on
        output = spec.schema(context.inputs)
        self.fields = output.field(WID_START), output.field(WID_END)
        self.tumbling, self.gaps = grid.tumbles, grid.gaps
        self.wids = grid.finder() if isinstance(grid, Grid) else grid.wids

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterable[Element]:
        times = batch.column(self.on)
        if times.null_count:  # a row that an outer join padded may have no time: it is in no window
            batch = keep_late(batch.filter(times.is_valid()), batch)
            times = batch.column(self.on)
        first, last = self.wids(views.times(times))
        start = _as_column(first)
        end = start if self.tumbling else _as_column(last)  # tumbling: one window a row
        tagged = batch.append_column(self.fields[0], start).append_column(self.fields[1], end)
        if self.gaps:
            inside = np.less_equal(first, last)
            if not inside.all():
                tagged = tagged.filter(pa.array(inside))
        if not tagged.num_rows:
            return ()
        return (tagged if batch.schema.metadata is None else keep_late(tagged, batch),)


def _as_column(wids: np.ndarray) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), len(wids), [None, pa.py_buffer(wids)])
