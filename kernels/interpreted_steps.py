"""The steps of a program over one chunk, interpreted: what a step means is said here in NumPy. Windows, shards and what
rows imply are those of the kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from oop.errors import TimeError
from oop.kernels import views
from oop.kernels.checks import INT64_MAX, INT64_MIN, Array, Bools
from oop.kernels.dispatch import Kernels
from oop.kernels.expressions import COMPUTED, Odd, Register
from oop.kernels.signatures.programs import NO_ROWS, GuardState
from oop.kernels.steps import CHUNK_ROWS, HASHES, STRING, ColumnForm, Constant, Op, ProgramCode, Step
from oop.kernels.views.columns import NARROW, Column

DTYPES: dict[str, Any] = {"int": np.int64, "float": np.float64, "bool": np.bool_}


class Chunk(NamedTuple):
    """Rows of a train: in pieces of batches, from row ``first`` on."""

    pieces: list[pa.RecordBatch]
    first: int
    rows: int


class ChunkSteps:
    """One chunk on its way through the steps, which change nothing but this. ``left`` are the rows that are left.
    ``promise`` is the next promise of the guard, and ``shards`` how many there are."""

    def __init__(
        self,
        kernels: Kernels,
        code: ProgramCode,
        guard: GuardState,
        constants: Mapping[int, Register],
        chunk: Chunk,
        promise: int,
        shards: int,
    ) -> None:
        self.kernels, self.code, self.guard, self.chunk = kernels, code, guard, chunk
        self.promise, self.shards = promise, shards
        self.registers: dict[int, Register] = dict(constants)
        self.texts: dict[int, Column] = {}
        self.left = np.arange(chunk.rows)
        self.kept = self.left
        self.counts = np.zeros(max(code.marks, 1), np.int64)
        self.greatest, self.top, self.reached = guard.greatest, guard.top, guard.reached
        self.late, self.broken = NO_ROWS, NO_ROWS

    def run(self) -> None:
        """Do all steps, which may find the chunk odd."""
        for step in self.code.steps:
            does = _DOES.get(step.op)
            if does is not None:
                does(self, step)
            else:
                self.registers[step.out] = COMPUTED[step.op](step, self.of(step.a), self.of(step.b), self.of(step.c))

    def of(self, number: int) -> Register:
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
        of = self.of(step.a)
        self._keep((of.data != 0) if of.valid is None else (of.data != 0) & of.valid)

    def mark(self, step: Step) -> None:
        self.counts[step.out] = len(self.left)

    def window(self, step: Step) -> None:
        times = self.of(step.a)
        if times.valid is not None and not times.valid.all():
            raise Odd
        range_, slide, offset = step.numbers
        try:
            first, last = self.kernels.wid_ranges(times.data, range_, slide, offset)
        except TimeError:
            raise Odd from None
        self.registers[step.b], self.registers[step.out] = Register(first, None), Register(last, None)

    def limit(self, step: Step) -> None:
        of = self.of(step.a)
        beyond = np.abs(of.data) > step.numbers[0]
        if (beyond if of.valid is None else beyond & of.valid).any():
            raise Odd

    def ascend(self, step: Step) -> None:
        of = self.of(step.a)
        if not len(of.data):
            return
        if of.valid is not None and not of.valid.all():
            raise Odd
        ascends = (of.data[1:] >= of.data[:-1]).all() and of.data[-1] == of.data[-1]  # NaN is not
        if not ascends or (self.reached is not None and of.data[0] < self.reached):
            raise Odd
        self.reached = of.data[-1].item()

    def shard(self, step: Step) -> None:
        keys = []
        for number, kind in enumerate(step.numbers, step.a):
            if kind == STRING:
                keys.append(Column("int32", self.kernels.hash_partition([self.texts[number]], HASHES)))
            else:
                keys.append(self.column(number, _kind(self.of(number).data)))
        shards = self.kernels.hash_partition(keys, self.shards, len(self.left))
        self.registers[step.out] = Register(shards, None)

    def judge(self, step: Step) -> None:
        """Set late rows aside, each by what the rows and promises before it imply (`GuardState`)."""
        guard, times = self.guard, self.of(step.a)
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
        for place, bound in zip(guard.places[self.promise :], guard.bounds[self.promise :], strict=True):
            at = max(int(place) - self.chunk.first, 0)
            bounds[at:] = np.maximum(bounds[at:], bound)
        late = data < bounds
        if late.any():
            self.late, self.broken = self.chunk.first + np.flatnonzero(late), bounds[late]
            self._keep(~late)

    def column(self, number: int, kind: str) -> Column:
        if number in self.texts:
            return self.texts[number]
        of = self.of(number)
        data = of.data.astype(NARROW[kind], copy=False) if kind in NARROW else of.data
        return Column(kind, np.ascontiguousarray(data), None, of.valid)


def _kind(data: Array) -> str:
    """The kind of a key column of this type."""
    return {"int64": "int", "uint64": "uint", "float64": "float", "bool": "int8"}.get(data.dtype.name, data.dtype.name)


def filled(constant: Constant) -> Register:
    dtype = DTYPES[constant.kind]
    there = constant.value is not None
    data = np.full(CHUNK_ROWS, constant.value if there else 0, dtype)
    return Register(data, None if there else np.zeros(CHUNK_ROWS, np.bool_))


_DOES: dict[Op, Callable[[ChunkSteps, Step], None]] = {
    Op.LOAD: ChunkSteps.load,
    Op.GUARD: ChunkSteps.judge,
    Op.FILTER: ChunkSteps.filter,
    Op.COMPACT: ChunkSteps.compact,
    Op.MARK: ChunkSteps.mark,
    Op.WINDOW: ChunkSteps.window,
    Op.LIMIT: ChunkSteps.limit,
    Op.ASCEND: ChunkSteps.ascend,
    Op.TEXT_EQUAL: ChunkSteps.text,
    Op.TEXT_THERE: ChunkSteps.text,
    Op.SHARD: ChunkSteps.shard,
}
