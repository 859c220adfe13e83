"""Cases of programs: written by hand, and drawn at random (`drawn_programs.py`)."""

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
    SIGNED,
    STRING,
    ColumnForm,
    Constant,
    Op,
    Output,
    ProgramCode,
    Sessions,
    Step,
    Update,
    UpdateKind,
)
from oop.operators.core.keys import KeyTable
from tests.kernels.cases.drawn_programs import drawn
from tests.kernels.cases.inputs import LEAST, MOST, Case, new_rng
from tests.kernels.cases.open_sessions import OpenSlice


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
        self.made: dict[int, Any] = {}
        self.rows: dict[int, int] = {}
        made: Any = Slice if code.sessions is None else OpenSlice
        self._new = lambda: made(kernels, [*code.kinds, *(["int"] if self.slotted else [])], arrays)

    def target(self, number: int) -> Any:
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
            if isinstance(one, OpenSlice):
                found.append((number, self.rows.get(number, 0), groups, one.open()))
                continue
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
        odd = _run_until_odd(program, batches, guard, slices) if "stops" in options else None
        odd = program.run(batches, guard, slices) if odd is None else odd
        found.append((odd, program.late, program.broken, program.counts.copy(), guard.greatest, guard.bound, guard.top))
        found.append(guard.reached)
        columns = [(_where_there(values, valid), valid) for values, valid in program.columns]
        found.append((program.kept, columns))
    return found, slices.held()


def _run_until_odd(program: Any, batches: Any, guard: GuardState, slices: Any) -> list[tuple[int, int]]:
    """Run a train up to the first odd chunk; the rest goes another way."""
    odd = []
    program.start(batches, guard, slices)
    while (chunk := program.go_on()) is not None:
        odd.append(chunk)
        program.skip_rest()
    program.finish()
    return odd


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


def _many_texts_in_parts(rows: int) -> tuple[Any, ...]:
    """More texts than a list finds again, then some that come back, and others in the place of all; in batches of so
    many rows."""
    rng = new_rng()
    new = [f"{'y' * (i % 23)}{i}" for i in range(9_000)]
    trains = []
    for texts in (new, new[:300] * 20, [text[::-1] for text in new[:7_000]] + new[:2_000]):
        columns = {
            "t": pa.array([None if rng.random() < 0.01 else text for text in texts]),
            "ts": np.sort(rng.integers(0, 90, len(texts))),
        }
        whole = pa.record_batch(columns)
        batches = [whole.slice(first, rows) for first in range(0, len(texts), rows)]
        trains.append((batches, [], []))
    steps = (
        Step(Op.LOAD, 0, 0, form=ColumnForm.TEXT),
        Step(Op.LOAD, 1, 1, form=ColumnForm.RAW8),
        Step(Op.WINDOW, 2, 1, 2, numbers=(40, 40, 0)),
        Step(Op.SHARD, 3, 0, c=1, numbers=(STRING,)),
    )
    code = ProgramCode(steps, 4, (), (0,), ("bytes",), 2, (Update(UpdateKind.COUNT, -1, -1, 0),), 0, shard=3)
    return code, ["int64"], 0, trains, {"slack": None, "cuts": [[0.3]] * len(trains)}


def _many_texts_of_rows_left() -> tuple[Any, ...]:
    """The same texts without shards, where some rows are late: texts that hardly come back are read where they lie."""
    code, arrays, shift, trains, _ = _many_texts_in_parts(900)
    load, *others = (step for step in code.steps if step.op is not Op.SHARD)
    steps = (Step(Op.LOAD, 4, 1, form=ColumnForm.RAW8), Step(Op.GUARD, 0, 4), Step(Op.MARK, 0), *others, load)
    code = replace(code, steps=steps, registers=5, marks=1, shard=None)
    late = [(batches[::-1], [2_000], [30]) for batches, _, _ in trains]
    return code, arrays, shift, [*late, *trains], {"slack": 50}


def _many_distinct() -> tuple[Any, ...]:
    """So many keys that their tables must grow in the middle of chunks, which must not lose what is new by that."""
    rng = new_rng()
    batches = [
        pa.record_batch({"ts": rng.integers(i * 90, i * 90 + 200, 3_000), "k": rng.integers(0, 50, 3_000)})
        for i in range(8)
    ]
    steps = (
        Step(Op.LOAD, 0, 0, form=ColumnForm.RAW8),
        Step(Op.LOAD, 1, 1, form=ColumnForm.RAW8),
        Step(Op.LOAD, 2, 0, form=ColumnForm.RAW8),
    )
    outputs = (Output(1, "int"), Output(2, "int"))
    code = ProgramCode(steps, 3, (), (0, 1), ("int", "int"), 2, (), 0, outputs=outputs, distinct=True)
    return code, [], 6, [(batches, [], []), (batches[::-1], [], [])], {}


def _sessions(gap: int) -> tuple[Any, ...]:
    """Sessions that are bridged, in chunks, in a chain over several chunks, and from train to train."""
    rng = new_rng()

    def batches(first: int) -> list[pa.RecordBatch]:
        times = [np.arange(2_500) // 2 + first - rng.integers(0, 90, 2_500) for _ in range(3)]
        texts = np.array(["a", "b", "a longer text"])
        return [
            pa.record_batch(
                {
                    "ts": t,
                    "k": rng.integers(0, 30, 2_500).astype(np.int16),
                    "t": pa.array(texts[rng.integers(0, 3, 2_500)]),
                    "v": pa.array(rng.integers(-5, 5, 2_500), mask=rng.random(2_500) < 0.3),
                }
            )
            for t in times
        ]

    steps = (
        Step(Op.LOAD, 0, 0, form=ColumnForm.RAW8),
        Step(Op.GUARD, 0, 0),
        Step(Op.MARK, 0),
        Step(Op.LOAD, 1, 0, form=ColumnForm.RAW8),
        Step(Op.CHECK, 2, 1, numbers=(LEAST, MOST - gap)),
        Step(Op.LOAD, 3, 1, form=ColumnForm.RAW2),
        Step(Op.LOAD, 4, 2, form=ColumnForm.TEXT),
        Step(Op.LOAD, 5, 3, form=ColumnForm.RAW8),
    )
    updates = (Update(UpdateKind.COUNT, -1, -1, 0), Update(UpdateKind.COUNT, 5, -1, 1))
    code = ProgramCode(
        steps, 7, (Constant(6, 0, "int"),), (3, 4), ("int16", "bytes"), 6, updates, 1, sessions=Sessions(2, gap)
    )
    trains = [(batches(first), [4_000], [first - 60]) for first in (0, 700, 600)]
    return code, ["int64"] * 2, 0, trains, {"slack": None}


def _ascending(floats: bool, hands_out: bool, stops: bool) -> Any:
    """Values that must ascend: from chunk to chunk, of which some begin again because tables grow, and from train to
    train. Some fall, some are not there."""
    rng = new_rng()

    def batch(first: int, rows: int, wrong: Any = "", at: int = 0) -> pa.RecordBatch:
        right = first + np.arange(rows) // 3
        values: list[Any] = right.tolist()
        if wrong != "":
            values[at] = wrong
        type_ = pa.float64() if floats else pa.int64()
        return pa.record_batch({"ts": pa.array(values, type_), "k": rng.integers(0, 9_000, rows), "v": right})

    trains = [
        [batch(0, 7_000), batch(2_333, 1), batch(2_334, 1_500)],
        [batch(3_000, 5_000, -1, 3_000), batch(5_000, 3_000)],
        [batch(5_500, 900, None, 899), batch(5_900, 2_000)],
        [batch(5_000, 10), batch(7_000, 2_500)],  # below what was reached
        [batch(8_000, 1)] * 3 + [batch(8_000, 0)],
    ]
    if floats:
        trains += [[batch(8_100, 50, math.nan, 49)], [batch(8_100, 1, math.nan)], [batch(8_100, 4, math.inf, 3)]]
    steps = (
        Step(Op.LOAD, 0, 2, form=ColumnForm.RAW8),
        Step(Op.LESS, 1, 0, 2),
        Step(Op.FILTER, 0, 1),
        Step(Op.LOAD, 3, 0, form=ColumnForm.RAW8),
        Step(Op.ASCEND, 0, 3, form=ColumnForm(int(floats))),
        Step(Op.MARK, 0),
        Step(Op.LOAD, 4, 1, form=ColumnForm.RAW8),
    )
    constants = (Constant(2, 8_500, "int"), Constant(5, 0, "int"))
    outputs = (Output(3, "float" if floats else "int"),) if hands_out else None
    keys, kinds, updates = ((), (), ()) if hands_out else ((4,), ("int",), (Update(UpdateKind.COUNT, -1, -1, 0),))
    code = ProgramCode(steps, 6, constants, keys, kinds, 5, updates, 1, outputs=outputs)
    options = {"slack": None, **({"stops": True} if stops else {})}
    return code, ["int64"], 0, [(train, [], []) for train in trains], options


def cases() -> Iterator[Case]:
    for name, floats in (("whole", False), ("floats", True)):
        for hands_out in (False, True):
            for stops in (False, True):
                how = f"{'handed-out' if hands_out else 'taken'}-{'up-to-odd' if stops else 'all'}"
                given = floats, hands_out, stops
                yield Case("TrainProgram", f"ascending-{name}-{how}", lambda given=given: _ascending(*given))
    for gap in (1, 8, 40):
        yield Case("TrainProgram", f"sessions-{gap}", lambda gap=gap: _sessions(gap))
    for shift in (0, 4):
        yield Case("TrainProgram", f"texts-{shift}", lambda shift=shift: _many_texts(shift))
    for rows in (7, 900, 5_000):
        yield Case("TrainProgram", f"texts-in-parts-{rows}", lambda rows=rows: _many_texts_in_parts(rows))
    yield Case("TrainProgram", "texts-of-rows-left", _many_texts_of_rows_left)
    for seed in range(150):
        yield Case("TrainProgram", f"drawn-{seed}", lambda seed=seed: drawn(seed))
    for seed in range(60):
        yield Case("TrainProgram", f"handed-out-{seed}", lambda seed=seed: drawn(seed, hands_out=True))
    for seed in range(90):
        yield Case("TrainProgram", f"distinct-{seed}", lambda seed=seed: drawn(seed, distinct=True))
    yield Case("TrainProgram", "many-distinct", _many_distinct)
    yield Case("TrainProgram", "floats", _floats)
    for seed in range(90):
        yield Case("TrainProgram", f"shards-{seed}", lambda seed=seed: drawn(seed, shards=2 + seed % 3))
    yield Case("TrainProgram", "floats-in-parts", _floats_in_parts)
    for shift in (0, 4, 50):
        yield Case("TrainProgram", f"far-{shift}", lambda shift=shift: _far_slots(shift))
        yield Case("TrainProgram", f"far-in-parts-{shift}", lambda shift=shift: _far_slots_in_parts(shift))
