"""Where rows are parted once, in front of an operator, each shard has a program that takes them in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.engines.embedded.shard_program import ShardProgram
from tests.oop_.engines.embedded.test_superboxes import assert_same_as_boxes, kernels

__all__ = ["kernels"]


def visits(holed: bool = False, rows: int = 20_000) -> oop.Stream:
    rng = np.random.default_rng(7)
    times = np.arange(rows) // 8 - rng.integers(0, 9, rows)
    key = pa.array(rng.integers(0, 60, rows), mask=rng.random(rows) < 0.1 if holed else None)
    name = pa.array([f"n{i}" for i in rng.integers(0, 60, rows)])
    batch = pa.record_batch({"ts": times, "k": key, "name": name, "v": rng.integers(0, 9, rows)})
    return oop.source([batch.slice(first, 3_000) for first in range(0, rows, 3_000)], time="ts", punctuate=oop.slack(9))


def sessions(stream: oop.Stream, key: str) -> oop.Stream:
    return stream.window(oop.session(6)).group_by(key).agg(n=oop.count(), total=oop.sum("v"))


def dedup(stream: oop.Stream, key: str) -> oop.Stream:
    return stream.select("ts", key).dedup("ts", key)


@pytest.mark.parametrize("made", [sessions, dedup])
@pytest.mark.parametrize(("key", "holed"), [("k", False), ("k", True), ("name", False)])
def test_batches_that_fit_go_to_the_program(
    kernels: str, made: Any, key: str, holed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []
    take = ShardProgram.take
    monkeypatch.setattr(ShardProgram, "take", lambda self, batch: taken.append(batch.num_rows) or take(self, batch))
    stream = made(visits(holed), key)
    assert_same_as_boxes(stream, 2)
    if holed:
        assert sum(taken) < 20_000  # rows of a shard without nulls may fit
    else:
        assert sum(taken) == (20_000 if key == "k" else 0)


def test_there_is_none_with_a_scheduler_that_gives_turns_or_with_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ShardProgram, "take", None)
    for options in ({"scheduler": oop.RoundRobin()}, {"check": True}):
        stream = dedup(visits(rows=5_000), "k")
        assert stream.run(engine=oop.Embedded(threads=2, **options)).to_table().num_rows > 1_000


def test_an_odd_chunk_goes_to_the_operator() -> None:
    """A session that would end beyond all times is an error of the operator, also where a program takes the rows."""
    ts = np.append(np.arange(3_000), 2**63 - 3)
    batch = pa.record_batch({"ts": ts, "k": ts % 7, "v": ts})
    stream = sessions(oop.source([batch], time="ts", punctuate=oop.at_end()), "k")
    found = assert_same_as_boxes(stream, 2)
    assert "error" in found
