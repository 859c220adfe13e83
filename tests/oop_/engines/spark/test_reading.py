"""What the driver does for a source that we read ourselves: offsets, splits, clocks, ends, and files that changed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import oop
from oop.engines.spark import reading as readings
from oop.engines.spark.blocks import Files, blocks_of
from oop.engines.spark.cells import PROMISES, ROWS, decode_promises
from oop.engines.spark.reading import Planner, read_split
from oop.engines.spark.runner import main_bound
from oop.engines.spark.spool import Spool
from oop.errors import LateRow, SourceError
from oop.testing import ManualClock
from tests.oop_.engines.spark.simulated import Simulated


def windows(data: Any, policy: Any = None, **options: Any) -> oop.Stream:
    source = oop.source(data, time="ts", punctuate=policy or oop.slack(5), name="s", **options)
    return source.window(oop.tumbling(10)).group_by("k").agg(n=oop.count())


def files(folder: Path, count: int = 4, rows: int = 100, first: int = 0) -> list[str]:
    folder.mkdir(exist_ok=True)
    paths = []
    for i in range(first, first + count):
        times = np.arange(i * rows, (i + 1) * rows) // 2
        paths.append(str(folder / f"{i:03}.parquet"))
        pq.write_table(pa.table({"ts": times, "k": times % 3}), paths[-1], row_group_size=30)
    return paths


def planner(stream: oop.Stream, folder: Path, **options: Any) -> Planner:
    simulated = Simulated(stream, folder, random.Random(1), **{"rows": 100, **options})
    return simulated.planners[0]


def test_an_offset_is_json_and_holds_what_has_been_promised(tmp_path: Path) -> None:
    plan = planner(windows(files(tmp_path / "in")), tmp_path)
    start = plan.initial()
    end = json.loads(json.dumps(plan.latest(json.loads(json.dumps(start)))))
    assert end["at"] == {"file": 1, "block": 0, "blocks": 4}
    (split, *others) = plan.splits(start, end)
    assert len(others) == 1
    assert not split.promises
    assert others[0].promises == ('{"below": {"ts": 44}}',)


def test_statistics_say_the_same_as_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planner(windows(files(tmp_path / "in")), tmp_path)
    by_statistics = plan.latest(plan.initial())
    monkeypatch.setattr("oop.engines.spark.scout.Scout._pass_over", lambda scout, greatest: False)
    assert plan.latest(plan.initial()) == by_statistics


def test_tasks_start_with_what_the_rows_before_them_imply(tmp_path: Path) -> None:
    """Without the state at a split's start its late rows would pass: here every row of the second file is late."""
    folder = tmp_path / "in"
    folder.mkdir()
    for i, times in enumerate(([100, 101, 102], [1, 2, 3])):
        pq.write_table(pa.table({"ts": times, "k": [0, 0, 0]}), folder / f"{i}.parquet")
    plan = planner(windows(str(folder)), tmp_path, tasks=2)
    start = plan.initial()
    splits = plan.splits(start, plan.latest(start))
    assert len(splits) == 2
    rows = [sum(c.value for c in read_split(plan.reading, s) if c.kind == ROWS) for s in splits]
    assert rows[1] == 0
    forgetful = replace(splits[1], state=start["state"])
    assert sum(c.value for c in read_split(plan.reading, forgetful) if c.kind == ROWS) > 0


def test_tasks_number_rows_from_where_their_split_begins(tmp_path: Path) -> None:
    """In the offset is how many rows came before, and what that promises; also where only statistics are looked at, and
    where the source promises nothing else."""
    for policy in (oop.slack(5), oop.at_end(), {}):
        source = oop.source(files(tmp_path / "in"), time="ts", punctuate=policy, name="s")
        plan = planner(source.window(oop.rows(30)).agg(n=oop.count()), tmp_path, tasks=3)
        start = plan.initial()
        end = json.loads(json.dumps(plan.latest(start)))
        splits = plan.splits(start, end)
        assert [sum(b.rows for b in split.blocks) for split in splits] == [60, 30, 10]
        assert [json.loads(json.loads(s.state)["input"])["rows"] for s in splits] == [0, 60, 90]
        assert splits[-1].promises == ('{"below": {"__seq": 90}}',), "of what helps: ten rows more close no window"
        second = plan.splits(end, plan.latest(end))[0]
        assert json.loads(json.loads(second.state)["input"])["rows"] == 100
        forgetful = replace(second, state=start["state"])
        said = [[c.body for c in read_split(plan.reading, s) if c.kind == ROWS] for s in (second, forgetful)]
        assert said[0] != said[1]


def test_the_frontier_in_the_progress_is_a_time_where_there_is_one() -> None:
    about = [oop.Punctuation({"ts": 1_000}), oop.Punctuation({"__seq": 7})]
    assert main_bound(oop.Frontier.of(*about)) == 1_000
    assert main_bound(oop.Frontier.of(about[1])) == 7


def test_promises_follow_all_rows_of_a_micro_batch(tmp_path: Path) -> None:
    plan = planner(windows(files(tmp_path / "in")), tmp_path, tasks=3)
    start = plan.initial()
    *first, last = plan.splits(start, plan.latest(start))
    assert not any(c.kind == PROMISES for split in first for c in read_split(plan.reading, split))
    said = [decode_promises(c.body) for c in read_split(plan.reading, last) if c.kind == PROMISES]
    assert said == [[oop.Punctuation({"ts": 44})]] * 2, "one for each shard"


def test_files_may_be_added_behind_but_not_changed(tmp_path: Path) -> None:
    paths = files(tmp_path / "in", count=2)
    policy = oop.slack(5)
    plan = planner(oop.source(paths[0], time="ts", punctuate=policy), tmp_path / "a")
    other = planner(oop.source(paths, time="ts", punctuate=policy), tmp_path / "b")
    assert plan.reading.identity == other.reading.identity, "the plan is the same, under whatever label"
    paths = files(tmp_path / "in")
    plan = planner(windows(paths), tmp_path)
    first = plan.latest(plan.initial())
    more = files(tmp_path / "in", first=4, count=1)
    plan.reading = replace(plan.reading, files=Files((*paths, *more)))
    second = plan.latest(first)
    assert second["at"]["file"] == 2
    plan.reading = replace(plan.reading, files=Files((*more, *paths)))
    with pytest.raises(SourceError, match="not the first in the list any more"):
        plan.latest(second)


def test_a_file_cut_short_is_named(tmp_path: Path) -> None:
    paths = files(tmp_path / "in")
    stream = windows(paths)
    body = Path(paths[1]).read_bytes()
    Path(paths[1]).write_bytes(body[: len(body) // 2])
    plan = planner(stream, tmp_path)
    first = plan.latest(plan.initial())
    with pytest.raises(SourceError, match=r"001.parquet cannot be read"):
        plan.latest(first)


def live() -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"ts": pa.array([10, 25], pa.timestamp("s")), "k": [1, 1]})


def test_the_clock_moves_a_silent_source(tmp_path: Path) -> None:
    """Without the tick in the offset there would be no micro-batch, and the windows of a silent source stayed open."""
    clock = ManualClock()
    stream = (
        oop.source(live, time="ts", punctuate=oop.timer("5s", lull="30s"), name="s")
        .window(oop.tumbling("10s"))
        .agg(n=oop.count())
    )
    simulated = Simulated(stream, tmp_path, random.Random(1), rows=100)
    plan = simulated.planners[0]
    listing = plan.reading.files.listing()
    silent = type("Silent", (), {"listing": lambda self: replace(listing, ended=False)})()
    plan.reading = replace(plan.reading, files=silent, clock=clock)
    clock.advance(20)
    first = plan.latest(plan.initial())
    assert plan.latest(first) == first, "nothing new, no micro-batch"
    clock.advance(80)
    second = plan.latest(first)
    assert second != first
    (split,) = plan.splits(first, second)
    assert split.blocks == ()
    assert split.promises == ('{"below": {"ts": 70}}',)


def test_the_end_is_part_of_the_offset(tmp_path: Path) -> None:
    plan = planner(windows(files(tmp_path / "in", count=1)), tmp_path)
    data = plan.latest(plan.initial())
    end = plan.latest(data)
    assert (data["ended"], end["ended"]) == (False, True)
    (split,) = plan.splits(data, end)
    assert split.promises == ('{"end": true}',)
    assert plan.latest(end) == end


def test_late_rows_raise_in_the_task_with_the_users_line(tmp_path: Path) -> None:
    table = pa.table({"ts": [100, 1], "k": [0, 0]})
    plan = planner(windows(table, late="raise"), tmp_path)
    start = plan.initial()
    (split,) = plan.splits(start, plan.latest(start))
    with pytest.raises(LateRow, match=r"Source: source 's': row 1 breaks the promise ts < 95.*test_reading.py:\d+"):
        list(read_split(plan.reading, split))


def test_an_iterable_that_fails_gives_its_rows_first(tmp_path: Path) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"ts": [1], "k": [1]})
        raise ConnectionResetError("gone")

    stream = windows(failing, schema=pa.schema({"ts": pa.int64(), "k": pa.int64()}))
    spool = Spool(stream.flow.node.inputs[0].node.inputs[0].node.data or pytest.fail(), tmp_path / "spool")
    while spool.spooled.listing().failure is None:
        pass
    plan = planner(windows(files(tmp_path / "in")), tmp_path)
    plan.reading = replace(plan.reading, files=spool.spooled)
    first = plan.latest(plan.initial())
    assert first["at"]["blocks"] == 1
    with pytest.raises(SourceError, match="ConnectionResetError: gone"):
        plan.latest(first)


def test_the_end_of_one_file_is_not_the_end_of_the_stream(tmp_path: Path) -> None:
    """Files that a sink wrote end with END; only that of the last one counts."""
    paths = [str(tmp_path / f"{i}.arrow") for i in range(2)]
    for i, path in enumerate(paths):
        table = pa.table({"ts": np.arange(20) + 20 * i, "k": np.arange(20) % 2})
        oop.source(table, time="ts", punctuate=oop.ordered()).run(to=path)
    stream = oop.source(paths, time="ts", punctuate=oop.punctuated()).window(oop.tumbling(10)).agg(n=oop.count())
    found = Simulated(stream, tmp_path / "s", random.Random(1), rows=5).run()
    assert sorted(found["window_start"].to_pylist()) == [0, 10, 20, 30]
    assert found.num_rows == stream.run().to_table().num_rows


def test_a_file_without_rows_may_be_the_last(tmp_path: Path) -> None:
    paths = files(tmp_path / "in", count=1)
    empty = str(tmp_path / "in" / "empty.parquet")
    with pq.ParquetWriter(empty, pq.read_schema(paths[0])):
        pass
    plan = planner(windows([*paths, empty]), tmp_path)
    end = plan.latest(plan.latest(plan.initial()))
    assert end["ended"]
    assert plan.latest(end) == end


def test_late_rows_of_sources_with_one_name_are_all_kept(tmp_path: Path) -> None:
    table = pa.table({"ts": [9, 1]})
    two = [oop.source(table, time="ts", punctuate=oop.ordered()) for _ in range(2)]
    Simulated(oop.union(*two), tmp_path, random.Random(1), rows=9).run()
    found = sorted((tmp_path / "late").rglob("*.parquet"))
    assert [pq.read_table(path)["ts"].to_pylist() for path in found] == [[1], [1]]


def test_a_field_of_a_struct_is_not_the_time(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [{"b": 99}], "a.b": [1]}), path)
    assert blocks_of(str(path), "a.b")[0].greatest is None


def test_blocks_are_shared_evenly() -> None:
    blocks = [readings.Block("f", i, rows) for i, rows in enumerate([10, 10, 10, 10])]
    assert [len(piece) for piece in readings._even(blocks, 2)] == [2, 2]
    assert [len(piece) for piece in readings._even(blocks, 8)] == [1, 1, 1, 1]
    assert readings._even([], 2) == [[]]
