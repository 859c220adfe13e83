"""Programs interpreted in Python, one step over a chunk after the other: for the reference, and for Numba's kernels.

What a step means is said here in NumPy. Windows, ids of groups, shards and aggregates are those of the kernels. A chunk
is all or nothing, as in C: steps come first, and only then do rows change anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
import pyarrow as pa

from oop.errors import TimeError
from oop.kernels import views
from oop.kernels.checks import INT64_MAX, INT64_MIN, Array, Bools, Ints
from oop.kernels.dispatch import Kernels, kernels
from oop.kernels.expressions import COMPUTED, Odd, Register
from oop.kernels.signatures.groups import GroupTableBase
from oop.kernels.signatures.programs import NO_ROWS, GuardState, SessionTarget, SliceTargets, TrainProgramBase
from oop.kernels.steps import CHUNK_ROWS, MOST_PARTS, ColumnForm, Constant, Op, Sessions, Step
from oop.kernels.updates import UPDATES
from oop.kernels.views.columns import NARROW, Column

_DTYPES: dict[str, Any] = {"int": np.int64, "float": np.float64, "bool": np.bool_}


class _Chunk(NamedTuple):
    """Rows of a train: in pieces of batches, from row ``first`` on."""

    pieces: list[pa.RecordBatch]
    first: int
    rows: int


class SentRows(NamedTuple):
    """Of a chunk, what the end of the program reads of the rows that have come through, their numbers in the train, and
    their shards."""

    registers: dict[int, Register]
    numbers: Register
    shards: Array


class InterpretedProgram(TrainProgramBase):
    """An implementation names its kernels."""

    name: ClassVar[str]

    def run_init(self) -> None:
        self.kernels: Kernels = kernels(self.name)
        self.counts = np.zeros(max(self.code.marks, 1), np.int64)
        self.late, self.broken = NO_ROWS, NO_ROWS
        self._under_way = False
        self._constants = {c.register: _filled(c) for c in self.code.constants}

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
        self._batch = self._row = self._done = self._promise = 0
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
                _ChunkRun(self, _Chunk([], 0, 0)).take_sent(sent)
        if self.code.outputs is not None:
            self._hand_out()

    def go_on(self) -> tuple[int, int] | None:
        if self._first:
            self._pass_rows()
        while True:
            chunk = self._next_chunk()
            if not chunk.rows:
                if self._end is None:
                    self._pass_promises(INT64_MAX)
                if self.code.outputs is not None and self.code.shard is None:
                    self._hand_out()
                return None
            run = _ChunkRun(self, chunk)
            try:
                run.steps()
            except Odd:
                return chunk.first, chunk.first + chunk.rows
            run.keep()

    def _next_chunk(self) -> _Chunk:
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
        return _Chunk(pieces, first, rows)

    def _pass_promises(self, row: int) -> None:
        """Take the promises that stand before this row of the train."""
        guard = self.guard
        while self._promise < len(guard.places) and guard.places[self._promise] <= row:
            bound = guard.bounds[self._promise].item()
            guard.bound = bound if guard.bound is None else max(guard.bound, bound)
            self._promise += 1


class _ChunkRun:
    """One chunk on its way through the steps. ``left`` are the rows that are left."""

    def __init__(self, program: InterpretedProgram, chunk: _Chunk) -> None:
        self.program, self.chunk, self.code = program, chunk, program.code
        self.kernels, self.guard = program.kernels, program.guard
        self.registers: dict[int, Register] = dict(program._constants)
        self.texts: dict[int, Column] = {}
        self.left = np.arange(chunk.rows)
        self.kept = self.left
        self.counts = np.zeros_like(program.counts)
        self.greatest, self.top = program.guard.greatest, program.guard.top
        self.late, self.broken = NO_ROWS, NO_ROWS

    def steps(self) -> None:
        """Do everything that changes nothing, and may find the chunk odd."""
        for step in self.code.steps:
            does = _DOES.get(step.op)
            if does is not None:
                does(self, step)
            else:
                self.registers[step.out] = COMPUTED[step.op](step, self._of(step.a), self._of(step.b), self._of(step.c))
        self.slots = NO_ROWS
        self.numbers: list[int] = []
        if self.code.shard is None and (self.code.outputs is None or self.code.distinct):
            self._find_slices()
            if len(self.numbers) > MOST_PARTS:
                raise Odd

    def _find_slices(self) -> None:
        """Tell rows apart by slice, and make slices wider if there are very many, and they can be."""
        if len(self.left):
            self.slots = self._of(self.code.slot).data
        self._tell_apart()
        while len(self.numbers) > MOST_PARTS:
            self.program._settle()
            if not self.program.targets.widen():
                break
            self._tell_apart()

    def _tell_apart(self) -> None:
        numbers, self.order, self.starts = self.kernels.order_slots(self.slots, self.program.targets.shift)
        self.numbers = numbers.tolist()

    def _of(self, number: int) -> Register:
        """A register, which in a step with fewer operands may be none."""
        found = self.registers.get(number)
        return Register(NO_ROWS, None) if found is None else found.first(len(self.left))

    def load(self, step: Step) -> None:
        array = pa.concat_arrays([piece.column(step.a) for piece in self.chunk.pieces])
        if len(self.left) < len(array):
            array = array.take(pa.array(self.left))
        if step.form in (ColumnForm.RAW1, ColumnForm.RAW2, ColumnForm.RAW4):
            found = views.key_column(array)
        elif step.form in (ColumnForm.TEXT, ColumnForm.LARGE_TEXT):
            self.texts[step.out] = views.column(array)
            return
        elif step.form is ColumnForm.BITS:
            found = views.column(array)
            self.registers[step.out] = Register(found.data != 0, found.valid)
            return
        else:
            found = views.column(array)
            if step.form in (ColumnForm.UINT8, ColumnForm.UINT16, ColumnForm.UINT32):
                found = Column("int", found.data.view(np.int64), None, found.valid)
        self.registers[step.out] = Register(found.data, found.valid)

    def compact(self, step: Step) -> None:
        of = self.registers[step.a]
        rows = self.kept
        self.registers[step.out] = Register(of.data[rows], None if of.valid is None else of.valid[rows])

    def _keep(self, passes: Bools) -> None:
        self.kept = np.flatnonzero(passes)
        self.left = self.left[self.kept]

    def text(self, step: Step) -> None:
        text = self.texts[step.a]
        values = np.ones(len(text), np.bool_)
        if step.op is Op.TEXT_EQUAL:
            assert text.offsets is not None
            ends = text.offsets.tolist()
            values[:] = [text.data[a:b].tobytes() == step.text for a, b in pairwise(ends)]
        self.registers[step.out] = Register(values, text.valid)

    def filter(self, step: Step) -> None:
        of = self._of(step.a)
        self._keep((of.data != 0) if of.valid is None else (of.data != 0) & of.valid)

    def mark(self, step: Step) -> None:
        self.counts[step.out] = len(self.left)

    def window(self, step: Step) -> None:
        times = self._of(step.a)
        if times.valid is not None and not times.valid.all():
            raise Odd
        range_, slide, offset = step.numbers
        try:
            first, last = self.kernels.wid_ranges(times.data, range_, slide, offset)
        except TimeError:
            raise Odd from None
        self.registers[step.b], self.registers[step.out] = Register(first, None), Register(last, None)

    def limit(self, step: Step) -> None:
        of = self._of(step.a)
        beyond = np.abs(of.data) > step.numbers[0]
        if (beyond if of.valid is None else beyond & of.valid).any():
            raise Odd

    def shard(self, step: Step) -> None:
        program = self.program
        keys = [self._column(step.a + k, _kind(self._of(step.a + k).data)) for k in range(step.c)]
        shards = self.kernels.hash_partition(keys, program.shards, len(self.left))
        self.registers[step.out] = Register(shards, None)

    def judge(self, step: Step) -> None:
        """Set late rows aside, each by what the rows and promises before it imply (`GuardState`)."""
        guard, program, times = self.guard, self.program, self._of(step.a)
        data = times.data
        if times.valid is not None or (self.code.floats and not np.isfinite(data).all()):
            raise Odd
        bounds = np.full(len(data), -np.inf if self.code.floats else INT64_MIN, data.dtype)
        if guard.rank is not None:
            bounds, self.top = self.kernels.prefix_bounds_rows(data, guard.top.astype(data.dtype), guard.rank)
        elif guard.slack is not None:
            slack = guard.slack if self.code.floats else min(guard.slack, INT64_MAX)
            bounds, self.greatest = self.kernels.prefix_bounds(data, guard.greatest, slack)
        elif len(data):
            self.greatest = max(data.max().item(), data[0].item() if guard.greatest is None else guard.greatest)
        if guard.bound is not None:
            bounds = np.maximum(bounds, guard.bound)
        for place, bound in zip(guard.places[program._promise :], guard.bounds[program._promise :], strict=True):
            at = max(int(place) - self.chunk.first, 0)
            bounds[at:] = np.maximum(bounds[at:], bound)
        late = data < bounds
        if late.any():
            self.late, self.broken = self.chunk.first + np.flatnonzero(late), bounds[late]
            self._keep(~late)

    def keep(self) -> None:
        """Do what changes something."""
        program, guard = self.program, self.guard
        program.counts += self.counts
        guard.greatest, guard.top = self.greatest, self.top
        program._pass_promises(self.chunk.first + self.chunk.rows - 1)
        if len(self.late):
            program._late.append(self.late)
            program._broken.append(self.broken)
        if self.code.shard is None:
            self._end()
            return
        sent = {number: self._of(number) for number in self.code.carried()}
        numbers = Register(self.chunk.first + self.left, None)
        program.sent.append(SentRows(sent, numbers, self._of(self.code.shard).data))

    def take_sent(self, sent: SentRows) -> None:
        """Take those rows of a chunk of another program that were sent here."""
        rows = np.flatnonzero(sent.shards == self.program.shard)
        self.left = sent.numbers.take(rows).data
        self.registers.update({number: of.take(rows) for number, of in sent.registers.items()})
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
        program._columns.append([self._of(output.register).take(rows) for output in self.code.outputs or ()])

    def _take(self, number: int, rows: Array | None) -> Array:
        """Take rows into the groups of their slice: all that are left, or those with these numbers. The result is the
        first rows of new groups."""
        targets, code = self.program.targets, self.code
        target = targets.target(number)
        alone = len(code.keys) == 1 and not targets.slotted  # then the ids of a text are those of its group
        columns = []
        for place, (key, kind) in enumerate(zip(code.keys, code.kinds, strict=True)):
            column = self._column(key, kind)
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
        times = self._of(sessions.times).data
        found = self.kernels.extend_sessions(ids, times, sessions.gap, target.heads, target.sessions, target.free)
        target.extended(found, len(ids))
        return found.slots, len(target.sessions)

    def _coded(self, table: GroupTableBase, text: Column, rows: Array | None) -> Column:
        """A text key by its codes in the rows that are taken."""
        codes = np.zeros(len(self.left), np.int32)
        codes[slice(None) if rows is None else rows] = table.map([text], len(text), rows)
        return Column("int32", codes)

    def _column(self, number: int, kind: str) -> Column:
        if number in self.texts:
            return self.texts[number]
        of = self._of(number)
        data = of.data.astype(NARROW[kind], copy=False) if kind in NARROW else of.data
        return Column(kind, np.ascontiguousarray(data), None, of.valid)

    def value(self, number: int, rows: Array | None, dtype: Any = None) -> tuple[Array, Bools | None]:
        """The values of an aggregate, and which of them are there."""
        of = self._of(number)
        data, valid = of.data, of.valid
        if rows is not None:
            data, valid = data[rows], None if valid is None else valid[rows]
        return data if dtype is None else data.view(dtype), valid


def _kind(data: Array) -> str:
    """The kind of a key column of this type."""
    return {"int64": "int", "uint64": "uint", "float64": "float", "bool": "int8"}.get(data.dtype.name, data.dtype.name)


def _filled(constant: Constant) -> Register:
    dtype = _DTYPES[constant.kind]
    there = constant.value is not None
    data = np.full(CHUNK_ROWS, constant.value if there else 0, dtype)
    return Register(data, None if there else np.zeros(CHUNK_ROWS, np.bool_))


def _joined(chunks: Sequence[Register], kind: str) -> tuple[Array, Bools | None]:
    """A column of rows that are handed out, of its chunks."""
    plain = [chunk.data.view(np.int64) if chunk.data.dtype == np.uint64 else chunk.data for chunk in chunks]
    data = np.concatenate([np.zeros(0, _DTYPES[kind]), *plain])
    there = [np.ones(len(chunk.data), np.bool_) if chunk.valid is None else chunk.valid for chunk in chunks]
    valid = np.concatenate([np.ones(0, np.bool_), *there])
    return data, None if valid.all() else valid


_DOES: dict[Op, Callable[[_ChunkRun, Step], None]] = {
    Op.LOAD: _ChunkRun.load,
    Op.GUARD: _ChunkRun.judge,
    Op.FILTER: _ChunkRun.filter,
    Op.COMPACT: _ChunkRun.compact,
    Op.MARK: _ChunkRun.mark,
    Op.WINDOW: _ChunkRun.window,
    Op.LIMIT: _ChunkRun.limit,
    Op.TEXT_EQUAL: _ChunkRun.text,
    Op.TEXT_THERE: _ChunkRun.text,
    Op.SHARD: _ChunkRun.shard,
}
