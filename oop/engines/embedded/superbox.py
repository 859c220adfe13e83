"""A superbox as it runs: the boxes from a source to one with state, of which a program does the work on rows.

A train of the source goes into the state in one call. Where the program ends before any state, or at a dedup, rows
leave from the last box. Promises go from box to box as ever, and so do rows that are not for the program. Rows may
overtake promises on the way. Where the operator is spread over shards, each of them has a
program, which takes its own rows of the same train; they run at once, and the engine waits for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import pyarrow as pa

from oop.engines.embedded.boxes import Box
from oop.engines.embedded.passages import Passages
from oop.engines.embedded.pool import Pool
from oop.engines.embedded.sharded import Sharded
from oop.errors import OopError
from oop.kernels import dispatch
from oop.kernels.signatures.programs import GuardState, NoTargets
from oop.operators.core.handed_out import HandedOut
from oop.operators.core.operator import Element
from oop.operators.source.in_program import GuardInProgram
from oop.plan.superboxes import Superbox


class ProgramLane:
    """The program that fills one operator. Lanes of one superbox see the same rows, and judge them alike."""

    def __init__(self, targets: Any, superbox: Superbox, guard: GuardState, shard: int, shards: int) -> None:
        assert superbox.code is not None
        self.targets = targets
        self.program = dispatch.kernels().TrainProgram(superbox.code, shard, shards)
        self._handed_out = None if superbox.rows is None else HandedOut(superbox.rows)
        self._batches: Sequence[pa.RecordBatch] = ()
        self.rows: list[pa.RecordBatch] = []
        """What a train has handed out."""
        self.guard = guard
        self.odd: tuple[int, int] | None = None
        self.error: BaseException | None = None
        self.runs = False
        self._turns: list[None] = []  # an entry while a turn waits: whoever takes it begins it, or calls it off

    def start(self, batches: Sequence[pa.RecordBatch], guard: GuardState) -> None:
        self.targets.begin()
        self._batches, self.rows = batches, []
        if self.guard is not guard:
            self.guard.follow(guard)
        self.program.start(batches, self.guard, self.targets)

    def submit(self, pool: Pool) -> None:
        """Let a thread run it."""
        self.runs = True
        self._turns.append(None)
        pool.submit(self._begin_turn)

    def _begin_turn(self) -> None:
        if self._takes_turn():
            self.go_on()

    def call_off(self) -> None:
        """If no thread has begun to run it, none will."""
        if self._takes_turn():
            self.runs = False

    def _takes_turn(self) -> bool:
        try:
            self._turns.pop()
        except IndexError:
            return False
        return True

    def go_on(self) -> None:
        """Run until the end of the train, or up to an odd chunk. An error is kept for the engine's thread."""
        try:
            self.odd = self.program.go_on()
            if self.odd is None and self._handed_out is not None:
                self.rows = list(self._handed_out.batches(self._batches, self.program))
        except BaseException as error:
            self.error = error
        finally:
            self.runs = False


class RunningSuperbox:
    """The first of the boxes is a source. The last one has state, or hands rows out, and is charged with the time."""

    def __init__(self, boxes: Sequence[Box], superbox: Superbox, pool: Pool | None) -> None:
        self.source, self.state, self.pool = boxes[0], boxes[-1], pool
        self.guard = GuardInProgram(self.source.input_operator)
        operator = self.state.operator
        self.sharded = operator if isinstance(operator, Sharded) else None
        operators = [operator] if self.sharded is None else [shard.operator for shard in self.sharded.shards]
        targets = [one.targets() for one in operators] if superbox.has_state else [NoTargets()]
        # the first lane judges for all: what its guard has seen is what the source has seen
        guards = [self.guard.guard, *(GuardState() for _ in targets[1:])]
        self.lanes = [
            ProgramLane(one, superbox, guard, i, len(targets))
            for i, (one, guard) in enumerate(zip(targets, guards, strict=True))
        ]
        self.others = self.lanes[1:]
        if superbox.rows is not None:
            self.source.exits = [*self.source.outputs, *self.state.outputs]
        self._passages = Passages(boxes)
        self._measured = -1  # the version of the state when it was last measured
        self._was_odd = False
        self.is_quiet = False
        """Has the last train put nothing into the queues?"""

    @property
    def is_busy(self) -> bool:
        """Are shards at work on what came before? A train waits until they have nothing to do."""
        return self.sharded is not None and (not self.sharded.is_idle or self.sharded.has_output)

    def take(self, train: Sequence[Element]) -> int | None:
        """Let the program take a train; the result is its number of rows. None if the train is not for a program."""
        for lane in self.lanes:
            if not lane.targets.fits:
                return None
        batches = self.guard.begin(train)
        if batches is None:
            return None
        begin = perf_counter()
        source, guard, first = self.source, self.guard, self.lanes[0]
        came = len(guard.ends)
        source.batches_in += came
        source.promises_in += len(train) - came
        rows = sum(map(len, batches))
        source.rows_in += rows
        self._was_odd = False
        try:
            for lane in self.lanes:
                lane.start(batches, guard.guard)
            while (odd := self._go_on()) is not None:
                self._take_odd(*odd)
        finally:
            try:
                if self.others:
                    self._wait()
            finally:
                for lane in self.lanes:
                    lane.program.finish()
                guard.take_late(first.program)
                self._passages.count(first.program.counts.tolist())
                self.state.seconds += perf_counter() - begin
        handed_out = False
        for lane in self.lanes:
            if lane.rows:
                self.state.emit(iter, lane.rows)
                handed_out, lane.rows = True, []
        try:
            promises = guard.promises(first.program)
        except OopError as wrong:
            raise wrong.located(source.node.site) from wrong.__cause__
        if promises:
            source.emit(iter, promises)
        if len(first.program.late):
            source.measure()
        version = sum(lane.targets.version for lane in self.lanes)
        if version != self._measured:  # otherwise no group has come
            self._measured = version
            self.state.measure()
        self.is_quiet = not promises and not handed_out and not self._was_odd
        return rows

    def _go_on(self) -> tuple[int, int] | None:
        """Run all lanes. All of them stop at the same odd chunk, because what makes one odd is decided before rows are
        parted."""
        first = self.lanes[0]
        for lane in self.others:
            assert self.pool is not None
            lane.submit(self.pool)
        first.go_on()
        if self.others:
            self._wait()
        for lane in self.lanes:
            if lane.error is not None:
                raise lane.error
        assert all(lane.odd == first.odd for lane in self.others)
        return first.odd

    def _wait(self) -> None:
        """Wait until no lane runs, also after an interrupt: what they read must not be given back before."""
        error: BaseException | None = None
        while any(lane.runs for lane in self.others):
            assert self.pool is not None
            try:
                self.pool.help()
            except BaseException as found:
                error = error or found
                for lane in self.others:
                    lane.call_off()
        if error is not None:
            raise error

    def _take_odd(self, first: int, end: int) -> None:
        """Let the boxes take the rows of an odd chunk one after the other."""
        guard = self.guard
        source = self.source
        self._was_odd = True
        source.emit(source.input_operator.process_train, guard.odd(first, end))
        guard.resume()
        for lane in self.others:
            lane.guard.follow(guard.guard)
