"""The way of a promise through the boxes of a superbox, at once and without a queue, if nothing is in its way.

Boxes that only pass rows say what follows from a promise. The last one, which has state, processes what has come there.
Counts are those of promises that go from queue to queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from oop.engines.embedded.arcs import Arc, count_promises
from oop.engines.embedded.boxes import NEXT_ROUND, Box
from oop.operators.core.operator import Passing
from oop.operators.core.ports import Ports
from oop.punctuation.group_promises import Promise


class ExpressWay:
    """From the first of some boxes that follow each other to the last one."""

    def __init__(self, boxes: Sequence[Box]) -> None:
        self.first, self.last = boxes[0], boxes[-1]
        arcs = [next(arc for arc in box.outputs if arc.target is after) for box, after in pairwise(boxes)]
        self.passed: list[tuple[Arc[Box], Box, Ports]] = [
            (arc, box, box.operator.ports) for arc, box in zip(arcs, boxes[1:-1], strict=False)
        ]
        self.arcs = arcs
        self.is_open = len(boxes) > 1 and not any(box.check for box in boxes)
        for box in boxes[1:-1]:
            if type(box.operator).process_punctuation is not Passing.process_punctuation:
                self.is_open = False
        self._ends_here = all(arc.target is None for arc in self.last.outputs)

    def _is_free(self, promises: Sequence[Promise]) -> bool:
        """Is nothing in the way of these promises?"""
        last = self.last
        if not self.is_open or self.first.pulse is not None or last.pending is not None or last.failed:
            return False
        for arc in self.arcs:
            if arc.queue:
                return False
        for promise in promises:
            if promise.linear is None:
                return False
        return not last.is_full

    def take(self, promises: Sequence[Promise]) -> bool | None:
        """Carry promises that the first box makes to the last one. Returns True if no queue between boxes got anything,
        and None if something is in the way: then nothing was done."""
        if not self._is_free(promises):
            return None
        first = self.first
        first.promises_out += len(promises)
        stamps = first.stamps
        if stamps is not None:
            for promise in promises:
                if promise is not stamps.last:  # the operator has noted what it made
                    stamps.note(promise)
        advancing: Sequence[Promise] = promises
        for arc, box, ports in self.passed:
            found: list[Promise] = []
            for promise in advancing:
                new = ports.advance((promise,), arc.port)
                if new:
                    found += ports.promises(new, arc.port)
            arc.promises += len(advancing)
            box.promises_in += len(advancing)
            box.promises_out += len(found)
            advancing = found
        return self._arrive(advancing)

    def _arrive(self, promises: Sequence[Promise]) -> bool:
        """Let the last box process promises; those that it has no room for wait in its queue."""
        if not promises:
            return True
        last, arc = self.last, self.arcs[-1]
        put_out = last.batches_out, last.promises_out
        last.begin_turn()
        for number, promise in enumerate(promises):
            if last.pending is not None:
                for waiting in promises[number:]:
                    arc.put(waiting)
                break
            arc.promises += 1 if promise.linear is not None else count_promises(promise)
            try:
                if number:
                    last.process_advance((promise,), arc.port)
                else:  # its state has just been measured
                    last.promises_in += 1 if promise.linear is not None else count_promises(promise)
                    last.emit(last.operator.process_punctuation, (promise,), arc.port, pausing=True)
            except Exception:
                last.failed = True
                raise
        last.end_turn()
        if last.pending is not None:
            last.round = NEXT_ROUND  # it has had its turn
        return last.pending is None and (self._ends_here or put_out == (last.batches_out, last.promises_out))
