"""Slack by rows in programs: the same rows are late as where each box runs by itself, by the same numbers of rows."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.kernels.steps import MOST_RANK
from tests.oop_.engines.embedded.late_runs import SHARES
from tests.oop_.engines.embedded.test_superboxes import BOXES, is_one_program, kernels, outcome, taken
from tests.operators.fuzz import CASES

__all__ = ["kernels", "taken"]


def drawn_batch(rng: random.Random, floats: bool, least: int = 0) -> pa.RecordBatch:
    """Rows in disorder, of which some batches have one without a time."""
    rows, numbers = rng.choice([least, 1, 3, 40, 700, 3000]), np.random.default_rng(rng.randint(0, 2**32))
    times = np.sort(numbers.integers(0, 400, rows)) + numbers.integers(-15, 15, rows)
    mask = numbers.random(rows) < 0.01 if rng.random() < 0.1 else None
    return pa.record_batch({
        "ts": pa.array(times / 4 if floats else times, mask=mask),
        "k": numbers.integers(0, 4, rows),
        "v": numbers.integers(-5, 60, rows),
    })  # fmt: skip


def counted(batches: list[pa.RecordBatch], policy: Any, **options: Any) -> oop.Stream:
    floats = pa.types.is_floating(batches[0]["ts"].type)
    stream = oop.source(batches, time="ts", punctuate=policy, name="it", **options)
    kept = stream.filter(oop.col("v") > 0).window(oop.tumbling(10.0 if floats else 10)).group_by("k")
    return kept.agg(n=oop.count(), s=oop.sum("v"))


def told(stream: oop.Stream, measured: bool = True, **options: Any) -> dict[str, Any]:
    """All that a run tells, and how much slack the late rows would have needed, if that is ``measured``."""
    found = outcome(stream, **options)
    if measured and "error" not in found:
        run = stream.run(oop.Embedded(**options))
        run.to_table()
        found["needed"] = run.late.needed_slack(shares=SHARES).needs
    return found


@pytest.mark.parametrize("threads", [1, 2])
def test_same_as_boxes(kernels: str, threads: int) -> None:
    late = errors = 0
    for seed in range(CASES):
        rng = random.Random(seed)
        floats = rng.random() < 0.3
        batches = [drawn_batch(rng, floats) for _ in range(rng.randint(1, 6))]
        every: Any = rng.choice([None, None, 7.5 if floats else 7])
        rows = rng.choice([0, 1, 5, 50, MOST_RANK])
        policy = oop.slack(rows=rows) if every is None else oop.slack(rows=rows, every=every)
        stream = counted(batches, policy, nulls=rng.choice(["raise", "aside"]))
        assert is_one_program(stream)
        # rows without a time cut trains otherwise, and upper bounds on what long late rows need depend on the cuts
        measured = not any(batch["ts"].null_count for batch in batches)
        found = told(stream, measured, threads=threads)
        assert found == told(stream, measured, threads=1, scheduler=BOXES)
        late += len(found["late"])
        errors += "error" in found
    assert late > 10 * CASES and errors


def test_lateness_does_not_depend_on_batches(kernels: str, taken: list[int]) -> None:
    rng = random.Random(1)
    rows = pa.Table.from_batches([drawn_batch(rng, False, 700) for _ in range(4)]).drop_null().combine_chunks()
    found = []
    for size in (1, 7, 500, rows.num_rows):
        batches = rows.to_batches(max_chunksize=size)
        run = counted(batches, oop.slack(rows=5)).run()
        run.to_table()
        found.append(run.late.to_table().sort_by("ts").select(["ts", "k", "v", "broke"]))
    assert all(one.num_rows and one.num_rows == found[0].num_rows for one in found)
    assert all(sorted(map(str, one.to_pylist())) == sorted(map(str, found[0].to_pylist())) for one in found)
    assert sum(taken)


def test_a_chunk_that_begins_again_judges_anew(kernels: str) -> None:
    """Every chunk brings slices and groups that there is no room for, after its rows have been judged."""
    rng = np.random.default_rng(4)
    batches = [
        pa.record_batch({
            "ts": np.arange(i * 3000, (i + 1) * 3000) // 40 - rng.integers(0, 9, 3000),
            "k": rng.integers(0, 10_000, 3000),
            "v": rng.integers(1, 9, 3000),
        })
        for i in range(4)
    ]  # fmt: skip
    stream = counted(batches, oop.slack(rows=60))
    found = told(stream, threads=1)
    assert found["late"] and found == told(stream, threads=1, scheduler=BOXES)


def test_what_has_no_steps() -> None:
    batches = [drawn_batch(random.Random(2), False, 700)]
    for policy in (oop.slack(rows=MOST_RANK + 1), oop.slack(rows=5, by="k", idle=10)):
        stream = counted(batches, policy)
        assert not is_one_program(stream)
        assert f"no program: the policy {policy}" in stream.explain(engine=oop.Embedded())
