"""A superbox that does not begin at a source: its program takes batches from the queue of its first box.

Promises go from box to box as ever, and so do rows that are not for the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

import pyarrow as pa

from oop.engines.embedded.boxes import Box
from oop.engines.embedded.passages import Passages
from oop.engines.embedded.row_order import RowOrder
from oop.errors import OopError
from oop.kernels import dispatch
from oop.kernels.signatures.programs import GuardState, NoTargets
from oop.operators.core.handed_out import HandedOut
from oop.plan.superboxes import Superbox


class InnerSuperbox:
    """Runs the program of a superbox for its first box. The last box is charged with the time."""

    def __init__(self, boxes: Sequence[Box], superbox: Superbox) -> None:
        assert superbox.code is not None
        self.first, self.last = boxes[0], boxes[-1]
        self.schema = superbox.schema
        self.targets = self.last.operator.targets() if superbox.has_state else NoTargets()
        self.handed_out = None
        if superbox.rows is not None:
            self.handed_out = HandedOut(superbox.rows)
        if superbox.rows is not None or self.last.operator.leaves_when_filled:
            self.first.exits = [*self.first.outputs, *self.last.outputs]
        self.program = dispatch.kernels().TrainProgram(superbox.code)
        self._guard = GuardState()  # there is nothing to judge
        self._passages = Passages(boxes)
        self._order = RowOrder(boxes, superbox) if superbox.keeps_order else None

    def take(self, batch: pa.RecordBatch) -> bool:
        """Let the program take a batch; False if it is not for a program."""
        if batch.schema.metadata is not None or not batch.schema.equals(self.schema):
            return False
        guard, order = self._guard, self._order
        if not self.targets.fits or (order is not None and not order.is_clear) or self.last.pending is not None:
            return False  # while something is on its way out, what is held for it must not change
        begin = perf_counter()
        program = self.program
        rest: pa.RecordBatch | None = None
        if order is not None:
            order.begin(guard)
        self.targets.begin()
        program.start([batch], guard, self.targets)
        try:
            while (odd := program.go_on()) is not None:
                # the boxes take the rows of an odd chunk one after the other, and all behind them if order matters
                first, end = odd
                if order is not None:
                    rest = batch.slice(first)
                    program.skip_rest()
                else:
                    self.first.emit(self.first.operator.process_batch, batch.slice(first, end - first))
        except OopError as wrong:
            raise wrong.located(self.last.node.site) from wrong.__cause__
        finally:
            program.finish()
            self._passages.count(program.counts.tolist())
            self.last.seconds += perf_counter() - begin
        if self.last.operator.leaves_when_filled:
            self.last.emit(self.last.operator.filled)
        if self.handed_out is not None:
            self.last.emit(self.handed_out.rows([batch], program).until, None)
        self.last.measure()
        if order is not None:
            order.reach(guard)
            if rest is not None:
                order.follow(self.first, rest)
        return True
