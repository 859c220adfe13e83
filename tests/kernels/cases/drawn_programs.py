"""Programs drawn at random, with batches that are odd in every way that Arrow allows (`programs.py`)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels.steps import (
    BYTES,
    CHUNK_ROWS,
    REAL,
    SIGNED,
    STRING,
    UNSIGNED,
    ColumnForm,
    Constant,
    Op,
    Output,
    ProgramCode,
    Step,
    Update,
    UpdateKind,
)
from tests.kernels.cases.inputs import LEAST, MOST

COLUMNS = {
    "ts": (pa.int64(), ColumnForm.RAW8),
    "i1": (pa.int8(), ColumnForm.INT8),
    "i2": (pa.int16(), ColumnForm.INT16),
    "i4": (pa.int32(), ColumnForm.INT32),
    "i8": (pa.int64(), ColumnForm.RAW8),
    "u1": (pa.uint8(), ColumnForm.UINT8),
    "u2": (pa.uint16(), ColumnForm.UINT16),
    "u4": (pa.uint32(), ColumnForm.UINT32),
    "f4": (pa.float32(), ColumnForm.FLOAT32),
    "f8": (pa.float64(), ColumnForm.RAW8),
    "b": (pa.bool_(), ColumnForm.BITS),
    "u8": (pa.uint64(), ColumnForm.RAW8),
    "t": (pa.string(), ColumnForm.TEXT),
    "T": (pa.large_binary(), ColumnForm.LARGE_TEXT),
}
NAMES = list(COLUMNS)
RAW = {"i1": (ColumnForm.RAW1, "int8"), "u2": (ColumnForm.RAW2, "uint16"), "i4": (ColumnForm.RAW4, "int32")}
TEXTS = [
    *("", "a", "aa", "\0\0", "link", "A link", "an 8byte", "fifteen letters", "sixteen letters!", "Sixteen letters!"),
    *("a longer name of a link", "a longer Name of a link"),
    "a name that is longer than all others, and not short, with more bytes than there are powers in a table",
]
KEYS = {
    "t": (ColumnForm.TEXT, "bytes"),
    "T": (ColumnForm.LARGE_TEXT, "bytes"),
    **RAW,
    "i8": (ColumnForm.RAW8, "int"),
    "f8": (ColumnForm.RAW8, "float"),
    "b": (ColumnForm.BITS, "int8"),
}
WHOLE = (Op.ADD, Op.SUBTRACT, Op.MULTIPLY, Op.FLOOR_DIVIDE, Op.MOD)
FLOATS = (Op.ADD_FLOAT, Op.SUBTRACT_FLOAT, Op.MULTIPLY_FLOAT, Op.DIVIDE_FLOAT, Op.LEAST_FLOAT, Op.GREATEST_FLOAT)
COMPARED = (Op.LESS, Op.LESS_EQUAL, Op.EQUAL, Op.NOT_EQUAL)
COMPARED_FLOATS = (Op.LESS_FLOAT, Op.LESS_EQUAL_FLOAT, Op.EQUAL_FLOAT, Op.NOT_EQUAL_FLOAT)
UPDATES = {  # by the kind of the values; the number of arrays, and their types
    UpdateKind.COUNT: ("any", ["int64"]),
    UpdateKind.SUM_INT: ("int", ["int64"] * 3),
    UpdateKind.SUM_UINT: ("uint", ["int64"] * 3),
    UpdateKind.SUM_FLOAT: ("float", ["float64", "float64", "int64"]),
    UpdateKind.MIN_INT: ("int", ["int64", "int64"]),
    UpdateKind.MAX_INT: ("int", ["int64", "int64"]),
    UpdateKind.MIN_UINT: ("uint", ["uint64", "int64"]),
    UpdateKind.MAX_UINT: ("uint", ["uint64", "int64"]),
    UpdateKind.MIN_FLOAT: ("float", ["float64", "int64"]),
    UpdateKind.MAX_FLOAT: ("float", ["float64", "int64"]),
    UpdateKind.SUMMARY: ("int", ["5"]),
    UpdateKind.FIRST: ("int", ["3"]),
    UpdateKind.LAST: ("int", ["3"]),
    UpdateKind.MOMENTS: ("float", ["int64", "float64", "float64"]),
    UpdateKind.WHOLE_MOMENTS: ("int", ["int64", "float64", "float64", "int64"]),
}


def _values(rng: np.random.Generator, name: str, rows: int, wild: bool) -> pa.Array:
    type_ = COLUMNS[name][0]
    if name in ("t", "T"):
        texts = TEXTS if name == "t" else [text.encode() for text in TEXTS]
        return pa.array([None if rng.random() < 0.1 else texts[i] for i in rng.integers(0, len(texts), rows)], type_)
    if name == "ts":
        return pa.array(np.sort(rng.integers(0, 300, rows)) + rng.integers(-15, 15, rows))
    mask = rng.random(rows) < rng.choice([0, 0, 0.2, 1])
    if pa.types.is_boolean(type_):
        return pa.array(rng.random(rows) < 0.6, mask=mask)
    if pa.types.is_floating(type_):
        large = 1e300 if name == "f8" else 1e30
        values = rng.choice([0.0, -0.0, 1.5, -2.25, 7.0, *([math.nan, math.inf, large] if wild else [])], rows)
        return pa.array(values.astype(type_.to_pandas_dtype()), mask=mask)
    low, high = (0, 6) if pa.types.is_unsigned_integer(type_) else (-4, 5)
    values = rng.integers(low, high, rows).astype(type_.to_pandas_dtype())
    if wild and rows:
        info = np.iinfo(values.dtype)
        values[rng.integers(0, rows, 2)] = info.min if rng.random() < 0.5 else info.max
    return pa.array(values, mask=mask)


def drawn_batch(rng: np.random.Generator, rows: int, wild: bool) -> pa.RecordBatch:
    """A batch whose columns are parts of longer ones, each from a place of its own, and which may be a slice itself."""
    columns = []
    for name in NAMES:
        before, behind = rng.integers(0, 11, 2).tolist()
        columns.append(_values(rng, name, before + rows + behind, wild).slice(before, rows))
    made = pa.record_batch(columns, names=NAMES)
    start = int(rng.integers(0, rows // 2 + 1)) if rng.random() < 0.3 else 0
    return made.slice(start)


class _Drawing:
    """A program in the making: registers by kind, which a filter makes worthless."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.steps: list[Step] = []
        self.registers = 0
        self.marks = 0
        self.constants: list[Constant] = []
        self.kinds: dict[str, list[int]] = {}

    def new(self) -> int:
        self.registers += 1
        return self.registers - 1

    def add(self, op: Op, kind: str, a: int = 0, b: int = 0, c: int = 0, **more: Any) -> int:
        self.steps.append(Step(op, self.new(), a, b, c, **more))
        self.kinds.setdefault(kind, []).append(self.registers - 1)
        return self.registers - 1

    def load(self, name: str, form: ColumnForm | None = None, kind: str | None = None) -> int:
        _, usual = COLUMNS[name]
        found = (
            "text"
            if name in "tT"
            else "uint"
            if name == "u8"
            else "bool"
            if name == "b"
            else "float"
            if name[0] == "f"
            else "int"
        )
        return self.add(Op.LOAD, kind or found, NAMES.index(name), form=usual if form is None else form)

    def one_of(self, kind: str) -> int:
        if self.rng.random() < 0.1 and kind != "uint":
            value = {"int": [3, None, MOST], "float": [2.5, None], "bool": [True, False, None]}[kind]
            self.constants.append(Constant(self.new(), value[self.rng.integers(len(value))], kind))
            return self.constants[-1].register
        held = self.kinds.get(kind)
        if held and self.rng.random() < 0.7:
            return int(self.rng.choice(held))
        fitting = {"int": ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "ts"], "float": ["f4", "f8"], "bool": ["b"]}
        return self.load(str(self.rng.choice(fitting.get(kind, ["u8"]))))

    def filtered(self) -> None:
        kept, self.kinds = self.kinds, {}
        for kind, registers in kept.items():
            if kind == "text":
                continue  # it is read anew
            for register in self.rng.permutation(registers)[:2].tolist():
                self.add(Op.COMPACT, kind, register)
        self.steps.append(Step(Op.MARK, self.marks))
        self.marks += 1

    def compute(self) -> None:
        rng, of = self.rng, self.one_of
        limits = [(LEAST, MOST), (-(2**31), 2**31 - 1), (0, 255)][rng.integers(3)]
        which = rng.integers(14)
        if which == 0:
            self.add(Op(rng.choice(WHOLE)), "int", of("int"), of("int"), numbers=limits)
        elif which == 1:
            self.add(Op(rng.choice([Op.NEGATE, Op.ABS, Op.CHECK])), "int", of("int"), numbers=limits)
        elif which == 2:
            self.add(Op(rng.choice(FLOATS)), "float", of("float"), of("float"))
        elif which == 3:
            self.add(Op(rng.choice([Op.NEGATE_FLOAT, Op.ABS_FLOAT, Op.TO_FLOAT32])), "float", of("float"))
        elif which == 4:
            self.add(Op.TO_FLOAT, "float", of("int"))
        elif which == 5:
            self.add(Op.DIVIDE, "float", of("float"), of("float"))
        elif which == 6:
            self.add(Op(rng.choice(COMPARED)), "bool", of("int"), of("int"))
        elif which == 7:
            self.add(Op(rng.choice(COMPARED_FLOATS)), "bool", of("float"), of("float"))
        elif which == 8:
            self.add(Op(rng.choice([Op.AND, Op.OR])), "bool", of("bool"), of("bool"))
        elif which == 9:
            kind = str(rng.choice(["int", "float", "bool"]))
            op = Op.IS_NAN if kind == "float" else Op.NOT if kind == "bool" else Op.IS_NULL
            self.add(op if rng.random() < 0.5 else Op(rng.choice([Op.IS_NULL, Op.IS_VALID])), "bool", of(kind))
        elif which == 10:
            self.add(Op.TEXT_THERE, "bool", self.load(str(rng.choice(["t", "T"]))))
        elif which == 11:
            text = str(rng.choice([*TEXTS, "links"])).encode()
            self.add(Op.TEXT_EQUAL, "bool", self.load(str(rng.choice(["t", "T"]))), text=text)
        elif which == 12:
            kind = str(rng.choice(["int", "float", "bool"]))
            self.add(Op.IF_ELSE, kind, of("bool"), of(kind), of(kind))
        else:
            kind = str(rng.choice(["int", "float", "bool"]))
            self.add(Op.FILL_NULL, kind, of(kind), of(kind))

    def outputs(self) -> tuple[Output, ...]:
        """Some of the registers that are filled now."""
        held = [Output(register, kind) for kind in ("int", "float", "bool") for register in self.kinds.get(kind, [])]
        return tuple(held[i] for i in self.rng.permutation(len(held))[: self.rng.integers(0, 5)])

    def code(self) -> tuple[ProgramCode, list[str]]:
        """The program, and the types of the arrays of its aggregates."""
        rng = self.rng
        if rng.random() < 0.8:
            self.steps.append(Step(Op.GUARD, 0, self.load("ts")))
            self.filtered()
        for _ in range(int(rng.integers(0, 3))):
            for _ in range(int(rng.integers(1, 6))):
                self.compute()
            self.steps.append(Step(Op.FILTER, 0, self.one_of("bool")))
            self.filtered()
        for _ in range(int(rng.integers(0, 5))):
            self.compute()
        slide = int(rng.choice([1, 7, 60, 1000]))
        range_ = slide * int(rng.choice([1, 1, 2])) + (3 if rng.random() < 0.2 else 0)
        first = last = self.new()
        if range_ != slide:
            last = self.new()
        self.steps.append(Step(Op.WINDOW, last, self.load("ts"), first, numbers=(range_, slide, int(rng.integers(9)))))
        if rng.random() < 0.3:
            self.steps.append(Step(Op.LIMIT, 0, self.one_of("float"), numbers=(1e200,)))
        names = rng.permutation(list(KEYS))[: rng.integers(0, 4)].tolist()
        keys = [self.load(n, KEYS[n][0], f"key {n}") for n in names]
        updates, arrays = [], []
        for kind in rng.permutation(list(UPDATES))[: rng.integers(1, 5)].tolist():
            of, made = UPDATES[UpdateKind(kind)]
            value = self.one_of(str(rng.choice(["int", "float", "bool"])) if of == "any" else of)
            by = self.one_of("int") if kind in (UpdateKind.FIRST, UpdateKind.LAST) else -1
            updates.append(Update(UpdateKind(kind), value, by, len(arrays)))
            arrays += made
        kinds = tuple(KEYS[n][1] for n in names)
        steps, constants = tuple(self.steps), tuple(self.constants)
        code = ProgramCode(
            steps, max(self.registers, 1), constants, tuple(keys), kinds, last, tuple(updates), self.marks
        )
        return code, arrays


def _with_shards(code: ProgramCode, shared: bool) -> ProgramCode:
    """The program with its rows sent to shards by its keys, or by time; if the registers are ``shared``, keys are read
    once for both, as the writer of programs does it."""
    loads = {step.out: step for step in code.steps if step.op is Op.LOAD}
    by = [loads[key] for key in code.keys] or [Step(Op.LOAD, 0, NAMES.index("ts"), form=ColumnForm.RAW8)]
    first, shard = code.registers, code.registers + len(by)
    steps = [step._replace(out=first + i) for i, step in enumerate(by)]
    parted = [_parted_as(kind, step) for kind, step in zip(code.kinds or ("int",), by, strict=True)]
    steps.append(Step(Op.SHARD, shard, first, c=len(by), numbers=tuple(parted)))
    keys = tuple(range(first, first + len(code.keys))) if shared else code.keys
    return replace(code, steps=(*code.steps, *steps), registers=shard + 1, keys=keys, shard=shard)


def _parted_as(kind: str, load: Step) -> int:
    if kind == "bytes":
        return STRING if load.form is ColumnForm.TEXT else BYTES
    return REAL if kind == "float" else UNSIGNED if kind.startswith("uint") else SIGNED


def drawn(seed: int, hands_out: bool = False, distinct: bool = False, shards: int = 1) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    drawing = _Drawing(rng)
    code, arrays = drawing.code()
    if hands_out:
        code = replace(code, keys=(), kinds=(), slot=0, updates=(), outputs=drawing.outputs())
    if distinct:
        code, arrays = replace(code, updates=(), outputs=drawing.outputs(), distinct=True), []
    if shards > 1:
        code = _with_shards(code, shared=seed % 2 == 0)
    trains = []
    for _ in range(int(rng.integers(1, 4))):
        sizes = rng.choice([0, 1, 1, 3, 40, 700, CHUNK_ROWS, 3000], rng.integers(1, 9))
        batches = [drawn_batch(rng, int(size), rng.random() < 0.2) for size in sizes]
        rows = sum(batch.num_rows for batch in batches)
        places = np.sort(rng.integers(0, rows + 1, rng.integers(0, 4))).tolist()
        trains.append((batches, places, rng.integers(-20, 320, len(places)).tolist()))
    slack = None if rng.random() < 0.4 else int(rng.choice([0, 5, 20, 2**62]))
    options: dict[str, Any] = {"slack": slack}
    if shards > 1:
        options["cuts"] = [rng.choice([0, 0.1, 0.5, 0.9, 1], shards - 1).tolist() for _ in trains]
    return code, arrays, int(rng.choice([0, 0, 2, 9])), trains, options
