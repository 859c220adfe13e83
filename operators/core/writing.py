"""Writing programs: operators say as steps what they do with a row (`oop.kernels.steps`).

A `ProgramWriter` follows the columns of a plan from operator to operator. It knows of each column whether it is still
that of the batch, which is read where it is needed, or a register that a step has filled. An operator that cannot be
written raises `Unwritten` with the reason. Steps whose result nobody uses are left out at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa
from pyarrow import types

from oop.errors import SchemaMismatch
from oop.kernels import views
from oop.kernels.steps import (
    BYTES,
    REAL,
    SIGNED,
    STRING,
    UNSIGNED,
    ColumnForm,
    Constant,
    Op,
    Output,
    ProgramCode,
    Sessions,
    Step,
    Update,
)
from oop.operators.core.times import FAR, NULL_SLOT
from oop.operators.core.used_steps import used_steps
from oop.punctuation.patterns import Bound

INT, UINT, FLOAT, BOOL, TEXT = "int", "uint", "float", "bool", "text"
"""The kinds of registers: whole numbers and times, unsigned numbers, floats, and truth values. Of text a register has
which values are there."""

_RAW = {1: ColumnForm.RAW1, 2: ColumnForm.RAW2, 4: ColumnForm.RAW4, 8: ColumnForm.RAW8}
_TEXTS = {
    pa.string(): ColumnForm.TEXT,
    pa.binary(): ColumnForm.TEXT,
    pa.large_string(): ColumnForm.LARGE_TEXT,
    pa.large_binary(): ColumnForm.LARGE_TEXT,
}
_WIDENED = {
    ("int", 8): ColumnForm.INT8,
    ("int", 16): ColumnForm.INT16,
    ("int", 32): ColumnForm.INT32,
    ("uint", 8): ColumnForm.UINT8,
    ("uint", 16): ColumnForm.UINT16,
    ("uint", 32): ColumnForm.UINT32,
    ("float", 32): ColumnForm.FLOAT32,
}


PARTED_ONCE = "rows are parted once, in front of it"
"""Why an operator with keys leaves a source's program where rows are parted: what it does with a row costs little more
than to send it, and rows that it hands out would have to be found again by their numbers."""


class Unwritten(Exception):
    """Something that no step does; it says what."""


class Stored(NamedTuple):
    """A column as it is in the batch."""

    place: int
    type: pa.DataType


class Filled(NamedTuple):
    """A register of values of a type, with one of the kinds above."""

    register: int
    kind: str
    type: pa.DataType


Whereabouts: TypeAlias = Stored | Filled


class ComputedColumn(NamedTuple):
    """A column of rows that a program hands out: one of its outputs, of a kind above, and of a type."""

    output: int
    kind: str
    type: pa.DataType


class RowsCode(NamedTuple):
    """A program that hands rows out, their columns, and where each of these is."""

    code: ProgramCode
    schema: pa.Schema
    sources: tuple[Stored | ComputedColumn, ...]


class ProgramWriter:
    """Writes a program for batches with these columns.

    >>> writer = ProgramWriter(pa.schema({"ts": pa.int64(), "len": pa.int32()}))
    >>> writer.number("len")
    Filled(register=0, kind='int', type=DataType(int32))
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.columns: dict[str, Whereabouts] = {f.name: Stored(i, f.type) for i, f in enumerate(schema)}
        if len(self.columns) < len(schema):
            raise Unwritten("two columns have the same name")
        self.floats = False
        """Are the times that the guard judges floats?"""
        self.known: frozenset[str] = frozenset()
        """Columns in which no value is null."""
        self.wanted: frozenset[str] | None = None
        """Of the node that is written, the columns that are used behind it. None: all."""
        self.parts = False
        """Are there several shards, to which rows are sent by their keys?"""
        self._shard: int | None = None
        self.marks = 0
        self._steps: list[Step] = []
        self._constants: dict[tuple[str, str], Constant] = {}
        self._registers = 0
        self._read: dict[tuple[int, ColumnForm], int] = {}  # columns that are in registers since the last filter

    @property
    def schema(self) -> pa.Schema:
        """The columns that there are now."""
        return pa.schema([pa.field(name, held.type) for name, held in self.columns.items()])

    def copy(self) -> ProgramWriter:
        """A writer that stands where this one does, for what may turn out to have no steps."""
        other = copy(self)
        other.columns, other._steps = dict(self.columns), list(self._steps)
        other._constants, other._read = dict(self._constants), dict(self._read)
        return other

    def new(self) -> int:
        """A register."""
        self._registers += 1
        return self._registers - 1

    def step(
        self,
        op: Op,
        a: int = 0,
        b: int = 0,
        c: int = 0,
        *,
        form: ColumnForm = ColumnForm.RAW1,
        numbers: Sequence[Any] = (),
        text: bytes = b"",
    ) -> int:
        """A step that fills a new register."""
        out = self.new()
        self._steps.append(Step(op, out, a, b, c, form, tuple(numbers), text))
        return out

    def add(self, step: Step) -> None:
        """A step that does more than to fill a register of its own."""
        self._steps.append(step)

    def constant(self, value: Any, kind: str) -> int:
        """A register that has this value in every row."""
        key = (kind, repr(value))
        if key not in self._constants:
            self._constants[key] = Constant(self.new(), value, kind)
        return self._constants[key].register

    def number(self, name: str) -> Filled:
        """A column of numbers, times or truth values, as expressions and aggregates compute with it."""
        held = self.columns[name]
        if isinstance(held, Filled):
            return held
        if held.type in _TEXTS:
            return Filled(self.step(Op.TEXT_THERE, self.text(name)), TEXT, held.type)
        form, kind = _form(name, held.type)
        return Filled(self._load(held.place, form), kind, held.type)

    def text(self, name: str) -> int:
        """The register of a column of text."""
        held = self.columns[name]
        if not isinstance(held, Stored) or held.type not in _TEXTS:
            raise Unwritten(f"{name} is {held.type}")
        return self._load(held.place, _TEXTS[held.type])

    def as_number(self, value: Filled) -> Filled:
        """Truth values as 0 and 1; other values as they are."""
        if value.kind != BOOL:
            return value
        one, zero = self.constant(1, INT), self.constant(0, INT)
        return Filled(self.step(Op.IF_ELSE, value.register, one, zero), INT, pa.int64())

    def as_float(self, value: Filled) -> Filled:
        """A number, or a truth value, as a float."""
        value = self.as_number(value)
        if value.kind == FLOAT:
            return value
        if value.kind != INT and value.type.bit_width == 64:
            raise Unwritten(f"it has no steps for {value.type}")
        return Filled(self.step(Op.TO_FLOAT, value.register), FLOAT, pa.float64())

    def key(self, name: str) -> tuple[int, str]:
        """A column as a key, in its own width: its register and its kind (`oop.kernels.views.key_kind`)."""
        held = self.columns[name]
        if isinstance(held, Filled):
            kind = views.key_kind(held.type)
            if kind not in (INT, UINT, FLOAT) and held.kind != BOOL:
                raise Unwritten(f"the key {name} is computed, and is {held.type}")
            return held.register, kind
        if held.type in _TEXTS:
            return self.text(name), views.key_kind(held.type)
        form, found = _form(name, held.type)
        if found in (INT, UINT):
            form = _RAW[held.type.bit_width // 8]
        return self._load(held.place, form), views.key_kind(held.type)

    def slot(self, name: str) -> int:
        """Where in time rows stand by a column, as `slots_of` has it: a register."""
        times = self.number(name)
        if times.kind not in (INT, UINT) or (times.kind == UINT and times.type.bit_width == 64):
            raise Unwritten(f"groups by {name}, which is {times.type}")
        far = self.step(Op.GREATEST, times.register, self.constant(-FAR, INT))
        within = self.step(Op.LEAST, far, self.constant(FAR, INT))
        return self.step(Op.FILL_NULL, within, self.constant(NULL_SLOT, INT))

    def _load(self, place: int, form: ColumnForm) -> int:
        if (place, form) not in self._read:
            self._read[place, form] = self.step(Op.LOAD, place, form=form)
        return self._read[place, form]

    def guard(self, times: Filled) -> None:
        """From here on only rows that are on time."""
        self.floats = times.kind == FLOAT
        self.add(Step(Op.GUARD, 0, times.register, form=ColumnForm(int(self.floats))))
        self._filtered()

    def filter(self, passes: int) -> None:
        """From here on only rows for which this register is true."""
        self.add(Step(Op.FILTER, 0, passes))
        self._filtered()

    def ascend(self, name: str) -> None:
        """Rows come in ascending order of a column, and each has a value, or they are not for the program."""
        values = self.number(name)
        if values.kind not in (INT, UINT, FLOAT) or (values.kind == UINT and values.type.bit_width == 64):
            raise Unwritten(f"in order of {name}, which is {values.type}")
        self.add(Step(Op.ASCEND, 0, values.register, form=ColumnForm(int(values.kind == FLOAT))))

    def _filtered(self) -> None:
        """Columns of batches are read anew where they are needed; registers keep the rows that are left."""
        self._read.clear()
        for name, held in self.columns.items():
            if isinstance(held, Filled):
                self.columns[name] = held._replace(register=self.step(Op.COMPACT, held.register))

    def part(self, keys: Sequence[str]) -> None:
        """If there are several shards: find out which one a row is sent to."""
        if not self.parts or not keys:
            return
        self._read.clear()
        first, found = self._registers, [self.key(name) for name in keys]
        if [register for register, _ in found] != list(range(first, first + len(found))):
            raise Unwritten("rows are parted by a column that is computed")
        kinds = [_parted_as(self.columns[name].type, kind) for name, (_, kind) in zip(keys, found, strict=True)]
        self._shard = self.step(Op.SHARD, first, c=len(found), numbers=kinds)

    def mark(self) -> int:
        """The number under which the rows that come here are counted."""
        self.add(Step(Op.MARK, self.marks))
        self.marks += 1
        return self.marks - 1

    def code(self, keys: Sequence[tuple[int, str]], slot: int, updates: Iterable[Update]) -> ProgramCode:
        """The program, with what becomes of the rows at its end."""
        updates = tuple(updates)
        used = {slot, *(register for register, _ in keys)}
        used.update(r for u in updates for r in (u.value, u.by) if r >= 0)
        if self._shard is not None:
            used.add(self._shard)
        steps, constants = self._used(used)
        return ProgramCode(
            steps,
            self._registers,
            constants,
            tuple(register for register, _ in keys),
            tuple(kind for _, kind in keys),
            slot,
            updates,
            self.marks,
            self.floats,
            shard=self._shard,
        )

    def sessions(
        self, times: Filled, gap: Bound, keys: Sequence[tuple[int, str]], updates: Iterable[Update]
    ) -> ProgramCode:
        """The program that ends here and takes rows into open sessions."""
        code = self.code(keys, times.register, updates)  # times are used at the end, like a slot
        slot = Constant(self.new(), 0, INT)  # but all rows are of one slice
        constants = (*code.constants, slot)
        last = Sessions(times.register, gap, times.kind == FLOAT)
        return replace(code, slot=slot.register, constants=constants, registers=self._registers, sessions=last)

    def distinct(self, schema: pa.Schema, keys: Sequence[tuple[int, str]], slot: int) -> RowsCode:
        """The program that ends here and hands out the first row of each key, with these columns."""
        for name in schema.names:
            held = self.columns[name]
            if isinstance(held, Stored) and _is_wide(held.type):  # it costs less to write it with the rest
                self.columns[name] = self.number(name)
        rows = self.rows(schema, {slot, *(register for register, _ in keys)})
        registers, kinds = tuple(register for register, _ in keys), tuple(kind for _, kind in keys)
        code = replace(rows.code, keys=registers, kinds=kinds, slot=slot, distinct=True)
        return rows._replace(code=code)

    def rows(self, schema: pa.Schema, used: Iterable[int] = ()) -> RowsCode:
        """The program that ends here and hands rows out with these columns. It may use other registers too."""
        sources: list[Stored | ComputedColumn] = []
        outputs: list[Output] = []
        for name in schema.names:
            held = self.columns[name]
            if isinstance(held, Stored):
                sources.append(held)
                continue
            if held.kind not in (INT, FLOAT, BOOL) and not _is_wide(held.type):
                raise Unwritten(f"{name} is computed, and is {held.type}")
            sources.append(ComputedColumn(len(outputs), held.kind, held.type))
            outputs.append(Output(held.register, INT if held.kind == UINT else held.kind))
        steps, constants = self._used({*used, *(output.register for output in outputs)})
        code = ProgramCode(steps, self._registers, constants, (), (), 0, (), self.marks, self.floats, tuple(outputs))
        return RowsCode(code, schema, tuple(sources))

    def _used(self, used: set[int]) -> tuple[tuple[Step, ...], tuple[Constant, ...]]:
        """The steps and constants that matter where these registers are used at the end."""
        steps = used_steps(self._steps, used)
        return tuple(steps), tuple(constant for constant in self._constants.values() if constant.register in used)


def _parted_as(type_: pa.DataType, kind: str) -> int:
    """What a key column of this type is to a `SHARD`, which must find the shards that `part_batches` finds."""
    if type_ in _TEXTS:
        return STRING if types.is_string(type_) or types.is_large_string(type_) else BYTES
    return REAL if kind == FLOAT else UNSIGNED if kind.startswith(UINT) else SIGNED


def _is_wide(type_: pa.DataType) -> bool:
    """Are these numbers or times of 64 bits?"""
    known = types.is_integer(type_) or types.is_floating(type_) or types.is_timestamp(type_)
    return bool(known and type_.bit_width == 64)


def _form(name: str, type_: pa.DataType) -> tuple[ColumnForm, str]:
    """How a column of this type is read, and the kind of the register."""
    if types.is_boolean(type_):
        return ColumnForm.BITS, BOOL
    if isinstance(type_, pa.BaseExtensionType) or types.is_dictionary(type_) or types.is_null(type_):
        raise Unwritten(f"{name} is {type_}")
    try:
        kind = views.kind_of(type_)
    except SchemaMismatch as wrong:
        raise Unwritten(f"{name} is {type_}") from wrong
    if kind not in (INT, UINT, FLOAT) or types.is_float16(type_):
        raise Unwritten(f"{name} is {type_}")
    return _WIDENED.get((kind, type_.bit_width), ColumnForm.RAW8), kind
