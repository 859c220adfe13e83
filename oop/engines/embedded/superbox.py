"""A superbox as it runs: the boxes from a source to one with state, of which a program does the work on rows.

A train of the source goes into the state in one call. Where the program ends before any state, or at a dedup, rows
leave from the last box. Promises go through the boxes at once (`express.py`), or from box to box where something is in
their way, as rows do that are not for the program. Rows may overtake promises on the way. Where the operator is spread
over shards, each of them has a program (`lanes.py`); they share a train, and the engine waits for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from oop.engines.embedded.boxes import Box
from oop.engines.embedded.express import ExpressWay
from oop.engines.embedded.lanes import Lanes
from oop.engines.embedded.passages import Passages
from oop.engines.embedded.pool import Pool
from oop.engines.embedded.row_order import RowOrder
from oop.engines.embedded.sharded import Sharded
from oop.errors import OopError
from oop.kernels.signatures.programs import NoTargets
from oop.operators.core.handed_out import HandedRows
from oop.operators.core.operator import Element
from oop.operators.source.in_program import GuardInProgram
from oop.plan.superboxes import Superbox
from oop.punctuation.group_promises import Promise


class RunningSuperbox:
    """The first of the boxes is a source. The last one has state, or hands rows out, and is charged with the time."""

    def __init__(self, boxes: Sequence[Box], superbox: Superbox, pool: Pool | None) -> None:
        self.source, self.state = boxes[0], boxes[-1]
        self.guard = GuardInProgram(self.source.input_operator)
        operator = self.state.operator
        self.sharded = operator if isinstance(operator, Sharded) else None
        operators = [operator] if self.sharded is None else [shard.operator for shard in self.sharded.shards]
        targets = [one.targets() for one in operators] if superbox.has_state else [NoTargets()]
        self.lanes = Lanes(targets, superbox, pool)
        gathers = self.sharded is None and operator.leaves_when_filled
        self._filled = operator.filled if gathers else None
        # only sessions and partial aggregates may take no rows now
        self._fits = superbox.code is None or (superbox.code.sessions is None and not gathers)
        if superbox.rows is not None or gathers:
            self.source.exits = [*self.source.outputs, *self.state.outputs]
        self._passages = Passages(boxes)
        self._order = RowOrder(boxes, superbox) if superbox.keeps_order else None
        self.express = ExpressWay(boxes) if self.sharded is None else None
        self._measured = -1  # the version of the state when it was last measured
        self._was_odd = False
        self.is_quiet = False
        """True if no queue between boxes got anything from the last train."""

    @property
    def is_busy(self) -> bool:
        """Are shards at work on what came before? A train waits until they have nothing to do."""
        return self.sharded is not None and (not self.sharded.is_idle or self.sharded.has_output)

    def take(self, train: Sequence[Element]) -> int | None:
        """Let the program take a train; the result is its number of rows. None if the train is not for a program."""
        # while something is on its way out, what is held for it must not change
        order = self._order
        takes = (self._fits or self.lanes.fit) and (order is None or order.is_clear) and self.state.pending is None
        batches = self.guard.begin(train) if takes else None
        if batches is None:
            return None
        begin = perf_counter()
        source, guard, lanes = self.source, self.guard, self.lanes
        came = len(guard.ends)
        source.batches_in += came
        source.promises_in += len(train) - came
        rows = guard.ends[-1]
        source.rows_in += rows
        self._was_odd = False
        if order is not None:
            order.begin(guard.guard)
        try:
            lanes.run(batches, guard.guard, self._take_odd)
        except OopError as wrong:
            if lanes.rows is not None:
                self._hand_out(lanes.rows, [])
            raise wrong.located(self.state.node.site) from wrong.__cause__
        finally:
            lanes.finish()
            guard.take_late(lanes)
            self._passages.count(lanes.counts)
            self.state.seconds += perf_counter() - begin
        if len(lanes.late):
            source.measure()
        version = lanes.version
        if version != self._measured:  # otherwise no group has come
            self._measured = version
            self.state.measure()
        left = self.state.batches_out
        if self._filled is not None:
            self.state.emit(self._filled)
        quiet = self.state.batches_out == left
        quiet &= self._go_on()
        if order is not None:
            quiet &= order.reach(guard.guard)
        self.is_quiet = quiet and not self._was_odd
        return rows

    def _go_on(self) -> bool:
        """Hand rows out, if that is where they go, and make the promises that follow from a train. Returns True if no
        queue between boxes got anything."""
        try:
            promises = self.guard.promises(self.lanes)
        except OopError as wrong:
            if self.lanes.rows is not None:
                self._hand_out(self.lanes.rows, [])
            raise wrong.located(self.source.node.site) from wrong.__cause__
        if self.lanes.rows is not None:
            return self._hand_out(self.lanes.rows, promises)
        return not promises or self._promise([promise for _, promise in promises])

    def _promise(self, promises: Sequence[Promise]) -> bool:
        """Make promises. Returns True if no queue between boxes got anything."""
        quiet = None if self.express is None else self.express.take(promises)
        if quiet is None:
            self.source.emit(iter, promises)
        return bool(quiet)

    def _hand_out(self, rows: HandedRows, promises: Sequence[tuple[int, Promise]]) -> bool:
        """Hand rows out, with promises between them, so that what waits behind has no more to hold than it must. Where
        a promise cannot go at once, the rows pass it."""
        before = self.state.batches_out
        waiting: list[Promise] = []
        for place, promise in promises:
            if waiting or self.express is None:
                waiting.append(promise)
                continue
            self.state.emit(rows.until, place)
            if self.express.take([promise]) is None:
                waiting.append(promise)
        self.state.emit(rows.until, None)
        self.lanes.rows = None
        if waiting:
            self.source.emit(iter, waiting)
        return not promises and self.state.batches_out == before

    def _take_odd(self, first: int, end: int) -> bool:
        """Let the boxes take the rows of an odd chunk one after the other. Returns whether the program goes on behind
        the chunk; if order matters, the boxes took the rest."""
        guard = self.guard
        source = self.source
        self._was_odd = True
        if self._order is not None:
            end = guard.ends[-1]
        source.emit(source.input_operator.process_train, guard.odd(first, end))
        guard.resume()
        return self._order is None
