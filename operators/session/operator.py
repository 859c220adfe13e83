"""The running `Session`: rows go into open sessions, a promise closes the sessions that no row can reach any more."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import dispatch, views
from oop.kernels.signatures.sessions import Dropped
from oop.kernels.steps import HASHES
from oop.operators.aggregate.fields import WINDOW_START
from oop.operators.core.context import Context
from oop.operators.core.coverage import INT64_MAX, as_float, as_int64, bounds_of_rows, group_columns
from oop.operators.core.keys import read_key
from oop.operators.core.least_held import Least, least_by_group
from oop.operators.core.marks import is_late, keep_late
from oop.operators.core.operator import Element, Held, Operator
from oop.operators.core.parts import Part
from oop.operators.core.row_groups import distinct_groups
from oop.operators.core.times import from_physical, is_whole
from oop.operators.functions.accumulators import Accumulator
from oop.operators.groups.shape import Shape
from oop.operators.session.emitted_ends import EmittedEnds
from oop.operators.session.fields import SessionFields
from oop.operators.session.parts import SessionParts
from oop.operators.session.table import SessionTable
from oop.operators.session.targets import SessionTargets
from oop.punctuation import Equal, Frontier, Punctuation
from oop.punctuation.group_promises import Advance, one_by_one
from oop.punctuation.patterns import Group

GroupsOfColumns = tuple[tuple[str, ...], list[Group]]
"""Some key columns, and groups of these columns."""


class SessionOperator(Operator):
    """``late_unused`` counts admitted late rows that came too late, would have touched a session that had gone out, or
    would have begun a session before the promise about ``window_start``."""

    shows_open = True

    def __init__(self, spec: SessionFields, context: Context) -> None:
        super().__init__(spec, context)
        (schema,) = context.inputs
        self.spec, self.whole = spec, is_whole(schema.field(spec.on).type)
        self.output = spec.schema(context.inputs)
        self.table = SessionTable(Shape(schema, spec.keys, spec.aggregates), spec.gap, self.whole)
        self.parts = SessionParts(self.table)
        self.emitted = EmittedEnds(self.table) if spec.admits else None
        self.saves = False  # is the state saved, so that another instance may continue from it?

    @property
    def buffered_rows(self) -> int:
        return len(self.table)

    @property
    def state_bytes(self) -> int:
        return self.table.nbytes + (0 if self.emitted is None else self.emitted.nbytes)

    def targets(self) -> SessionTargets:
        return SessionTargets(self.table)

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterable[Element]:
        times = batch.column(self.spec.on)
        if times.null_count:  # a row that an outer join padded may have no time: it is in no session
            batch = keep_late(batch.filter(times.is_valid()), batch)
        if is_late(batch):
            batch = self._usable(batch)
        if batch.num_rows:
            keys = [read_key(batch.column(k)) for k in self.spec.keys]
            self.table.add(keys, views.times(batch.column(self.spec.on)), self.table.shape.prepare(batch))
        return ()

    def _usable(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The late rows whose session would still be open and touches none that went out (``late="admit"``).

        The session must not begin below the promise about ``window_start`` either: later rows that are on time could
        join it, and the consumers could not take it. So open sessions keep every promise, as without late rows.
        """
        times = views.times(batch.column(self.spec.on))
        keys = {k: batch.column(k) for k in self.spec.keys}
        usable = ~_is_below(times + self.spec.gap, self._bounds(self.ports.frontiers[0], keys), self.whole)
        usable &= times >= self._bounds(self.ports.out, keys, WINDOW_START)
        ids = self.table.map([read_key(batch.column(k)) for k in self.spec.keys], batch.num_rows)
        usable &= False if self.emitted is None else self.emitted.are_before(ids, times)
        self.late_unused += int(batch.num_rows - usable.sum())
        return batch.filter(pa.array(usable))

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        new = self.ports.advance_singly(advance, port)
        if not new:
            return
        frontier = self.ports.frontiers[0]
        closed = self._closed(frontier, new)
        for at in range(0, len(closed), self.batch_rows):
            yield from self._put_out(closed[at : at + self.batch_rows])
        self._tidy(frontier)
        yield from self._promises(new)

    def _tidy(self, frontier: Frontier) -> None:
        if frontier.ended:
            self.table.release()
            if self.emitted is not None:
                self.emitted.release()
        elif self.emitted is None:
            self.table.tidy()
        else:
            least = frontier.bound(self.spec.on)
            self.emitted.tidy(-math.inf if least is None else least - self.spec.gap)

    def _closed(self, frontier: Frontier, new: Sequence[Punctuation]) -> np.ndarray:
        """The sessions that the promises cover, those of each group as far as its own bound reaches (A.1.1)."""
        on, table = self.spec.on, self.table
        grouped = [c for c in group_columns(frontier) if c in self.spec.keys]
        if grouped:
            most = max(p.below.get(on, math.inf) for p in new)  # newly covered sessions end below the new bounds
            groups = self._only_about(new)
            named = None if groups is None else groups[1]  # and are of the groups that the promises name
        else:
            bound = frontier.bound(on)
            most = -math.inf if bound is None else bound

        def gone(records: np.ndarray) -> np.ndarray:
            keys = table.key_arrays(records, grouped)
            return _is_below(records["end"], self._bounds(frontier, keys, named=named), self.whole)

        return table.take_due(most, gone if grouped else None)

    def _bounds(
        self,
        frontier: Frontier,
        keys: Mapping[str, pa.Array],
        on: str | None = None,
        named: list[Group] | None = None,
    ) -> int | float | np.ndarray:
        """The bound on the time, or on another attribute, for each row or session; one number if all share it."""
        convert = as_int64 if self.whole else as_float
        found: int | float | np.ndarray = bounds_of_rows(frontier, on or self.spec.on, keys, convert, named)
        return found

    def _put_out(self, slots: np.ndarray) -> Iterator[pa.RecordBatch]:
        found, taken = self.table.take_out(slots)
        if self.emitted is not None:
            self.emitted.note(found)
        yield self._batch(found, taken)

    def _batch(self, found: Dropped, taken: Sequence[Accumulator]) -> pa.RecordBatch:
        edges = found.starts, found.ends
        columns = [*(from_physical(edge, self.spec.time) for edge in edges), *self.table.results(found, taken)]
        batch = pa.RecordBatch.from_arrays(columns, schema=self.output)
        return batch.take(pa.array(self._order(batch, edges))) if self.saves else batch

    def _order(self, batch: pa.RecordBatch, edges: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """An order that does not depend on slots, so that an operator puts out the same after its state was loaded."""
        keys = [views.key_column(batch.column(name)) for name in self.spec.keys]
        hashes = dispatch.kernels().hash_partition(keys, HASHES, batch.num_rows)
        found: np.ndarray = np.lexsort((hashes, *edges))
        return found

    def _promises(self, new: Sequence[Punctuation]) -> Iterator[Punctuation]:
        """The new promises of the output. One about ``window_start`` goes no further than the earliest open session."""
        ports = self.ports
        groups = self._only_about(new)
        images = self._images_of(groups)
        columns = {c for image in images for c in image.where}
        least = self._least_starts(columns) if groups is None else self._least_starts(columns, groups[1])
        for image in images:
            if WINDOW_START in image.below:
                first = least(image.where)
                if first is not None and first < image.below[WINDOW_START]:
                    image = Punctuation({**image.below, WINDOW_START: first}, image.where)
            if ports.out.advance(image):
                yield image

    def _only_about(self, new: Sequence[Punctuation]) -> GroupsOfColumns | None:
        """The groups that the promises name, if each names a single one and all promises so far are by the same
        columns. Then only sessions of these groups have closed or hold back promises."""
        kinds = self.ports.frontiers[0].kinds()
        if kinds is None or len(kinds) != 1:
            return None
        (columns,) = kinds
        found = []
        for promise in new:
            values = tuple(p.value for c in columns if isinstance(p := promise.where.get(c), Equal))
            if len(values) != len(columns) or len(values) != len(promise.where):
                return None
            found.append(values)
        return (columns, found) if set(columns) <= set(self.spec.keys) else None

    def _images_of(self, groups: GroupsOfColumns | None) -> list[Punctuation]:
        """What the output may promise about all rows and about these groups (None: about every group, because a session
        that closes may have held back promises about many)."""
        if groups is None:
            return list(self.ports.translated().promises())
        frontier, crossing = self.ports.frontiers[0], self.ports.crossing
        said = [Punctuation(corner) for corner in frontier.all]
        for group in dict.fromkeys(groups[1]):
            where = dict(zip(groups[0], group, strict=True))
            said += (Punctuation(corner, where) for corner in frontier.said_of(where))
        return [image for promise in said for image in one_by_one(crossing.added(promise, [frontier]) or ())]

    def _least_starts(self, columns: set[str], named: list[Group] | None = None) -> Least:
        """A function that gives the least start of an open session in the groups that a pattern matches. If groups are
        ``named``, only they are asked for."""
        if not columns:
            return lambda where: self.table.least_start()
        records = self.table.read(self.table.slots())
        keys = self.table.key_arrays(records, columns)
        # The values of a named group are in alphabetical order of their columns.
        return least_by_group({c: keys[c] for c in sorted(columns)}, records["start"], named)

    def open_results(self) -> Iterator[pa.RecordBatch]:
        """The sessions that are open, as they are now."""
        slots = self.table.slots()
        for at in range(0, len(slots), self.batch_rows):
            yield self._batch(*self.table.show(slots[at : at + self.batch_rows]))

    def oldest(self) -> Held | None:
        """The open session with the least end."""
        slots = self.table.slots()
        if not len(slots):
            return None
        first = slots[[np.argmin(self.table.sessions["end"][slots])]]
        record = self.table.read(first)
        end = record["end"].item()
        row = self._batch(*self.table.show(first)).select([*self.output.names[:2], *self.spec.keys]).to_pylist()[0]
        start, until, *keys = row.values()
        named = ", ".join(f"{k}={v!r}" for k, v in zip(self.spec.keys, keys, strict=True))
        groups = [c for c in group_columns(self.ports.frontiers[0]) if c in self.spec.keys]
        where = {c: distinct_groups(self.table.key_arrays(record, [c]))[1][0][0] for c in groups}
        after = end + 1 if self.whole else math.nextafter(end, math.inf)
        shown = f"session {start} to {until}" + (f" of {named}" if named else "")
        return Held(shown, 0, Punctuation({self.spec.on: after}, where))

    def save(self) -> Iterator[Part]:
        self.saves = True
        yield from self.save_common()
        yield from self.parts.save()
        if self.emitted is not None:
            yield self.emitted.save()

    def load(self, parts: Iterable[Part]) -> None:
        found = self.load_common(parts)
        self.saves = True
        self.parts.load(found)
        if self.emitted is not None:
            self.emitted.load(found)


def _is_below(values: np.ndarray, bounds: int | float | np.ndarray, whole: bool) -> np.ndarray:
    """Which values are below their bounds. Among whole numbers the greatest int64 stands for the end of all time."""
    below: np.ndarray = np.less(values, bounds)
    return below | np.equal(bounds, INT64_MAX) if whole else below
