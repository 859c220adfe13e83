"""The operator of landmark windows with steps: panes that are not complete, and one running partial for each group.

When ``wid < W`` is promised, the panes below W go into the running partials one after the other, and after each step
the running results are those of its window (OOP paper, section 4.1: panes, merged). A promise may reach many steps
further without a row between. Each of these steps has a result, which is made when there is room for it downstream. A
stretch of far too many steps is refused, because a single row in a wrong century would cause it. At the end there is no
last step, so windows go out up to the one with the last row. A group whose own end is promised has its last window
where its last row is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from oop.errors import OopError
from oop.kernels import views
from oop.operators.aggregate.aggregate import Aggregate
from oop.operators.aggregate.fields import WINDOW_END
from oop.operators.aggregate.operator import AggregateOperator, _at, reached_wid
from oop.operators.core.batches import resized
from oop.operators.core.context import Context
from oop.operators.core.coverage import INT64_MAX, INT64_MIN, as_int64, int_bounds
from oop.operators.core.keys import KeyTable
from oop.operators.core.marks import is_late, is_partial
from oop.operators.core.operator import Element
from oop.operators.core.parts import Part, read_text, text_part
from oop.operators.core.times import from_physical, show_time
from oop.operators.groups.table import Table
from oop.operators.groups.table_pieces import pieces_of
from oop.operators.windows.bucket import WID_START
from oop.punctuation import Frontier
from oop.punctuation.group_promises import Advance

_RUNNING, _LAST = "running", "last"
_MOST = 100_000_000  # rows that steps without a change may put out


class LandmarkOperator(AggregateOperator):
    """The store holds panes, ``running`` the groups since the landmark; ``last`` is the latest pane that had a row."""

    def __init__(self, spec: Aggregate, context: Context, changes: bool) -> None:
        super().__init__(spec, context)
        self.store.adaptive = False  # panes are taken one by one
        self.changes = changes
        self.running = self._table()
        self.last = INT64_MIN
        self._unsaved = self._saved = False

    def _table(self) -> Table:
        return Table(self.store.shape, False, 0)

    @property
    def buffered_rows(self) -> int:
        return super().buffered_rows + len(self.running)

    @property
    def state_bytes(self) -> int:
        return super().state_bytes + (self.running.nbytes if len(self.running) else 0)

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterator[Element]:
        slots = views.column(batch.column(0 if is_partial(batch) else WID_START)).data
        if is_late(batch):  # a late row counts from the first of its windows on that is not out
            bounds = int_bounds(self.ports.frontiers[port], WID_START, {k: batch.column(k) for k in self.keys})
            bounds = np.broadcast_to(bounds, len(slots))
            batch = self.keep_usable(batch, bounds < INT64_MAX)
            slots = np.maximum(slots, bounds)[bounds < INT64_MAX]
        if len(slots):
            self.last = max(self.last, int(slots.max()))
            if is_partial(batch):
                self.take_partials(batch)
            else:
                self.take_in(slots, batch)
        yield from ()

    def process_punctuation(self, advance: Advance, port: int = 0) -> Iterator[Element]:
        frontier = self.ports.frontiers[port]
        before = frontier.copy()
        new = self.ports.advance_singly(advance, port)
        if not new:
            return
        most = max(map(reached_wid, new))
        if most > INT64_MIN:  # bounds on other attributes complete nothing
            steps = self._changed if self.changes else self._steps
            yield from resized(steps(before, frontier, most), self.batch_rows)
        if as_int64(frontier.bound(WID_START)) == INT64_MAX:
            self._run_on(self._table())
        yield from self.ports.promises(new)

    def _changed(self, before: Frontier, frontier: Frontier, most: int) -> Iterator[pa.RecordBatch]:
        """The results of each pane's step, for the groups that the pane has."""
        for pane in self.store.numbers_below(most):
            found = self._close_pane(pane, frontier)
            if found is not None:
                here = self.running.keys.map(found.key_columns(), len(found))
                yield from self._repeated(self.running.select(here), pane, pane + 1)
        if most == INT64_MAX and len(self.running):
            self._keep(self._bounds(frontier, self.running) < INT64_MAX)

    def _steps(self, before: Frontier, frontier: Frontier, most: int) -> Iterator[pa.RecordBatch]:
        """The results of each step, for all groups so far whose bound has passed it just now (A.1.1: each group as far
        as its own bound reaches).

        Steps are made together if nothing happens between them: no pane goes in, and no group joins or drops out.
        """
        over = as_int64(frontier.bound(WID_START)) == INT64_MAX
        end = self.last + 1 if over else INT64_MAX
        lasts = self._last_rows(frontier) if most == INT64_MAX and not over else {}
        panes = self.store.numbers_below(most)[::-1]
        low, high = self._reach(before, frontier, end)
        step = INT64_MIN
        while True:
            here = np.maximum(low, step)
            waiting = here[here < high]
            step = min([_least(waiting), *panes[-1:]])
            if step == INT64_MAX:
                return
            pane = panes.pop() if panes and panes[-1] == step else None
            if pane is not None and self._close_pane(pane, frontier) is not None:
                low, high = self._reach(before, frontier, end)
            ready = (low <= step) & (step < high)
            # a group that ends has its last window in this very step
            until = step + 1 if pane in lasts else min([_least(high[ready]), _least(low[low > step]), *panes[-1:]])
            all_ = ready.all()  # the usual case, in which keys need not be looked up anew
            table = _at(self.running, step) if all_ else self.running.select(np.flatnonzero(ready))
            yield from self._repeated(table, step, until)
            if pane in lasts:
                ids = self.running.keys.map(lasts[pane].key_columns(), len(lasts[pane]))
                self._keep(~np.isin(np.arange(len(self.running)), ids))
                low, high = self._reach(before, frontier, end)
            step = until

    def _reach(self, before: Frontier, frontier: Frontier, end: int) -> tuple[np.ndarray, np.ndarray]:
        """For each running group the steps from which and up to which it goes out now."""
        return self._bounds(before, self.running), np.minimum(self._bounds(frontier, self.running), end)

    def _close_pane(self, pane: int, frontier: Frontier) -> Table | None:
        """Take the groups of a pane that are complete into the running ones; they are the result."""
        found = self.store.take_where(pane, pane < self._bounds(frontier, self.store.tables[pane]))
        if found is not None:
            self.running.absorb(found)
            self._unsaved = True
        return found

    def _last_rows(self, frontier: Frontier) -> dict[int, Table]:
        """For each pane the ended groups that have their last row in it. Ended groups without a row in a pane are
        dropped from the running ones, since they are out already."""
        seen = KeyTable(self.store.shape.kinds)
        found: dict[int, Table] = {}
        for pane in self.store.numbers_below(INT64_MAX)[::-1]:
            table = self.store.tables[pane]
            ended = table.select(np.flatnonzero(self._bounds(frontier, table) == INT64_MAX))
            if len(ended):
                known = len(seen)
                new = seen.map(ended.key_columns(), len(ended)) >= known
                found[pane] = ended.select(np.flatnonzero(new))
        if len(self.running):
            known = len(seen)
            silent = seen.map(self.running.key_columns(), len(self.running)) >= known
            self._keep(~(silent & (self._bounds(frontier, self.running) == INT64_MAX)))
        return found

    def _keep(self, mask: np.ndarray) -> None:
        if not mask.all():
            self._run_on(self.running.select(np.flatnonzero(mask)))

    def _run_on(self, running: Table) -> None:
        self.running = running
        self._unsaved = True

    def _repeated(self, table: Table, first: int, until: int) -> Iterator[pa.RecordBatch]:
        """The results of steps in which the groups stay as they are."""
        rows = len(table)
        if not rows:
            return
        if rows * (until - first) > _MOST:
            self._refuse(rows, first, until)
        if rows > self.batch_rows or any(a.sees_window for _, a in table.shape.aggregates):
            for table.slot in range(first, until):
                yield from map(self._batch, pieces_of(table, self.batch_rows))
            return
        table.slot = first
        one = self._batch(table)
        place = one.schema.get_field_index(WINDOW_END)
        many = max(1, self.batch_rows // rows)
        for begin in range(first, until, many):
            wids = np.arange(begin, min(begin + many, until))
            ends = from_physical(np.repeat(self.grid.edges(wids)[1], rows), self.time)
            yield pa.concat_batches([one] * len(wids)).set_column(place, one.schema.field(place), ends)

    def _refuse(self, rows: int, first: int, until: int) -> None:
        edges = [show_time(self.grid.end(wid), self.time) for wid in (first, until - 1)]
        of = "the result" if not self.keys else f"results of {rows:,} groups"
        raise OopError(
            f"{of} would be put out {until - first:,} times without a change, for windows that end at {edges[0]} up to "
            f"{edges[1]}: the times of the input, or its promises, jump that far",
            hint="filter out times that cannot be, take a longer every=, or put out only the groups that had a row: "
            "oop.landmark(…, changes=True)",
        )

    def open_results(self) -> Iterator[pa.RecordBatch]:
        """The open results, as of the last step that has rows, which includes the steps before it."""
        panes = self.store.touched() and sorted(self.store.tables)
        if panes:
            so_far = self._table()
            so_far.absorb(*filter(len, [self.running, *(self.store.tables[pane] for pane in panes)]))
            still = self._bounds(self.ports.frontiers[0], so_far) <= panes[-1]
            if self.changes:  # no others will be put out for this step
                last = self.store.tables[panes[-1]]
                still &= np.isin(np.arange(len(so_far)), so_far.keys.map(last.key_columns(), len(last)))
            yield self._batch(_at(so_far.select(np.flatnonzero(still)), panes[-1]))

    def save(self) -> Iterator[Part]:
        yield from super().save()
        yield text_part(_LAST, self.last)
        if self._unsaved:
            here = len(self.running) > 0
            if here or self._saved:
                yield _RUNNING, self.running.to_batch() if here else None
            self._unsaved, self._saved = False, here

    def load(self, parts: Iterable[Part]) -> None:
        found = dict(parts)
        super().load(found.items())
        self.running = self._table()
        running, last = found.get(_RUNNING), found.get(_LAST)
        self._saved = running is not None
        if running is not None:
            self.running.load_batch(running)
        latest = INT64_MIN if last is None else read_text(last)
        assert isinstance(latest, int)
        self.last = latest
        self._unsaved = False


def _least(steps: np.ndarray) -> int:
    return int(steps.min()) if len(steps) else INT64_MAX
