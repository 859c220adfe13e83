"""Cases of programs: written by hand, and drawn at random with batches that are odd in every way that Arrow allows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels.dispatch import Kernels
from oop.kernels.signatures.programs import GuardState
from oop.kernels.steps import (
    CHUNK_ROWS,
    REAL,
    SIGNED,
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
from oop.operators.core.keys import KeyTable
from tests.kernels.cases.inputs import LEAST, MOST, Case, new_rng

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
TEXTS = ["", "a", "link", "A link", "a longer name of a link", "a name that is longer than all others, and not short"]
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


class Slice:
    """The groups of one slice, with arrays of zeros."""

    def __init__(self, kernels: Kernels, kinds: list[str], arrays: list[str]) -> None:
        self.keys = KeyTable(kinds, kernels)
        self.codes, self.texts = self.keys.ids, self.keys.texts
        self.held = [np.zeros((0, int(a)), np.int64) if a.isdigit() else np.zeros(0, a) for a in arrays]

    def arrays(self) -> list[np.ndarray]:
        return self.held

    def make_room(self, groups: int) -> None:
        for i, array in enumerate(self.held):
            if len(array) < groups:
                more = np.zeros((groups - len(array), *array.shape[1:]), array.dtype)
                self.held[i] = np.concatenate([array, more])


class Slices:
    def __init__(self, kernels: Kernels, code: ProgramCode, arrays: list[str], shift: int) -> None:
        self.shift, self.slotted, self.version = shift, shift > 0, 0
        self.made: dict[int, Slice] = {}
        self.rows: dict[int, int] = {}
        self._new = lambda: Slice(kernels, [*code.kinds, *(["int"] if self.slotted else [])], arrays)

    def target(self, number: int) -> Slice:
        if number not in self.made:
            self.made[number] = self._new()
        return self.made[number]

    def widen(self) -> bool:
        return False

    def took(self, numbers: list[int], rows: list[int]) -> None:
        for number, count in zip(numbers, rows, strict=True):
            self.rows[number] = self.rows.get(number, 0) + count

    def held(self) -> list[Any]:
        found = []
        for number, one in sorted(self.made.items()):
            groups = len(one.codes)
            keys = [(c.data, c.offsets, c.valid) for c in one.keys.columns()] if groups else []
            found.append((number, self.rows.get(number, 0), groups, keys, [a[:groups] for a in one.held]))
        return found


def run_program(
    kernels: Kernels, kernel: str, code: ProgramCode, arrays: list[str], shift: int, trains: list[Any], **options: Any
) -> Any:
    """Run trains, each with its promises; the result is all that a program tells, and what it has filled."""
    if "cuts" in options:
        return _run_shards(kernels, code, arrays, shift, trains, **options)
    program = kernels.TrainProgram(code)
    slices, guard = Slices(kernels, code, arrays, shift), GuardState(options.get("slack"), options.get("rank"))
    found = []
    for batches, places, bounds in trains:
        guard.places = np.array(places, np.int64)
        guard.bounds = np.array(bounds, np.float64 if code.floats else np.int64)
        odd = program.run(batches, guard, slices)
        found.append((odd, program.late, program.broken, program.counts.copy(), guard.greatest, guard.bound, guard.top))
        columns = [(_where_there(values, valid), valid) for values, valid in program.columns]
        found.append((program.kept, columns))
    return found, slices.held()


def _run_shards(
    kernels: Kernels,
    code: ProgramCode,
    arrays: list[str],
    shift: int,
    trains: list[Any],
    slack: int | None,
    cuts: list[list[float]],
) -> Any:
    """Run trains that several programs share. ``cuts`` are where a train is cut, one fewer than there are programs, as
    shares of its rows. Together they must find what one program finds of the whole."""
    shards = len(cuts[0]) + 1
    programs = [kernels.TrainProgram(code, i, shards) for i in range(shards)]
    slices = [Slices(kernels, code, arrays, shift) for _ in programs]
    whole, whole_slices = kernels.TrainProgram(replace(code, shard=None)), Slices(kernels, code, arrays, shift)
    guard, whole_guard = GuardState(slack), GuardState(slack)
    found: list[Any] = []
    for (batches, places, bounds), shares in zip(trains, cuts, strict=True):
        rows = sum(map(len, batches))
        ends = [0, *sorted(int(share * rows) for share in shares), None]
        guard.places = whole_guard.places = np.array(places, np.int64)
        guard.bounds = whole_guard.bounds = np.array(bounds, np.float64 if code.floats else np.int64)
        guards, odd = [GuardState() for _ in programs], []
        for program, own, part, first, end in zip(programs, slices, guards, ends[:-1], ends[1:], strict=True):
            part.follow(guard)
            program.start(batches, part, own, first or 0, end)
            while (chunk := program.go_on()) is not None:
                odd.append(chunk)
        for program in programs:
            program.take_sent(programs)
        for program in programs:
            program.finish()
        guard.follow(guards[-1])
        late, broken = (np.concatenate([getattr(p, name) for p in programs]) for name in ("late", "broken"))
        told = late, broken, guard.greatest, guard.bound
        if not whole.run(batches, whole_guard, whole_slices) and not odd:
            np.testing.assert_equal(told, (whole.late, whole.broken, whole_guard.greatest, whole_guard.bound))
        whole_guard.follow(guard)  # what is odd is never judged, and chunks of parts are others
        found.append((odd, told, sum(program.counts for program in programs)))
    return found, [own.held() for own in slices]


def _where_there(values: np.ndarray, valid: np.ndarray | None) -> np.ndarray:
    """The values, with zeros under nulls, and the bytes of truth values."""
    values = values.view(np.uint8) if values.dtype == np.bool_ else values
    return values if valid is None else np.where(valid, values, values.dtype.type(0))


def _run(kernels: Kernels, kernel: str, *args: Any) -> Any:
    *given, options = args
    return run_program(kernels, kernel, *given, **options)


RUNNERS = {"TrainProgram": _run}


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


def _batch(rng: np.random.Generator, rows: int, wild: bool) -> pa.RecordBatch:
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


def _with_shards(code: ProgramCode) -> ProgramCode:
    """The program with its rows sent to shards by its keys that are no text, or by time."""
    loads = {step.out: step for step in code.steps if step.op is Op.LOAD}
    kept = [(key, kind) for key, kind in zip(code.keys, code.kinds, strict=True) if kind != "bytes"]
    by = [loads[key] for key, _ in kept] or [Step(Op.LOAD, 0, NAMES.index("ts"), form=ColumnForm.RAW8)]
    first, shard = code.registers, code.registers + len(by)
    steps = [step._replace(out=first + i) for i, step in enumerate(by)]
    kinds = [REAL if kind == "float" else UNSIGNED if kind.startswith("uint") else SIGNED for _, kind in kept]
    steps.append(Step(Op.SHARD, shard, first, c=len(by), numbers=tuple(kinds or [SIGNED])))
    return replace(
        code,
        steps=(*code.steps, *steps),
        registers=shard + 1,
        keys=tuple(key for key, _ in kept),
        kinds=tuple(kind for _, kind in kept),
        shard=shard,
    )


def _drawn(seed: int, hands_out: bool = False, shards: int = 1) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    drawing = _Drawing(rng)
    code, arrays = drawing.code()
    if hands_out:
        code = replace(code, keys=(), kinds=(), slot=0, updates=(), outputs=drawing.outputs())
    if shards > 1:
        code = _with_shards(code)
    trains = []
    for _ in range(int(rng.integers(1, 4))):
        sizes = rng.choice([0, 1, 1, 3, 40, 700, CHUNK_ROWS, 3000], rng.integers(1, 9))
        batches = [_batch(rng, int(size), rng.random() < 0.2) for size in sizes]
        rows = sum(batch.num_rows for batch in batches)
        places = np.sort(rng.integers(0, rows + 1, rng.integers(0, 4))).tolist()
        trains.append((batches, places, rng.integers(-20, 320, len(places)).tolist()))
    slack = None if rng.random() < 0.4 else int(rng.choice([0, 5, 20, 2**62]))
    options: dict[str, Any] = {"slack": slack}
    if shards > 1:
        options["cuts"] = [rng.choice([0, 0.1, 0.5, 0.9, 1], shards - 1).tolist() for _ in trains]
    return code, arrays, int(rng.choice([0, 0, 2, 9])), trains, options


def _floats() -> tuple[Any, ...]:
    """Times that are floats, some of them no numbers, with promises and with slack."""
    rng = new_rng()
    times = [np.sort(rng.uniform(0, 90, 900)) - rng.uniform(0, 9, 900) for _ in range(4)]
    times[2][[5, 600]] = math.nan, -math.inf
    batches = [pa.record_batch({"ts": t, "k": rng.integers(0, 3, len(t)).astype(np.int8)}) for t in times]
    steps = (
        Step(Op.LOAD, 0, 0, form=ColumnForm.RAW8),
        Step(Op.GUARD, 0, 0, form=ColumnForm(1)),
        Step(Op.MARK, 0),
        Step(Op.LOAD, 1, 0, form=ColumnForm.RAW8),
        Step(Op.WINDOW, 3, 1, 2, numbers=(10.0, 2.5, 0.25)),
        Step(Op.LOAD, 4, 1, form=ColumnForm.RAW1),
    )
    updates = (Update(UpdateKind.COUNT, -1, -1, 0), Update(UpdateKind.SUM_FLOAT, 1, -1, 1))
    code = ProgramCode(steps, 5, (), (4,), ("int8",), 3, updates, 1, True)
    arrays = ["int64", "float64", "float64", "int64"]
    return code, arrays, 0, [(batches, [100, 1500], [4.5, 3.0])], {"slack": 2.0}


def _floats_in_parts() -> tuple[Any, ...]:
    """Times that are floats, judged by two programs, of which the second begins behind one that is no number."""
    code, arrays, shift, trains, options = _floats()
    steps = (*code.steps, Step(Op.SHARD, 5, 4, c=1, numbers=(SIGNED,)))
    code = replace(code, steps=steps, registers=6, shard=5)
    return code, arrays, shift, trains, {**options, "cuts": [[0.75]]}


def _far_slots_in_parts(shift: int) -> tuple[Any, ...]:
    """Rows in so many slices that they must be taken a few at a time, because those that were sent cannot be odd."""
    code, arrays, shift, trains, _ = _far_slots(shift)
    steps = (*code.steps, Step(Op.SHARD, 2, 0, c=1, numbers=(SIGNED,)))
    code = replace(code, steps=steps, registers=3, shard=2)
    return code, arrays, shift, trains, {"slack": None, "cuts": [[0.3, 0.6]] * len(trains)}


def _far_slots(shift: int) -> tuple[Any, ...]:
    """Rows in so many slices that a chunk is odd, in slices far apart, and beyond the windows' reach."""
    times = [np.arange(100), np.arange(3000) // 60, np.array([0, 10**15, -(10**15)] * 500), np.array([LEAST, MOST, 1])]
    batches = [pa.record_batch({"ts": t}) for t in times for _ in range(2)]
    steps = (Step(Op.LOAD, 0, 0, form=ColumnForm.RAW8), Step(Op.WINDOW, 1, 0, 1, numbers=(1, 1, 0)))
    code = ProgramCode(steps, 2, (), (), (), 1, (Update(UpdateKind.COUNT, -1, -1, 0),), 0)
    return code, ["int64"], shift, [(batches, [], []), (batches[2:4], [], [])], {}


def _many_texts(shift: int) -> tuple[Any, ...]:
    """So many texts that their table must grow, in both of its parts; alone, and beside the slot."""
    texts = pa.array([f"{'x' * (i % 50)}{i}" for i in range(6_000)])
    batches = [
        pa.record_batch({"t": texts.slice(first, 700), "ts": np.arange(700) // 9}) for first in range(0, 5_000, 400)
    ]
    steps = (
        Step(Op.LOAD, 0, 0, form=ColumnForm.TEXT),
        Step(Op.LOAD, 1, 1, form=ColumnForm.RAW8),
        Step(Op.WINDOW, 2, 1, 2, numbers=(40, 40, 0)),
    )
    code = ProgramCode(steps, 3, (), (0,), ("bytes",), 2, (Update(UpdateKind.COUNT, -1, -1, 0),), 0)
    return code, ["int64"], shift, [(batches, [], []), (batches[:3], [], [])], {}


def cases() -> Iterator[Case]:
    for shift in (0, 4):
        yield Case("TrainProgram", f"texts-{shift}", lambda shift=shift: _many_texts(shift))
    for seed in range(150):
        yield Case("TrainProgram", f"drawn-{seed}", lambda seed=seed: _drawn(seed))
    for seed in range(60):
        yield Case("TrainProgram", f"handed-out-{seed}", lambda seed=seed: _drawn(seed, hands_out=True))
    yield Case("TrainProgram", "floats", _floats)
    for seed in range(60):
        yield Case("TrainProgram", f"shards-{seed}", lambda seed=seed: _drawn(seed, shards=2 + seed % 3))
    yield Case("TrainProgram", "floats-in-parts", _floats_in_parts)
    for shift in (0, 4, 50):
        yield Case("TrainProgram", f"far-{shift}", lambda shift=shift: _far_slots(shift))
        yield Case("TrainProgram", f"far-in-parts-{shift}", lambda shift=shift: _far_slots_in_parts(shift))
