"""Programs interpreted in Python, one step over a chunk after the other: for the reference, and for Numba's kernels.

What a step means is said in `interpreted_steps.py`. Ids of groups and aggregates are those of the kernels. A chunk is
all or nothing, as in C: steps come first, and only then do rows change anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
import pyarrow as pa

from oop.kernels.checks import INT64_MAX, Array, Bools, Ints
from oop.kernels.dispatch import Kernels, kernels
from oop.kernels.expressions import Odd, Register
from oop.kernels.interpreted_steps import DTYPES, Chunk, ChunkSteps, filled
from oop.kernels.signatures.groups import GroupTableBase
from oop.kernels.signatures.programs import NO_ROWS, GuardState, SessionTarget, SliceTargets, TrainProgramBase
from oop.kernels.steps import CHUNK_ROWS, MOST_PARTS, Op, Sessions
from oop.kernels.updates import UPDATES
from oop.kernels.views.columns import Column, take_rows


class SentRows(NamedTuple):
    """Of a chunk, what the end of the program reads of the rows that have come through, and their shards."""

    registers: dict[int, Register]
    texts: dict[int, Column]
    shards: Array


class InterpretedProgram(TrainProgramBase):
    """An implementation names its kernels."""

    name: ClassVar[str]

    def run_init(self) -> None:
        self.kernels: Kernels = kernels(self.name)
        self.counts = np.zeros(max(self.code.marks, 1), np.int64)
        self.late, self.broken = NO_ROWS, NO_ROWS
        self._under_way = False
        self.constants = {c.register: filled(c) for c in self.code.constants}

    @property
    def nbytes(self) -> int:
        return int(self.counts.nbytes)

    def start(
        self,
        batches: Sequence[pa.RecordBatch],
        guard: GuardState,
        targets: SliceTargets,
        first: int = 0,
        end: int | None = None,
    ) -> None:
        self.batches, self.guard, self.targets, self._under_way = batches, guard, targets, True
        self._batch = self._row = self._done = self.next_promise = 0
        self._first, self._end = first, end
        self.sent: list[SentRows] = []
        self._late: list[Array] = []
        self._broken: list[Array] = []
        self._took: dict[int, int] = {}
        self._kept: list[Array] = []
        self._columns: list[list[Register]] = []

    def finish(self) -> None:
        if not self._under_way:
            self.late = self.broken = NO_ROWS
            return
        self.batches, self._under_way = (), False
        self.late = np.concatenate(self._late) if self._late else NO_ROWS
        self.broken = np.concatenate(self._broken) if self._broken else NO_ROWS
        self._settle()

    def _hand_out(self) -> None:
        rows = sum(batch.num_rows for batch in self.batches)
        kept = np.concatenate([NO_ROWS, *self._kept])
        self.kept = None if len(kept) == rows else kept
        outputs = self.code.outputs or ()
        self.columns = [_joined([c[i] for c in self._columns], output.kind) for i, output in enumerate(outputs)]

    def _settle(self) -> None:
        if self._took:
            took, self._took = self._took, {}
            self.targets.took(list(took), list(took.values()))

    def _pass_rows(self) -> None:
        """Pass the rows before its part: their times count, and so do promises."""
        guard = self.guard
        end, self._end = self._end, self._first
        guards = [step for step in self.code.steps if step.op is Op.GUARD]
        while (chunk := self._next_chunk()).rows:
            run = _ChunkRun(self, chunk)
            for step in self.code.steps:
                if guards and step.op is Op.LOAD and step.out == guards[0].a:
                    run.load(step)
                    times = run.registers[step.out]
                    known = times.data if times.valid is None else times.data[times.valid]
                    known = known[np.isfinite(known)] if self.code.floats else known
                    if len(known):
                        most = known.max().item()
                        guard.greatest = most if guard.greatest is None else max(most, guard.greatest)
        self._pass_promises(self._first - 1)
        self._end, self._first = end, 0

    def take_sent(self, senders: Sequence[TrainProgramBase]) -> None:
        for sender in senders:
            assert isinstance(sender, InterpretedProgram)
            for sent in sender.sent:
                _ChunkRun(self, Chunk([], 0, 0)).take_sent(sent)

    def go_on(self) -> tuple[int, int] | None:
        if self._first:
            self._pass_rows()
        while True:
            chunk = self._next_chunk()
            if not chunk.rows:
                if self._end is None:
                    self._pass_promises(INT64_MAX)
                if self.code.outputs is not None:
                    self._hand_out()
                return None
            run = _ChunkRun(self, chunk)
            try:
                run.steps()
            except Odd:
                self._settle()  # whoever takes these rows must know all groups
                return chunk.first, chunk.first + chunk.rows
            run.keep()

    def skip_rest(self) -> None:
        self._batch, self._row = len(self.batches), 0

    def _next_chunk(self) -> Chunk:
        pieces: list[pa.RecordBatch] = []
        first, rows = self._done, 0
        most = CHUNK_ROWS if self._end is None else min(self._end - first, CHUNK_ROWS)
        while self._batch < len(self.batches) and rows < most:
            batch = self.batches[self._batch]
            piece = batch.slice(self._row, most - rows)
            if piece.num_rows:
                pieces.append(piece)
            rows += piece.num_rows
            self._row += piece.num_rows
            if self._row == batch.num_rows:
                self._batch, self._row = self._batch + 1, 0
        self._done += rows
        return Chunk(pieces, first, rows)

    def _pass_promises(self, row: int) -> None:
        """Take the promises that stand before this row of the train."""
        guard = self.guard
        while self.next_promise < len(guard.places) and guard.places[self.next_promise] <= row:
            bound = guard.bounds[self.next_promise].item()
            guard.bound = bound if guard.bound is None else max(guard.bound, bound)
            self.next_promise += 1


class _ChunkRun(ChunkSteps):
    """One chunk of a program, and what becomes of its rows."""

    def __init__(self, program: InterpretedProgram, chunk: Chunk) -> None:
        constants, promise = program.constants, program.next_promise
        super().__init__(program.kernels, program.code, program.guard, constants, chunk, promise, program.shards)
        self.program = program

    def steps(self) -> None:
        """Do everything that changes nothing, and may find the chunk odd."""
        self.run()
        self.slots = NO_ROWS
        self.numbers: list[int] = []
        if self.code.shard is None and (self.code.outputs is None or self.code.distinct):
            self._find_slices()
            if len(self.numbers) > MOST_PARTS:
                raise Odd

    def _find_slices(self) -> None:
        """Tell rows apart by slice, and make slices wider if there are very many, and they can be."""
        if len(self.left):
            self.slots = self.of(self.code.slot).data
        self._tell_apart()
        while len(self.numbers) > MOST_PARTS:
            self.program._settle()
            if not self.program.targets.widen():
                break
            self._tell_apart()

    def _tell_apart(self) -> None:
        numbers, self.order, self.starts = self.kernels.order_slots(self.slots, self.program.targets.shift)
        self.numbers = numbers.tolist()

    def keep(self) -> None:
        """Do what changes something."""
        program, guard = self.program, self.guard
        program.counts += self.counts
        guard.greatest, guard.top, guard.reached = self.greatest, self.top, self.reached
        program._pass_promises(self.chunk.first + self.chunk.rows - 1)
        if len(self.late):
            program._late.append(self.late)
            program._broken.append(self.broken)
        if self.code.shard is None:
            self._end()
            return
        carried = self.code.carried()
        sent = {number: self.of(number) for number in carried if number not in self.texts}
        texts = {number: self.texts[number] for number in carried if number in self.texts}
        program.sent.append(SentRows(sent, texts, self.of(self.code.shard).data))

    def take_sent(self, sent: SentRows) -> None:
        """Take those rows of a chunk of another program that were sent here."""
        rows = np.flatnonzero(sent.shards == self.program.shard)
        self.left = rows
        self.registers.update({number: of.take(rows) for number, of in sent.registers.items()})
        self.texts.update({number: take_rows(text, rows) for number, text in sent.texts.items()})
        self.slots, self.numbers = NO_ROWS, []
        self._find_slices()
        self._end()

    def _end(self) -> None:
        """What the program does with rows that have passed all steps."""
        new = [NO_ROWS]
        for place, number in enumerate(self.numbers):
            rows = None if self.order is None else self.order[self.starts[place] : self.starts[place + 1]]
            new.append(self._take(number, rows))
        if self.code.outputs is not None:
            self._hand_out(np.sort(np.concatenate(new)) if self.code.distinct else np.arange(len(self.left)))

    def _hand_out(self, rows: Array) -> None:
        """Hand out those with these numbers of the rows that are left."""
        program = self.program
        program._kept.append(self.chunk.first + self.left[rows])
        program._columns.append([self.of(output.register).take(rows) for output in self.code.outputs or ()])

    def _take(self, number: int, rows: Array | None) -> Array:
        """Take rows into the groups of their slice: all that are left, or those with these numbers. The result is the
        first rows of new groups."""
        targets, code = self.program.targets, self.code
        target = targets.target(number)
        alone = len(code.keys) == 1 and not targets.slotted  # then the ids of a text are those of its group
        columns = []
        for place, (key, kind) in enumerate(zip(code.keys, code.kinds, strict=True)):
            column = self.column(key, kind)
            columns.append(column if alone or key not in self.texts else self._coded(target.texts[place], column, rows))
        if targets.slotted:
            columns.append(Column("int", self.slots))
        known = len(target.codes)
        ids = target.codes.map(columns, len(self.left), rows)
        if code.sessions is not None:
            ids, groups = self._extend(code.sessions, cast(SessionTarget, target), ids)
        else:
            groups = len(target.codes)
            target.make_room(groups)
        arrays = [array[:groups] for array in target.arrays()]
        for update in code.updates:
            UPDATES[update.kind](self, update, ids, rows, arrays[update.array :])
        self.program._took[number] = self.program._took.get(number, 0) + len(ids)
        new = self.kernels.select_new(ids, known) if code.distinct else NO_ROWS
        return new if rows is None else rows[new]

    def _extend(self, sessions: Sessions, target: SessionTarget, ids: Ints) -> tuple[Ints, int]:
        """Take rows into the open sessions of their keys: the session of each row, and how many there may be."""
        target.make_session_room(len(ids))
        times = self.of(sessions.times).data
        found = self.kernels.extend_sessions(ids, times, sessions.gap, target.heads, target.sessions, target.free)
        target.extended(found, len(ids))
        return found.slots, len(target.sessions)

    def _coded(self, table: GroupTableBase, text: Column, rows: Array | None) -> Column:
        """A text key by its codes in the rows that are taken."""
        codes = np.zeros(len(self.left), np.int32)
        codes[slice(None) if rows is None else rows] = table.map([text], len(text), rows)
        return Column("int32", codes)

    def value(self, number: int, rows: Array | None, dtype: Any = None) -> tuple[Array, Bools | None]:
        """The values of an aggregate, and which of them are there."""
        of = self.of(number)
        data, valid = of.data, of.valid
        if rows is not None:
            data, valid = data[rows], None if valid is None else valid[rows]
        return data if dtype is None else data.view(dtype), valid


def _joined(chunks: Sequence[Register], kind: str) -> tuple[Array, Bools | None]:
    """A column of rows that are handed out, of its chunks."""
    plain = [chunk.data.view(np.int64) if chunk.data.dtype == np.uint64 else chunk.data for chunk in chunks]
    data = np.concatenate([np.zeros(0, DTYPES[kind]), *plain])
    there = [np.ones(len(chunk.data), np.bool_) if chunk.valid is None else chunk.valid for chunk in chunks]
    valid = np.concatenate([np.ones(0, np.bool_), *there])
    return data, None if valid.all() else valid
