"""Users' aggregates in programs: they answer, and fail, as the boxes do one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from tests.oop_.engines.embedded.test_superboxes import assert_same_as_boxes, is_one_program, kernels, outcome, taken

__all__ = ["kernels", "taken"]

AGGREGATES = {
    "sum": (oop.aggregate(0, lambda s, v: s + v, lambda a, b: a + b), ("v",)),
    "rows": (oop.aggregate(7, lambda s: s + 1, lambda a, b: a + b), ()),
    "two": (
        oop.aggregate(
            (0, 0.5, False),
            lambda s, x, b: (s[0] + 1, s[1] + x, s[2] or b),
            lambda a, b: (a[0] + b[0], a[1] + b[1], a[2] or b[2]),
        ),
        ("x", "b"),
    ),
    "greatest": (oop.aggregate(-math.inf, lambda s, v: max(s, v)), ("i",)),
    "small": (oop.aggregate(0, lambda s, v: s + v), ("u",)),
    "computed": (oop.aggregate(0, lambda s, v: s + v), (oop.col("i") * 3 + oop.col("u"),)),
    "in its window": (oop.aggregate(0, lambda s, v: s + v, None, lambda s, start, end: s / (end - start)), ("v",)),
}


def batches(rows: int = 4_000) -> list[pa.RecordBatch]:
    rng = np.random.default_rng(5)
    made = pa.record_batch({
        "ts": np.arange(rows) // 7 + rng.integers(-9, 3, rows),
        "k": pa.array(rng.integers(0, 5, rows), pa.int16()),
        "name": pa.array([f"link {i}" for i in rng.integers(0, 5, rows)]),
        "v": rng.integers(-50, 50, rows),
        "x": pa.array(rng.normal(size=rows).round(3), mask=rng.random(rows) < 0.2),
        "b": pa.array(rng.random(rows) < 0.1, mask=rng.random(rows) < 0.2),
        "i": pa.array(rng.integers(-9, 9, rows), pa.int8(), mask=rng.random(rows) < 0.1),
        "u": pa.array(rng.integers(0, 9, rows), pa.uint32()),
    })  # fmt: skip
    return [made.slice(at, 300) for at in range(0, rows, 300)]


def grouped(name: str, key: str = "k", given: list[pa.RecordBatch] | None = None) -> oop.Stream:
    function, columns = AGGREGATES[name]
    stream = oop.source(given or batches(), time="ts", punctuate=oop.slack(6), name="it")
    kept = stream.filter(oop.col("v") != 3).window(oop.tumbling(40)).group_by(key)
    return kept.agg(n=oop.count(), it=function(*columns))


@pytest.mark.parametrize("name", AGGREGATES)
@pytest.mark.parametrize(("key", "threads"), [("k", 1), ("name", 1), ("k", 2)])
def test_same_as_boxes(kernels: str, taken: list[int], name: str, key: str, threads: int) -> None:
    stream = grouped(name, key)
    assert is_one_program(stream)
    assert_same_as_boxes(stream, threads)
    assert sum(taken) >= 4_000


def test_what_a_function_raises(kernels: str) -> None:
    """The error is that of the function, and it comes for the same row."""

    def picky(state: int, value: int, other: int) -> int:
        if value == 49:
            raise ValueError("49 is not for me")
        return state + value // (other + 20)

    stream = oop.source(batches(), time="ts", punctuate=oop.slack(6), name="it")
    picked = stream.window(oop.tumbling(40)).group_by("k").agg(it=oop.aggregate(0, picky)("v", "i"))
    assert is_one_program(picked)
    found = outcome(picked, threads=1)
    assert found["error"] == outcome(picked, threads=1, scheduler=oop.RoundRobin())["error"]
    assert "ValueError: 49 is not for me" in found["error"][1]


def test_a_zero_that_a_function_divides_by(kernels: str) -> None:
    function = oop.aggregate(0.0, lambda s, v: s + 1 / v)
    stream = oop.source(batches(), time="ts", punctuate=oop.slack(6)).window(oop.tumbling(40))
    found = outcome(stream.agg(it=function("v")), threads=1)
    assert found["error"][1].startswith("incr of a user-defined aggregate failed: ZeroDivisionError")


@pytest.mark.parametrize(
    ("columns", "reason"),
    [(("v", "i", "u"), "it is over more than 2 columns"), (("big",), "it has no steps for uint64")],
)
def test_what_has_no_steps(columns: tuple[str, ...], reason: str) -> None:
    given = [b.append_column("big", b.column("u").cast(pa.uint64())) for b in batches()]
    function: Any = oop.aggregate(0, lambda s, *values: s + values[0])
    stream = oop.source(given, time="ts", punctuate=oop.slack(6), name="it")
    counts = stream.window(oop.tumbling(40)).group_by("k").agg(it=function(*columns))
    assert not is_one_program(counts)
    assert reason in counts.explain(engine=oop.Embedded())
    assert_same_as_boxes(counts)


def test_explain_compiles_nothing_for_c(monkeypatch: pytest.MonkeyPatch) -> None:
    from oop.kernels.user import compiled

    monkeypatch.setattr(compiled, "compile_for_c", None)
    function = oop.aggregate(0, lambda s, v: s + 2 * v)
    stream = oop.source(batches(), time="ts", punctuate=oop.slack(6)).window(oop.tumbling(40)).agg(it=function("v"))
    assert "one program with" in stream.explain(engine=oop.Embedded())
