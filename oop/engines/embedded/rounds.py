"""The rounds of a run: sources are read, boxes that hold a promise have their turn, then the scheduler's boxes do.

An error of a source or of a box is kept as the ``failure``. The `Run` (or `Crank`) that drives the rounds raises it,
when the results of what came before it have left.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from oop.engines.embedded.boxes import NEXT_ROUND, Box
from oop.engines.embedded.feeds import Failed
from oop.engines.embedded.health import SilenceMonitor
from oop.engines.embedded.network import Network
from oop.operators.core.arrival import CLOCK, arrives_at

if TYPE_CHECKING:
    from oop.engines.embedded.options import Options

_ELEMENT_ROWS = 1_024  # each waiting element counts as this many rows more, because many small elements are work too


class Rounds:
    """The rounds over a network, with the scheduler of the options, and with a monitor if they ask for one."""

    def __init__(self, network: Network, options: Options) -> None:
        self.boxes, self.sources, self.clocked = network.boxes, network.sources, network.clocked
        self.clock, self.pool = network.clock, network.pool
        self.scheduler = copy(options.scheduler)  # a copy, because a scheduler may count the turns of one run
        self.failure: BaseException | None = None
        self.telling: int | None = None  # the thread in which on_silent is being called; no operator works meanwhile
        silent_for = options.silent_for
        self.monitor = (
            None if silent_for is None else SilenceMonitor(self.boxes, self.clock, silent_for, options.on_silent)
        )
        self._round_rows = network.round_rows
        self._there_and_back = self.boxes[::-1] + self.boxes
        self._train: int | None = getattr(self.scheduler, "train", None)
        self._number = 0  # the number of the round
        # Had no box anything to do in the last round, and has the reading since then put nothing into the queues? Then
        # a round need not look at the boxes, as with most rows of a live input.
        self._is_calm = self._was_quiet = False

    @property
    def have_ended(self) -> bool:
        """Have all sources ended?"""
        return all(source.done for source in self.sources)

    def read(self) -> bool:
        """Let every source that has room give the rows of one round. False if there was nothing to read."""
        any_read = False
        quiet = not self.clocked and self.monitor is None
        if self.clocked:
            self.tick()  # tick first, or a busy source would starve the clock
        # While a box is still putting out what a promise released, only inputs that say that something waits are read,
        # because those could overflow. Rows of other inputs can wait where they are, and reading such an input may
        # block.
        releasing = False
        for box in self.boxes:  # a loop and not `any`, because this runs for each batch
            if box.unfinished:
                releasing = True
                break
        for source in self.sources:
            rows = 0
            while not source.done and rows < self._round_rows and not source.is_pushed_back:
                if releasing and not source.feed.waiting:
                    break
                train = source.feed.next()
                if train is None:
                    quiet = False
                    self.guarded(source.box, source.poll)
                    break
                any_read = True
                if isinstance(train, Failed):
                    self.failure, self._was_quiet = source.located(train.error), False
                    return True
                try:
                    rows += source.take(train)
                    quiet &= source.is_quiet
                except Exception as error:
                    self._fail(source.box, error)
                if self.failure is not None:
                    self._was_quiet = False
                    return True
                if source.is_live and not releasing:
                    break  # the next element may be long in coming
                rows += _ELEMENT_ROWS if releasing else 0
            if source.operator.clocked:
                quiet = False
                self.guarded(source.box, partial(source.tick, self.clock))
        if self.monitor is not None:  # only after reading: a pause in which nobody read the run is no silence
            self._watch(self.monitor)
        self._was_quiet = quiet
        return any_read

    def run(self) -> bool:
        """Run one round. If there was nothing to do in it, run a task of the pool. False if nothing is left to do."""
        if self._is_calm and self._was_quiet and self.pool is None:
            return False
        # The pool is asked before the round, so that the round sees everything that threads put out before they went
        # idle.
        busy = self.pool is not None and not self.pool.is_idle
        if self.pool is not None:
            self.pool.check()
        self._number += 1
        ran = self.serve_promises()
        ran |= self._serve(self.scheduler.turn(self.boxes))
        if busy and not ran and self.pool is not None:
            self.pool.help()
        self._is_calm = not ran and not any(box.has_work for box in self.boxes)
        return ran or busy

    def serve_promises(self) -> bool:
        """Run the boxes that hold a promise: first those nearest to the result, then the boxes that the promise reaches
        on its way. They run before all others, because a promise is an element of high priority (OOP paper, A.1.1)."""
        return self._serve(self._holding_promises())

    def _holding_promises(self) -> Iterator[tuple[Box, int | None]]:
        """The boxes that hold a promise when their turn comes. A box may get its promise from one that has just run."""
        for box in self._there_and_back:
            if box.pending is not None:
                yield box, self._train
                continue
            for arc in box.inputs:
                if arc.queued_promises:
                    yield box, self._train
                    break

    def _serve(self, turns: Iterable[tuple[Box, int | None]]) -> bool:
        """Let boxes have their turns, each with the most rows that it may take. True if any of them ran. A box that
        could not finish gets no second turn in a round, because inputs wait to be read too."""
        ran = False
        for box, rows in turns:
            if box.round == NEXT_ROUND:
                box.round = self._number
            if (box.unfinished and box.round == self._number) or not box.can_run:
                continue
            try:
                box.run(rows)
            except Exception as error:
                self._fail(box, error)
            box.round = self._number
            ran = True
        return ran

    def tick(self) -> None:
        """Let operators look at the clock, but not while rows wait in front of them, because those arrived before."""
        for box in self.clocked:
            if not box.has_work and not box.failed:
                punct = arrives_at(self.clock.now(CLOCK))
                self.guarded(box, partial(box.tick, punct))

    def finish(self) -> None:
        """Finish the pending output of all boxes. After that, what operators hold is exactly what is open."""
        for box in self.boxes:
            self.guarded(box, box.finish)

    def guarded(self, box: Box, action: Callable[[], Any]) -> None:
        """Do an action of a box. An error is kept, and raised when the results of what came before it have left."""
        try:
            action()
        except Exception as error:
            self._fail(box, error)

    def _fail(self, box: Box, error: BaseException) -> None:
        self.failure = self.failure or error
        box.failed = True

    def _watch(self, monitor: SilenceMonitor) -> None:
        """Let the monitor look. An error that ``on_silent`` raises ends the run, when the results of what came before
        it have left. While ``on_silent`` runs, it may call `Run.blame`, which `telling` makes possible."""
        self.telling = threading.get_ident()
        try:
            monitor.look()
        except Exception as error:
            self.failure = self.failure or error
        finally:
            self.telling = None
