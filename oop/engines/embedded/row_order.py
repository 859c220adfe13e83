"""`RowOrder`: keeps rows in order around a program, and closes windows by how far rows have come.

Where the result depends on the order of rows (in-order plans, `assume`, Aurora's sorts), a program takes rows only
while none waits in the queues between its boxes, because it goes past them. Rows behind an odd chunk take the way of
the boxes too. In an in-order plan, what rows have reached completes windows behind each train, as it does behind a
batch that the last operator takes itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, pairwise

import pyarrow as pa

from oop.engines.embedded.boxes import NEXT_ROUND, Box
from oop.kernels.signatures.programs import GuardState
from oop.operators.core.operator import Element
from oop.operators.in_order.wrapper import InOrderOperator
from oop.plan.superboxes import Superbox


class RowOrder:
    """The order of the rows that go through some boxes that follow each other."""

    def __init__(self, boxes: Sequence[Box], superbox: Superbox) -> None:
        self.last = boxes[-1]
        self._ways = [
            (next(arc for arc in box.outputs if arc.target is after), after) for box, after in pairwise(boxes)
        ]
        operator = self.last.operator
        self._operator = operator if isinstance(operator, InOrderOperator) and superbox.has_state else None

    @property
    def is_clear(self) -> bool:
        """May a program take rows now, or are there rows between the boxes that it would overtake?"""
        return not any(arc.queued_rows or after.pending is not None for arc, after in self._ways)

    def begin(self, guard: GuardState) -> None:
        """A train begins: say what rows have reached."""
        if self._operator is not None:
            last = self._operator.last
            guard.reached = None if last == -float("inf") else last

    def reach(self, guard: GuardState) -> bool:
        """Put out what is complete by what the rows of a train have reached. Returns True if no queue between boxes got
        anything."""
        operator, found, last = self._operator, guard.reached, self.last
        if operator is None or found is None or found <= operator.last:
            return True
        put_out = last.batches_out, last.promises_out
        last.begin_turn()
        try:
            _put_out(last, operator.reach, found)
        except Exception:
            last.failed = True
            raise
        last.end_turn()
        if last.pending is not None:
            last.round = NEXT_ROUND  # it has had its turn
            return False
        return put_out == (last.batches_out, last.promises_out) or all(arc.target is None for arc in last.outputs)

    def follow(self, box: Box, rows: pa.RecordBatch) -> None:
        """Let the first box take rows behind what the program has taken."""
        _put_out(box, box.operator.process_batch, rows)


def _put_out(box: Box, hook: Callable[..., Iterable[Element]], *given: object) -> None:
    """Put out what a hook gives, behind what is pending."""
    if box.pending is not None:
        box.pending = chain(box.pending, _later(hook, *given))
    else:
        box.emit(hook, *given, pausing=True)


def _later(hook: Callable[..., Iterable[Element]], *given: object) -> Iterator[Element]:
    yield from hook(*given)
