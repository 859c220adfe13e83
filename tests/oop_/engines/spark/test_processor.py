"""State in Spark's store: only what changed is written, an operator that stayed in a worker is used only if the store
holds what it saved, and state of another plan is refused."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import oop
from oop.engines.spark import processor as processors
from oop.engines.spark import stored_parts
from oop.engines.spark.cells import CELLS, ROWS, Cell, decode
from oop.engines.spark.identity import FORMAT, identity_of
from oop.engines.spark.processor import StageProcessor
from oop.engines.spark.runner import StageRunner
from oop.engines.spark.shards import shard_keys
from oop.engines.spark.stages import Stages, without_data
from oop.errors import OopError
from oop.operators.core.parts import text_part
from oop.plan.final import final_plan
from tests.oop_.engines.spark.simulated import Simulated


class Store:
    """A map in Spark's state store: what an attempt writes is there for good only when it commits."""

    def __init__(self) -> None:
        self.committed: dict[tuple[str], tuple[bytes]] = {}
        self.now = dict(self.committed)
        self.written = 0
        self.reads = 0

    def commit(self) -> None:
        self.committed = dict(self.now)

    def roll_back(self) -> None:
        self.now = dict(self.committed)

    def getMapState(self, *_: Any) -> Store:
        return self

    def getValue(self, key: tuple[str]) -> tuple[bytes] | None:
        return self.now.get(key)

    def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:
        self.now[key] = value
        self.written += len(value[0])

    def removeKey(self, key: tuple[str]) -> None:
        self.now.pop(key, None)

    def iterator(self) -> Iterator[tuple[tuple[str], tuple[bytes]]]:
        self.reads += 1
        return iter(list(self.now.items()))


def counts(table: pa.Table, width: int = 10) -> oop.Stream:
    source = oop.source(table.to_batches(10), time="ts", punctuate=oop.slack(50))
    return source.window(oop.tumbling(width)).group_by("k").agg(n=oop.count())


TABLE = pa.table({"ts": np.arange(400) // 2, "k": np.arange(400) % 7})


class Query:
    """Micro-batches of one stage on one shard, each with the cells that a simulated run makes."""

    def __init__(self, stream: oop.Stream, folder: Path, rows: int = 10, shards: int = 1) -> None:
        import random

        self.simulated = Simulated(stream, folder, random.Random(1), rows=rows, tasks=1, shards=shards)
        self.stages = self.simulated.stages
        self.store = Store()
        self.processor = self.start()

    def start(self, stages: Stages | None = None) -> StageProcessor:
        stages = stages or self.stages
        number = stages.stages[0]
        made = StageProcessor(
            partial(StageRunner, stages, number), shard_keys(stages.shards), number, identity_of(stages)
        )
        made.init(self.store)  # type: ignore[arg-type]
        return made

    def batches(self) -> Iterator[list[Cell]]:
        seen: list[list[Cell]] = []
        self.simulated._stage = lambda number, cells: seen.append(cells) or []  # type: ignore[method-assign,func-returns-value]
        while self.simulated.micro_batch():
            yield seen[-1]

    def attempt(self, cells: list[Cell], processor: StageProcessor | None = None) -> list[Cell]:
        frame = pd.DataFrame(cells, columns=CELLS.names)
        out = (processor or self.processor).handleInputRows((shard_keys(1)[0],), iter([frame]))
        return [Cell._make(row) for made in out for row in made.itertuples(index=False, name=None)]


def rows_of(cells: list[Cell]) -> list[dict[str, Any]]:
    return [row for c in cells if c.kind == ROWS for row in decode(c.body).to_pylist()]


@pytest.fixture(autouse=True)
def _no_runner_is_left() -> Iterator[None]:
    processors._kept.clear()
    yield
    processors._kept.clear()


def answer(query: Query, retry: bool = False) -> tuple[list[str], Store]:
    found: list[dict[str, Any]] = []
    for cells in query.batches():
        if retry:  # works, saves, keeps its runner, and then the task fails: the store goes back
            query.attempt(cells)
            query.store.roll_back()
        found += rows_of(query.attempt(cells))
        query.store.commit()
    return sorted(map(repr, found)), query.store


def test_attempts_that_fail_after_their_work_leave_nothing(tmp_path: Path) -> None:
    expected = sorted(map(repr, counts(TABLE).run().to_table().to_pylist()))
    found, store = answer(Query(counts(TABLE), tmp_path / "a"), retry=True)
    assert found == expected
    assert store.reads > 30, "the runner of the failed attempt was not used"
    processors._kept.clear()
    found, store = answer(Query(counts(TABLE), tmp_path / "b"))
    assert found == expected
    assert store.reads == 0, "a runner whose state is in the store is used as it is"


def test_without_the_version_a_failed_attempt_would_count_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same with a processor that trusts whatever stayed in the worker: the answer is wrong."""

    def trusting(self: StageProcessor, shard: int, kept: Any) -> Any:
        return kept or processors._KeptRunner(self.start(shard), stored_parts.StoredParts(None))

    monkeypatch.setattr(StageProcessor, "_current", trusting)
    found, _ = answer(Query(counts(TABLE), tmp_path), retry=True)
    assert found != sorted(map(repr, counts(TABLE).run().to_table().to_pylist()))


def test_a_micro_batch_writes_what_it_changed(tmp_path: Path) -> None:
    """Many windows stay open; each micro-batch brings rows for the newest alone."""
    rows = 20_000
    table = pa.table({"ts": np.arange(rows) // 100, "k": np.arange(rows) % 100})
    source = oop.source([*table.to_batches(500)], time="ts", punctuate=oop.at_end())
    stream = source.window(oop.tumbling(10)).group_by("k").agg(n=oop.count())
    query = Query(stream, tmp_path, rows=500)
    written: list[int] = []
    for cells in query.batches():
        before = query.store.written
        query.attempt(cells)
        query.store.commit()
        written.append(query.store.written - before)
    held = sum(len(body) for (body,) in query.store.now.values())
    windows = rows // 1000
    assert len(written) == 41
    assert max(written[1:-1]) < 3 * max(written[1:8]), "what a micro-batch writes does not grow with what is held"
    assert sum(written) < 41 * 3 * written[5]
    assert held < written[5], f"all {windows} windows are gone at the end"


def test_parts_are_cut_into_pieces_and_leave_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_parts, "_PIECE", 300)
    monkeypatch.setattr(stored_parts, "_SMALL", 0)
    found, store = answer(Query(counts(TABLE), tmp_path), retry=True)
    assert found == sorted(map(repr, counts(TABLE).run().to_table().to_pylist()))
    left = [name for (name,) in store.now if "slice/" in name]
    assert not left, "no piece of a window that is gone stays"


def test_another_worker_takes_the_state_over_from_a_copy(tmp_path: Path) -> None:
    """Every micro-batch in another worker: the store is asked for its version alone, and no copy outlives its use."""
    copies = tmp_path / "copies"
    copies.mkdir()
    query = Query(counts(TABLE), tmp_path / "a")
    query.processor.copies = str(copies)
    found: list[dict[str, Any]] = []
    for number, cells in enumerate(query.batches()):
        if number % 3 == 1:  # a failed attempt leaves copies that belong to no version of the store
            query.attempt(cells)
            query.store.roll_back()
        processors._kept.clear()
        found += rows_of(query.attempt(cells))
        query.store.commit()
    assert sorted(map(repr, found)) == sorted(map(repr, counts(TABLE).run().to_table().to_pylist()))
    assert query.store.reads <= 20, "the store was read where a copy was there"


def test_names_of_parts_may_hold_any_character() -> None:
    store, parts = Store(), stored_parts.StoredParts(None)
    given = {name: text_part(name, i)[1] for i, name in enumerate(["a#1", "a", "a#1#0"])}
    parts.write(store, given.items())
    parts.write(store, [])  # what did not change gets a place of its own
    assert stored_parts.StoredParts(None).read(store) == given


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("plan", r"another plan: - Bucket tumbling 10 .*; \+ Bucket tumbling 20"),
        ("shards", "shards=1, and there are 2 now"),
        ("format", f"written in format 0, this version reads {FORMAT}"),
    ],
)
def test_state_of_another_plan_is_refused(
    change: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = Query(counts(TABLE), tmp_path)
    batches = query.batches()
    if change == "format":
        monkeypatch.setattr("oop.engines.spark.identity.FORMAT", 0)
        query.processor = query.start()
        monkeypatch.undo()
    query.attempt(next(batches))
    query.store.commit()
    changed = counts(TABLE, 20 if change == "plan" else 10)
    stages = Stages(without_data(final_plan(changed.flow)), 2 if change == "shards" else 1)
    other = query.start(stages)
    other.shards = query.processor.shards
    with pytest.raises(OopError, match=said):
        query.attempt(next(batches), other)
