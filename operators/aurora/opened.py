"""Windows that begin at rows: Aurora's Aggregate with a predicate in the place of Advance (Aurora paper, section
5.2.2.2).

"i is an integer or predicate that specifies how to advance the window when it slides" is all that the paper says. Here
a window begins at each row for which the predicate holds, and covers ``[a, a + size)`` of its group, where ``a`` is
that row's value. Rows with the same value begin one window. Which rows are in a window does not depend on their order.
So a row is held as long as a window may cover it, which is while it is not below the first open window or the bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from oop.errors import TimeError
from oop.frozen import frozen
from oop.kernels import views
from oop.kernels.dictionaries import concat_batches
from oop.operators.core.context import Context
from oop.operators.core.coverage import INT64_MAX, INT64_MIN, as_float, as_int64, bounds_of_rows, is_promised
from oop.operators.core.keys import KeyTable, read_key
from oop.operators.core.marks import is_late
from oop.operators.core.operator import Element, Keeping, Kept, Operator
from oop.operators.core.parts import Part
from oop.operators.core.spec import UsedColumns
from oop.operators.core.times import from_physical, is_whole
from oop.operators.expressions.expr import Expr
from oop.operators.expressions.program import Program
from oop.operators.functions.function import Function
from oop.operators.groups.aggregating import AggregatingSpec
from oop.operators.groups.shape import Shape
from oop.operators.groups.store_operator import describe_groups, unique_schema
from oop.operators.groups.table import Table
from oop.operators.passing.filter import check_predicate
from oop.operators.rows.layout import laid_out
from oop.punctuation import Frontier
from oop.punctuation.crossing import Carried, Crossing
from oop.punctuation.group_promises import Advance
from oop.punctuation.patterns import Bound

BEGINS, _ROWS = "__begins", "rows"


@frozen(eq=False)
class Opened(AggregatingSpec):
    """``size`` is in the units of the attribute ``on``; ``begins`` is true for rows at which a window begins."""

    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, Function], ...]
    on: str
    size: Bound
    begins: Expr
    name = "Opened"
    needs_order = True
    note = "emits a window when {self.on} < its end is promised"

    def shard_columns(self, inputs: Sequence[pa.Schema]) -> list[tuple[str, ...]] | None:
        return [self.keys] if self.keys else None

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        check_predicate(self.begins, inputs[0])
        unique_schema([*inputs[0], pa.field(BEGINS, pa.bool_())])
        start = inputs[0].field(self.on).remove_metadata()
        return unique_schema([start, *Shape(inputs[0], self.keys, self.aggregates).fields()])

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        starts = {self.on: [(self.on, partial(ended_below, size=self.size))]}
        return Carried(starts, {k: [k] for k in self.keys}, holds=True)

    def needs(self, wanted: UsedColumns, inputs: Sequence[pa.Schema]) -> list[UsedColumns]:
        used = (a.columns() for _, a in self.aggregates)
        return [frozenset({self.on, *self.keys}).union(self.begins.columns(), *used)]

    def blocking(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> str | None:
        return None if is_promised(frontiers[0], self.on, self.keys) else self.on

    def start(self, context: Context) -> Operator:
        return OpenedOperator(self, context)

    def describe(self) -> str:
        return f"{describe_groups('Opened', self.aggregates, self.keys)} of {self.size} from {self.begins!r}"


class OpenedOperator(Keeping):
    """``late_unused`` counts admitted late rows, which are not used because one of their windows may have gone out."""

    def __init__(self, spec: Opened, context: Context) -> None:
        super().__init__(spec, context)
        self.spec = spec
        (needed,) = spec.needs(None, context.inputs)
        assert needed is not None
        self.input = pa.schema([f.remove_metadata() for f in context.inputs[0] if f.name in needed])
        self.held = self.input.append(pa.field(BEGINS, pa.bool_()))
        self.output = spec.schema(context.inputs)
        self.shape = Shape(self.input, spec.keys, spec.aggregates)
        self.whole = is_whole(self.input.field(spec.on).type)
        self.begins = Program(spec.begins)
        self.rows: list[pa.RecordBatch] = []
        self._unsaved = self._saved = False

    def kept(self) -> Iterable[Kept]:
        return self.rows

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        if is_late(batch):
            self.late_unused += batch.num_rows
        elif batch.num_rows:
            begins = self.begins.evaluate(batch).fill_null(False)
            self._check_ends(views.times(batch.column(self.spec.on).filter(begins)))
            columns = laid_out(batch, self.input).columns
            self.rows.append(self._holding(columns, begins))
            self._unsaved = True
        yield from ()

    def _holding(self, columns: Sequence[pa.Array], begins: pa.Array) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([*columns, begins], schema=self.held)

    def _check_ends(self, starts: np.ndarray) -> None:
        """Raise TimeError if the end of a window overflows, or is rounded to its start: the window would be lost."""
        size = self.spec.size
        if self.whole:
            wrong = starts > INT64_MAX - int(size)
        else:
            with np.errstate(over="ignore"):
                wrong = ~np.isfinite(starts + size) | (starts + size <= starts)
        if wrong.any():
            at = starts[np.argmax(wrong)].item()
            raise TimeError(
                f"a window of size {size} cannot begin at {self.spec.on} = {at}: its end has no number of its own",
                hint="drop such rows, or cast the attribute to another type",
            )

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        new = self.ports.advance_singly(advance, port)
        if not new:
            return
        if self.rows:
            yield from self._close(concat_batches(self.rows))
        yield from self.ports.promises(new)

    def _close(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Put out the windows that have ended, and forget the rows that no window can cover any more."""
        times = views.times(rows.column(self.spec.on))
        keys = {k: rows.column(k) for k in self.spec.keys}
        convert = as_int64 if self.whole else as_float
        bounds = np.broadcast_to(bounds_of_rows(self.ports.frontiers[0], self.spec.on, keys, convert), len(times))
        ended = _have_ended(times, bounds, self.spec.size, self.whole)
        groups = KeyTable(self.shape.kinds).map([read_key(key) for key in keys.values()], len(times))
        begins = views.booleans(rows.column(BEGINS))
        if (begins & ended).any():
            begun = np.flatnonzero(begins & ended)
            # By value, whatever the order of arrival, so that slack and a preceding sort give the same answer.
            yield from self._windows(rows, times, groups, begun[np.argsort(times[begun], kind="stable")])
        still = begins & ~ended
        first = np.full(int(groups.max()) + 1, INT64_MAX if self.whole else math.inf, times.dtype)
        np.minimum.at(first, groups[still], times[still])
        # Keep rows from the first open window of their group on, or from the bound, where the next one may begin.
        kept = times >= np.minimum(bounds, first[groups])
        self.rows = [rows.filter(pa.array(kept))] if kept.any() else []
        self._unsaved = True

    def _windows(
        self, rows: pa.RecordBatch, times: np.ndarray, groups: np.ndarray, begun: np.ndarray
    ) -> Iterator[pa.RecordBatch]:
        """The windows that begin at these rows, in their order."""
        starts, found = self._rows_of_windows(times, groups, begun)
        yield self._aggregated(rows, starts, found)

    def _rows_of_windows(
        self, times: np.ndarray, groups: np.ndarray, begun: np.ndarray
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """One window for each group and value among the rows ``begun``: its start, and its rows in order of the
        attribute, those of one value in order of arrival. So slack and a preceding sort give the same answer for every
        function."""
        size = int(self.spec.size) if self.whole else float(self.spec.size)
        order = np.lexsort((times, groups))
        edges = np.searchsorted(groups[order], np.arange(int(groups.max()) + 2))
        found, starts = [], []
        for group, start in dict.fromkeys(zip(groups[begun].tolist(), times[begun].tolist(), strict=True)):
            mine = order[edges[group] : edges[group + 1]]
            first, last = np.searchsorted(times[mine], [start, start + size])
            found.append(mine[first:last])
            starts.append(start)
        return np.array(starts, times.dtype), found

    def _aggregated(self, rows: pa.RecordBatch, starts: np.ndarray, found: list[np.ndarray]) -> pa.RecordBatch:
        size = int(self.spec.size) if self.whole else float(self.spec.size)
        slots = np.repeat(np.arange(len(found)), list(map(len, found)))
        taken = rows.take(pa.array(np.concatenate(found))).select(self.input.names)
        table = Table(self.shape, slotted=True, slot=0)
        table.update(slots, [read_key(taken.column(k)) for k in self.spec.keys], self.shape.prepare(taken))
        start = starts[table.slots()]
        columns = [from_physical(start, self.output.field(0).type), *table.results((start, start + size))]
        return pa.RecordBatch.from_arrays(
            columns, schema=pa.schema([self.output.field(i) for i in range(len(columns))])
        )

    def save(self) -> Iterator[Part]:
        yield from self.save_common()
        if self._unsaved and (self.rows or self._saved):
            self.rows = [concat_batches(self.rows)] if self.rows else []
            yield _ROWS, self.rows[0] if self.rows else None
            self._saved = bool(self.rows)
        self._unsaved = False

    def load(self, parts: Iterable[Part]) -> None:
        rows = self.load_common(parts).get(_ROWS)
        self.rows = [] if rows is None else [rows]
        self._unsaved, self._saved = False, rows is not None


def ended_below(bound: Bound, size: Bound) -> Bound:
    """The value below which every window that begins there has ended, if ``on < bound`` is promised.

    >>> ended_below(10, size=4)  # [6, 10) has, [7, 11) has not
    7
    >>> ended_below(0.5, size=0.25) > 0.25
    True
    """
    if isinstance(bound, int) and isinstance(size, int):
        return bound - size + 1
    last = bound - size
    while last + size > bound:  # a window's end, start + size, is rounded too
        last = math.nextafter(last, -math.inf)
    return math.nextafter(last, math.inf) if math.isfinite(last) else last


def _have_ended(starts: np.ndarray, bounds: np.ndarray, size: Bound, whole: bool) -> np.ndarray:
    """Which windows have ended, each by its own bound. The end is ``start + size`` as the type rounds it, because that
    decides which rows are in a window. Among whole bounds the least int64 means that nothing is promised, and the
    greatest means the end of the stream."""
    if not whole:
        found: np.ndarray = starts + float(size) <= bounds
        return found
    size = int(size)
    known = (bounds != INT64_MAX) & (bounds > INT64_MIN + size)
    return np.where(known, starts <= bounds - np.where(known, size, 0), bounds == INT64_MAX)
