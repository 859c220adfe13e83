"""Sessions at the end of a program are those of the boxes, and so are what is held, saved and promised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.plan.final import lower
from oop.plan.superboxes import superboxes
from oop.testing.laws import bag
from tests.oop_.engines.embedded.drawn_pipelines import drawn_filter, drawn_stream, units
from tests.oop_.engines.embedded.test_superboxes import (
    BOXES,
    assert_same_as_boxes,
    is_one_program,
    kernels,
    numbers,
)
from tests.operators.fuzz import CASES

__all__ = ["kernels"]
col = oop.col


@pytest.mark.parametrize("threads", [1, 2])
def test_drawn_sessions(kernels: str, threads: int) -> None:
    ran = rows = late = 0
    for seed in range(CASES):
        stream, rng = drawn_stream(seed)
        if rng.random() < 0.5:
            stream = stream.filter(drawn_filter(rng))
        functions = {
            "n": oop.count(),
            "nv": oop.count("v"),
            "sk": oop.sum("k"),
            "low": oop.min("v"),
            "highx": oop.max("x"),
            "var": oop.var("v"),
            "first": oop.first("k"),
            "last": oop.last("v"),
        }
        chosen = {name: functions[name] for name in rng.sample(list(functions), rng.randint(1, 4))}
        window = oop.session(units(rng.choice([1, 3, 12]), stream.schema.field("ts").type))
        counts = stream.window(window).group_by(*rng.sample(["k", "b", "t", "x"], rng.randint(0, 2))).agg(**chosen)
        ran += is_one_program(counts)
        found = assert_same_as_boxes(counts, threads)
        rows += len(found.get("rows", ()))
        late += len(found["late"])
    assert ran > CASES // 2 and rows > 3 * CASES and late > CASES // 3, (ran, rows, late)


def visits(rows: int = 6_000, keys: int = 40, fails: bool = False, **options: Any) -> oop.Stream:
    """Rows of many keys, out of order, so that sessions are bridged, often in a chain."""
    rng = np.random.default_rng(5)
    times = np.arange(rows) // 4 - rng.integers(0, 60, rows)
    whole = pa.record_batch({"ts": times, "k": rng.integers(0, keys, rows), "v": rng.integers(-9, 9, rows)})

    def given() -> Iterator[pa.RecordBatch]:
        for first in range(0, rows, 777):
            yield whole.slice(first, 777)
        if fails:
            raise OSError("the line was cut")

    options = {"punctuate": oop.slack(60, every=options.pop("every", 20)), "name": "it", **options}
    return oop.source(given, time="ts", schema=whole.schema, **options)


def sessions(stream: oop.Stream, gap: int = 5) -> oop.Stream:
    functions = {"n": oop.count(), "s": oop.sum("v"), "low": oop.min("v"), "m": oop.var("v"), "f": oop.first("v")}
    return stream.window(oop.session(gap)).group_by("k").agg(**functions)


@pytest.mark.parametrize("every", [1, 20, 5_000])
@pytest.mark.parametrize("gap", [1, 5, 40])
def test_sessions_that_are_bridged(kernels: str, gap: int, every: int) -> None:
    """With promises that are frequent sessions are filed by their ends."""
    assert is_one_program(sessions(visits(every=every), gap))
    assert_same_as_boxes(sessions(visits(every=every), gap))


def test_several_sources_fill_one_table(kernels: str) -> None:
    union = oop.union(visits(name="a"), visits(name="b").filter(col("k") > 7), visits(3_000, name="c"))
    assert_same_as_boxes(sessions(union))


def test_long_chains_are_left_to_the_operator() -> None:
    """Rows of one key with falling times would each look at all sessions of the key, so they are sorted first."""
    times = np.concatenate([np.arange(0, 60_000, 10)[::-1], np.arange(5, 60_005, 10)])
    batches = [numbers(times[i : i + 3_000]) for i in range(0, len(times), 3_000)]
    stream = oop.source(lambda: iter(batches), time="ts", schema=batches[0].schema, punctuate=oop.at_end())
    assert_same_as_boxes(stream.window(oop.session(3)).group_by("k").agg(n=oop.count()))


def test_what_is_held_and_saved_in_between_is_that_of_the_boxes(kernels: str) -> None:
    def told(**options: Any) -> Any:
        run = sessions(visits(fails=True)).run(oop.Embedded(**options))
        rows: list[Any] = []
        with pytest.raises(OSError, match="cut"):
            rows += (row for batch in run for row in batch.to_pylist())
        box, operator = run.metrics.box("Session"), run._boxes[-1].operator
        held, oldest = operator.buffered_rows, str(operator.oldest())
        shown = bag([row for batch in operator.open_results() for row in batch.to_pylist()])
        parts = [part for key, part in operator.save() if "slice" in key and part is not None]
        saved = bag([row for part in parts for row in part.select(["0", "1", "2", "3"]).to_pylist()])
        assert held == sum(saved.values()) > 0
        return held, oldest, shown, saved, box.rows_out, operator.state_bytes > 0

    assert told(threads=1) == told(threads=1, scheduler=BOXES)


def test_it_says_why_it_is_no_program() -> None:
    def why(stream: oop.Stream) -> str:
        return "; ".join(found.reason for found in superboxes(lower(stream.flow, oop.Embedded())))

    assert why(sessions(visits())) == ""
    assert "has no steps" in why(visits().window(oop.session(3)).agg(x=oop.count_distinct("v")))
    assert "one program with Source" in sessions(visits()).explain(engine=oop.Embedded())


@pytest.mark.parametrize("threads", [1, 2])
def test_times_without_an_end_raise_what_the_operator_raises(threads: int) -> None:
    batches = [numbers(np.arange(3_000), k=np.arange(3_000) % 7), numbers([2**63 - 3])]
    stream = oop.source(batches, time="ts", punctuate=oop.at_end())
    found = assert_same_as_boxes(stream.window(oop.session(5)).group_by("k").agg(n=oop.count()), threads)
    assert "too close" in found["error"][1]
