"""`Lanes`: the programs that fill the shards of one operator, each in a thread.

Every lane judges a part of a train, all of them at once. Then each takes the rows of its own shard from all of them, so
no row is judged twice. Whether more threads than one are at work changes no answer: each lane gets its rows in the
order in which they came.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa

from oop.engines.embedded.pool import Pool
from oop.engines.embedded.thread_choice import ThreadChoice
from oop.errors import OopError
from oop.kernels import dispatch
from oop.kernels.signatures.programs import NO_ROWS, GuardState
from oop.operators.core.handed_out import HandedOut, HandedRows
from oop.plan.superboxes import Superbox

PARALLEL_ROWS = 16_384
"""Trains of fewer rows are left to one thread: to wake another one would take longer."""


class ProgramLane:
    """One program, and the thread that runs it."""

    def __init__(self, targets: Any, superbox: Superbox, shard: int, shards: int) -> None:
        assert superbox.code is not None
        self.targets = targets
        self.program = dispatch.kernels().TrainProgram(superbox.code, shard, shards)
        self.guard = GuardState()
        self.odd: tuple[int, int] | None = None
        self.error: BaseException | None = None
        self.runs = False
        self._turns: list[Callable[[], None]] = []  # what waits: whoever takes it begins it, or calls it off

    def submit(self, pool: Pool, work: Callable[[], None]) -> None:
        """Let a thread do it."""
        self.runs = True
        self._turns.append(work)
        pool.submit(self._begin_turn)

    def _begin_turn(self) -> None:
        work = self._take_turn()
        if work is not None:
            self.do(work)

    def call_off(self) -> None:
        """If no thread has begun, none will."""
        if self._take_turn() is not None:
            self.runs = False

    def _take_turn(self) -> Callable[[], None] | None:
        try:
            return self._turns.pop()
        except IndexError:
            return None

    def do(self, work: Callable[[], None]) -> None:
        """An error is kept for the engine's thread."""
        try:
            work()
        except BaseException as error:
            self.error = error
        finally:
            self.runs = False

    def check(self) -> None:
        """Raise the error that it has met."""
        if self.error is not None:
            raise self.error

    def judge(self) -> None:
        """Run the part of the train until its end, or up to an odd chunk."""
        self.odd = self.program.go_on()


class Lanes:
    """``targets`` are where the rows of each shard go. ``rows`` are what a train has handed out, ``late`` are the
    numbers of its late rows, with the bounds that they broke, and ``counts`` how many rows came to each mark since the
    beginning."""

    def __init__(self, targets: Sequence[Any], superbox: Superbox, pool: Pool | None) -> None:
        self.lanes = [ProgramLane(one, superbox, i, len(targets)) for i, one in enumerate(targets)]
        self.others = self.lanes[1:]
        self.pool = pool
        self.late, self.broken = NO_ROWS, NO_ROWS
        self.handed_out = None if superbox.rows is None else HandedOut(superbox.rows)  # by the only lane
        self.rows: HandedRows | None = None
        self.choice = ThreadChoice()
        self._judged = 0  # so many lanes have judged their parts without an error

    @property
    def version(self) -> int:
        if not self.others:
            found: int = self.lanes[0].targets.version
            return found
        return sum(lane.targets.version for lane in self.lanes)

    @property
    def fit(self) -> bool:
        """Do all targets take rows from programs now?"""
        return all(lane.targets.fits for lane in self.lanes)

    @property
    def counts(self) -> list[int]:
        found = self.lanes[0].program.counts
        for lane in self.others:
            found = found + lane.program.counts
        counts: list[int] = found.tolist()
        return counts

    def run(self, batches: Sequence[pa.RecordBatch], guard: GuardState, take_odd: Callable[[int, int], bool]) -> None:
        """Run a train. ``take_odd`` takes an odd chunk another way, and knows of the guard what ``guard`` says, which
        it leaves as it is behind that chunk. False if it has taken the rest of the train too. `finish` must follow,
        also after an error."""
        lane = self.lanes[0]
        if not self.others:  # this is done for each row of a live input, so it does nothing more
            program = lane.program
            lane.targets.begin()
            program.start(batches, guard, lane.targets)
            try:
                while (odd := program.go_on()) is not None:
                    if not take_odd(*odd):
                        program.skip_rest()
            except OopError:
                if self.handed_out is not None:  # what came through before the error is handed out all the same
                    program.skip_rest()
                    program.go_on()
                    self.rows = self.handed_out.rows(batches, program)
                raise
            if self.handed_out is not None:
                self.rows = self.handed_out.rows(batches, program)
            return
        rows, begin = sum(map(len, batches)), perf_counter()
        large = rows >= PARALLEL_ROWS
        parallel = large and self.choice.next()
        spread = parallel and guard.rank is None  # what some rows imply by rank cannot be told from their greatest time
        self._start(batches, guard, rows, spread)
        self._do(ProgramLane.judge, self.lanes if spread else self.lanes[:1], spread)
        for lane in self.lanes:
            lane.check()
            while lane.odd is not None:
                guard.follow(lane.guard)
                take_odd(*lane.odd)
                lane.guard.follow(guard)
                lane.judge()
            self._judged += 1
        guard.follow(self.lanes[-1 if spread else 0].guard)
        programs = [lane.program for lane in self.lanes]
        self._do(lambda lane: lane.program.take_sent(programs), self.lanes, parallel)
        for lane in self.lanes:
            lane.check()
        if large:
            self.choice.took(parallel, rows, perf_counter() - begin)

    def _start(self, batches: Sequence[pa.RecordBatch], guard: GuardState, rows: int, spread: bool) -> None:
        """Give each lane its part of the train; the first one has all of it if the others are not to judge."""
        count = len(self.lanes)
        self._judged = 0
        for i, lane in enumerate(self.lanes):
            lane.targets.begin()
            lane.guard.follow(guard)
            lane.odd = lane.error = None
            if spread:
                end = None if i == count - 1 else rows * (i + 1) // count
                lane.program.start(batches, lane.guard, lane.targets, rows * i // count, end)
            else:
                lane.program.start(batches, lane.guard, lane.targets, rows if i else 0)

    def _do(self, work: Callable[[ProgramLane], None], lanes: Sequence[ProgramLane], parallel: bool) -> None:
        """Let lanes work, the first one in this thread. Errors are theirs."""
        if not parallel:
            for lane in lanes:
                lane.do(partial(work, lane))
            return
        assert self.pool is not None
        try:
            for lane in self.others:
                lane.submit(self.pool, partial(work, lane))
            lanes[0].do(partial(work, lanes[0]))
        finally:
            self._wait(self.pool)

    def _wait(self, pool: Pool) -> None:
        """Wait until no lane runs, also after an interrupt: what they read must not be given back before."""
        error: BaseException | None = None
        while any(lane.runs for lane in self.others):
            try:
                pool.help()
            except BaseException as found:
                error = error or found
                for lane in self.others:
                    lane.call_off()
        if error is not None:
            raise error

    def finish(self) -> None:
        """End the train. What lanes have judged behind an error does not count."""
        for lane in self.lanes:
            lane.program.finish()
        if not self.others:
            program = self.lanes[0].program
            self.late, self.broken = program.late, program.broken
            return
        judged = self.lanes[: self._judged + 1]
        self.late = np.concatenate([lane.program.late for lane in judged])
        self.broken = np.concatenate([lane.program.broken for lane in judged])
