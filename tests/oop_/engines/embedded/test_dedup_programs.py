"""A dedup at the end of a program answers as the boxes do one by one, and holds the same."""

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
from tests.oop_.engines.embedded.drawn_pipelines import drawn_filter, drawn_stream
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
def test_drawn_dedups(kernels: str, threads: int) -> None:
    """All columns are keys, because it does not matter which row of a key passes."""
    ran = rows = late = 0
    for seed in range(CASES):
        stream, rng = drawn_stream(seed)
        if rng.random() < 0.6:
            stream = stream.filter(drawn_filter(rng))
        if rng.random() < 0.3:
            stream = stream.with_columns(k=col("k") + 1)
        names = ["ts", *rng.sample(["k", "v", "b", "t", "x"], rng.randint(0, 3))]
        rng.shuffle(names)
        stream = stream.select(*names).dedup(*names)
        ran += is_one_program(stream)
        found = assert_same_as_boxes(stream, threads)
        rows += len(found.get("rows", ()))
        late += len(found["late"])
    assert ran > CASES // 2 and rows > 3 * CASES and late > CASES // 3, (ran, rows, late)


def repeated(rows: int = 5_000, every: int = 97, fails: bool = False, **options: Any) -> oop.Stream:
    rng = np.random.default_rng(4)
    times = np.sort(rng.integers(0, rows // 10, rows)) - rng.integers(0, 6, rows)
    whole = pa.record_batch(
        {
            "ts": times,
            "k": rng.integers(0, 3, rows),
            "u": rng.integers(0, 3, rows).astype(np.uint64),
            "n": np.arange(rows).astype(np.int32),
            "name": [None if i % 7 == 0 else f"{i}" for i in range(rows)],
            "x": pa.array(np.arange(rows) / 4, mask=np.arange(rows) % 5 == 0),
        }
    )
    batches = [whole.slice(first, every) for first in range(0, rows, every)]
    options = {"punctuate": oop.slack(7, every=3), "name": "it", **options}

    def given() -> Iterator[pa.RecordBatch]:
        yield from batches
        if fails:
            raise OSError("the line was cut")

    return oop.source(given, time="ts", schema=whole.schema, **options)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("every", [1, 97, 4_000])
def test_the_first_row_of_each_key_passes_with_all_its_columns(kernels: str, threads: int, every: int) -> None:
    rows = 5_000 if every > 1 else 200
    assert is_one_program(repeated(rows).dedup("k", "ts", "u"))
    assert_same_as_boxes(repeated(rows, every).dedup("k", "ts", "u"), threads)
    computed = repeated(rows, every).with_columns(y=col("x") * 2, big=col("k") > 1).filter(col("k") != 0)
    assert_same_as_boxes(computed.dedup("ts", "k"), threads)


def test_what_stands_behind_it_is_a_program_of_its_own() -> None:
    counts = repeated().dedup("k", "ts", "u").filter(col("k") > 0).window(oop.tumbling(10)).group_by("k")
    found = superboxes(lower(counts.agg(n=oop.count()).flow, oop.Embedded()))
    assert [[node.spec.name for node in one.nodes] for one in found] == [
        ["Source", "Dedup"],
        ["Filter", "Bucket", "Aggregate"],
    ]
    assert_same_as_boxes(counts.agg(n=oop.count()))


def test_several_sources_have_one_memory(kernels: str) -> None:
    names = ("k", "ts", "u")
    union = oop.union(repeated(name="a"), repeated(name="b").filter(col("k") > 0), repeated(3_000, name="c"))
    assert_same_as_boxes(union.select(*names).dedup(*names))


def test_keys_that_are_spread_thinly_widen_slices(kernels: str) -> None:
    times = np.arange(0, 60_000, 7)
    batches = [numbers(np.repeat(times[i : i + 900], 2), k=3) for i in range(0, len(times), 900)]
    stream = oop.source(batches, time="ts", punctuate=oop.at_end())
    assert_same_as_boxes(stream.dedup("ts", "k"))


def test_it_says_why_it_is_no_program() -> None:
    def why(stream: oop.Stream) -> str:
        return superboxes(lower(stream.flow, oop.Embedded()))[0].reason

    assert why(repeated().dedup("ts", "k", keep="last")) == "keep='last'"
    assert why(repeated().dedup("k", within=3)) == "within a span"
    assert "one program with Source" in repeated().dedup("ts", "k").explain(engine=oop.Embedded())


@pytest.mark.parametrize("name", [None, "name"])
def test_what_is_held_and_saved_in_between_is_that_of_the_boxes(kernels: str, name: str | None) -> None:
    keys = ["ts", "k"] if name is None else ["ts", "k", name]

    def told(**options: Any) -> Any:
        run = repeated(3_000, fails=True).dedup(*keys).run(oop.Embedded(**options))
        rows: list[Any] = []
        with pytest.raises(OSError, match="cut"):
            rows += (row for batch in run for row in batch.to_pylist())
        box, operator = run.metrics.box("Dedup"), run._boxes[-1].operator
        parts = [part for key, part in operator.save() if "slice" in key and part is not None]
        held = bag([row for part in parts for row in part.to_pylist()])
        assert sum(held.values()) == operator.buffered_rows > 0
        return held, box.rows_out, operator.buffered_rows, operator.state_bytes > 0, str(operator.oldest())

    assert told(threads=1) == told(threads=1, scheduler=BOXES)


@pytest.mark.parametrize("of", ["x", "k"])
def test_odd_rows_in_front_of_state_that_begins_a_program(kernels: str, of: str) -> None:
    """They go into the same tables while the program is under way, which must look at its tables anew behind them."""
    rng = np.random.default_rng(1)
    rows = 9_000
    values = np.where((np.arange(rows) > 2_500) & (np.arange(rows) < 4_500), 1e300, 1.0)
    whole = pa.record_batch({"ts": np.arange(rows) // 3_000, "k": rng.integers(0, 900, rows), "x": values})
    source = oop.source([whole], time="ts", punctuate=oop.at_end())
    grouped = source.sort().group_by("ts", "k").agg(s=oop.sum("x"), n=oop.count(), low=oop.min(of))
    found = superboxes(lower(grouped.flow, oop.Embedded(threads=1)))
    assert [one.has_state for one in found if one.code is not None] == [True]
    assert_same_as_boxes(grouped)


@pytest.mark.parametrize("order", ["oop", "iop"])
@pytest.mark.parametrize("behind", [lambda s: s, lambda s: s.dedup("ts"), lambda s: s.with_columns(w=col("v") + 1)])
def test_rows_before_an_error_are_handed_out(kernels: str, behind: Any, order: Any) -> None:
    wrong = pa.record_batch({"ts": pa.array([5_000, None, 5_001], pa.int64()), "k": [1] * 3, "v": [1] * 3})
    stream = oop.source([numbers(np.arange(5_000), k=1), wrong], time="ts", punctuate=oop.ordered(), name="it")

    def told(**options: Any) -> Any:
        run, rows = behind(stream.filter(col("v") >= 0)).run(oop.Embedded(threads=1, **options), order=order), 0
        with pytest.raises(oop.TimeError) as raised:
            for batch in run:
                rows += batch.num_rows
        return rows, [(box.rows_in, box.rows_out) for box in run.metrics.boxes], str(raised.value)

    assert told() == told(scheduler=BOXES)
    assert told()[0] == 5_001
