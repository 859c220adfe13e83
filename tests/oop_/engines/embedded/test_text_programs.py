"""Programs whose keys are text: with several threads, rows cross between them inside of the programs."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.engines.embedded import lanes
from oop.kernels import dispatch
from oop.kernels.checks import KernelError
from oop.kernels.signatures.programs import GuardState
from oop.operators.core.exchange import part_batches
from oop.plan.final import lower
from oop.plan.superboxes import superboxes
from tests.kernels.cases.programs import Slices
from tests.oop_.engines.embedded.test_superboxes import assert_same_as_boxes, kernels, outcome

assert kernels  # a fixture
TYPES = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]
WORDS = ["", "a", "b", "ab", "\0", "1234567", "12345678", "fifteen letters", "sixteen letters!", "Sixteen letters!"]
LONG = ["x" * 63, "x" * 64, "x" * 65 + "y", "x" * 65 + "z", "a text of more than sixteen bytes", "ä" * 300]


def texts(rng: random.Random, rows: int, type_: pa.DataType, made: str) -> pa.Array:
    """Some texts again and again, nulls, and texts that never come back, of which each batch has others."""
    found: list[Any] = []
    for i in range(rows):
        drawn = rng.random()
        text = rng.choice(WORDS) if drawn < 0.6 else rng.choice(LONG) if drawn < 0.8 else f"{made} {i}"
        found.append(None if drawn > 0.95 else text if pa.types.is_string(type_) else text.encode())
    if pa.types.is_large_string(type_):
        found = [None if text is None else text.decode() for text in found]
    return pa.array(found, type_)


def drawn(seed: int, types: list[pa.DataType], odd: bool = True) -> tuple[list[pa.RecordBatch], pa.Schema]:
    """Batches of all sizes, some of them parts of longer ones; some rows have no time."""
    rng = random.Random(seed)
    low, batches = 0, []
    for number in range(rng.randint(2, 9)):
        rows = rng.choice([0, 1, 3, 30, 700, 2_500])
        times: list[int | None] = [low + rng.randint(0, 40) for _ in range(rows)]
        low += rng.choice([0, 15, 60])
        if odd and rows and rng.random() < 0.2:
            times[rng.randrange(rows)] = None
        columns = {f"t{i}": texts(rng, rows, type_, f"{number} {i}") for i, type_ in enumerate(types)}
        columns |= {"k": pa.array([rng.choice([1, -1, None]) for _ in range(rows)], pa.int16())}
        batch = pa.record_batch({"ts": pa.array(times, pa.int64()), **columns})
        batches.append(batch.slice(rows // 5) if rng.random() < 0.4 else batch)
    return batches, batches[0].schema


def counted(batches: list[pa.RecordBatch], schema: pa.Schema, keys: list[str], **options: Any) -> oop.Stream:
    options = {"punctuate": oop.slack(25), "nulls": "aside", "name": "it", **options}
    stream = oop.source(batches, time="ts", schema=schema, **options)
    return stream.window(oop.tumbling(10)).group_by(*keys).agg(n=oop.count(), nt=oop.count("t0"), s=oop.sum("k"))


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("keys", [["t0"], ["t0", "t1"], ["k", "t1", "t0"]], ids=",".join)
def test_threads_that_exchange_texts(
    kernels: str, threads: int, keys: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "PARALLEL_ROWS", 1)
    rows = late = 0
    for seed in range(6):
        rng = random.Random(seed)
        stream = counted(*drawn(seed, [rng.choice(TYPES), rng.choice(TYPES)]), keys)
        assert superboxes(lower(stream.flow, oop.Embedded()), parts=threads > 1)[0].has_state
        found = assert_same_as_boxes(stream, threads)
        rows, late = rows + len(found["rows"]), late + len(found["late"])
    assert rows > 1_000 and late


@pytest.mark.parametrize("keys", [["t0"], ["t1"], ["t2"], ["t3"], ["t0", "k", "t3"], ["t1", "t2"]], ids=",".join)
def test_a_program_chooses_the_shards_that_others_choose(kernels: str, keys: list[str]) -> None:
    """Odd chunks, and streams that no program takes, are parted by another way into the same shards."""
    body, shards = dispatch.kernels(), 3
    batches, schema = drawn(5, TYPES, odd=False)
    stream = counted(batches, schema, keys, punctuate=oop.at_end())
    code = superboxes(lower(stream.flow, oop.Embedded()), parts=True)[0].code
    assert code is not None and code.shard is not None
    arrays = ["int64"] * (2 + 3)  # two counts and a sum
    programs = [body.TrainProgram(code, shard, shards) for shard in range(shards)]
    targets = [Slices(body, code, arrays, 0) for _ in programs]
    given = [batch.select(superbox_columns(stream)) for batch in batches]
    for shard, program in enumerate(programs):
        program.start(given, GuardState(), targets[shard], 0 if shard == 0 else sum(map(len, given)))
        assert program.go_on() is None
    for program in programs:
        program.take_sent(programs)
    for program in programs:
        program.finish()
    found = [
        {row for one in target.made.values() for row in rows_of(one.keys.arrays(types_of(schema, keys)))}
        for target in targets
    ]
    wanted = [set(rows_of([part.column(key) for key in keys])) for part in part_batches(batches, keys, shards)]
    assert found == wanted and all(wanted)


def superbox_columns(stream: oop.Stream) -> list[str]:
    names: list[str] = superboxes(lower(stream.flow, oop.Embedded()), parts=True)[0].schema.names
    return names


def types_of(schema: pa.Schema, keys: list[str]) -> list[pa.DataType]:
    return [schema.field(key).type for key in keys]


def rows_of(columns: list[pa.Array]) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


@pytest.mark.parametrize("threads", [1, 2])
def test_texts_that_hardly_come_back_and_then_do(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of texts finds few of them, gives up for a while, and begins again."""
    monkeypatch.setattr(lanes, "PARALLEL_ROWS", 1)
    new, again = [f"text {i}" for i in range(200_000)], [f"text {i % 50}" for i in range(100_000)]
    whole = pa.record_batch({"t": new + again, "ts": np.arange(300_000) // 20_000})
    for rows in (100, 40_000):
        batches = [whole.slice(first, rows) for first in range(0, len(whole), rows)]
        stream = oop.source(batches, time="ts", punctuate=oop.ordered(), name="it")
        counts = stream.window(oop.tumbling(5)).group_by("t").agg(n=oop.count())
        table = counts.run(oop.Embedded(threads=threads)).to_table()
        assert table.num_rows == 200_000 + 50 and sum(table["n"].to_pylist()) == 300_000
        assert sorted(table["n"].to_pylist())[-50:] == [2_000] * 50


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("offsets", [[0, 5, 3, 6], [0, 2, 900, 6], [0, -3, 4, 6]], ids=str)
def test_offsets_that_lead_outside(threads: int, offsets: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("oop.kernels._native")
    monkeypatch.setenv("OOP_KERNELS", "native")
    monkeypatch.setattr(lanes, "PARALLEL_ROWS", 1)
    buffers = [None, pa.py_buffer(np.array(offsets, np.int32)), pa.py_buffer(b"abcdef")]
    wrong = pa.Array.from_buffers(pa.string(), 3, buffers)
    batch = pa.record_batch({"ts": [1, 2, 3], "t": wrong})
    stream = oop.source([batch], time="ts", punctuate=oop.ordered(), name="it")
    counts = stream.window(oop.tumbling(5)).group_by("t").agg(n=oop.count())
    with pytest.raises(KernelError, match="offsets"):
        counts.run(oop.Embedded(threads=threads)).to_table()


def test_a_stream_that_no_program_takes_meets_one_that_does(kernels: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of both come to the same groups, so they must come to the same shards."""
    monkeypatch.setattr(lanes, "PARALLEL_ROWS", 1)
    batches, schema = drawn(3, [pa.string(), pa.large_binary()], odd=False)
    kept = oop.source(batches, time="ts", punctuate=oop.slack(25), schema=schema, name="kept")
    named = oop.source(batches, time="ts", punctuate=oop.slack(25), schema=schema, name="named", late="admit")
    for keys in (["t0"], ["t1", "t0"]):
        counts = oop.union(kept, named).window(oop.tumbling(10)).group_by(*keys).agg(n=oop.count())
        assert outcome(counts, threads=2)["rows"] == outcome(counts, threads=1, scheduler=oop.RoundRobin())["rows"]
