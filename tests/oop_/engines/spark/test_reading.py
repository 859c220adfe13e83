"""What the driver does for a source that we read ourselves: offsets, splits, clocks, ends, and files that changed."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import random
import threading
import time
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
from oop.engines.spark.blocks import Files, Position, blocks_of, following, read_block
from oop.engines.spark.cells import PROMISES, ROWS, decode_promises
from oop.engines.spark.reading import Planner, read_split
from oop.engines.spark.runner import main_bound
from oop.engines.spark.spool import Spool
from oop.errors import LateRow, SourceError
from oop.io.opening import open_data
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


def test_an_iterable_is_spooled_before_its_offset_names_it(tmp_path: Path) -> None:
    spool = Spool(open_data([pa.record_batch({"ts": [1]}), oop.Punctuation({"ts": 1})]), tmp_path / "spool")
    listing = spool.spooled.complete()
    assert listing.ended
    assert [Path(p).name for p in listing.paths] == ["000000000000.arrow"]
    again = Spool(open_data([pa.record_batch({"ts": [1]}), oop.Punctuation({"ts": 1})]), tmp_path / "spool")
    assert again.spooled.listing() == listing, "it is all there: a restart writes nothing"
    with pytest.raises(SourceError, match="had 1 rows when the checkpoint was written, and has 2 now"):
        Spool(open_data([pa.record_batch({"ts": [1, 2]})]), tmp_path / "spool")


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


@pytest.mark.parametrize("raised", [SystemExit, asyncio.CancelledError, KeyboardInterrupt, ZeroDivisionError])
@pytest.mark.parametrize("where", ["reading", "writing"])
def test_whatever_ends_a_spool_is_said(
    raised: type[BaseException], where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> Any:
        raise raised("in a thread")

    if where == "writing":
        monkeypatch.setattr(Spool, "_file", failing)
    data = open_data([pa.record_batch({"ts": [1]})])
    if where == "reading":
        data = replace(data, start=failing, plain=None, peeked=None)
    spool = Spool(data, tmp_path / "spool")
    until = time.monotonic() + 10
    while spool.spooled.listing().failure is None and time.monotonic() < until:
        time.sleep(0.001)
    assert spool.spooled.complete().failure == f"{raised.__name__}: in a thread"


def test_an_error_that_cannot_say_what_it_is_ends_a_spool_too(tmp_path: Path) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise self

    def rows() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"ts": [1]})
        raise Mute

    spool = Spool(open_data(rows, schema=pa.schema({"ts": pa.int64()})), tmp_path)
    until = time.monotonic() + 5
    while spool.spooled.listing().failure is None and time.monotonic() < until:
        time.sleep(0.01)
    assert spool.spooled.listing().failure == "Mute"


def wait(spool: Spool) -> list[Any]:
    listing = spool.spooled.complete()
    assert listing.failure is None
    return [list(read_block(b, spool.data.schema)) for b, _ in following(listing, Position(), "ts")]


def test_a_spool_that_was_interrupted_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oop.engines.spark.spool.CROSSING_ROWS", 3)
    data = [e for i in range(9) for e in (pa.record_batch({"ts": [i, i]}), oop.Punctuation({"ts": i}))]
    spool = Spool(open_data(data), tmp_path)
    whole = wait(spool)
    names = [p.name for p in sorted(tmp_path.glob("*.arrow"))]
    (tmp_path / "closed.json").unlink()
    for name in names[2:]:
        (tmp_path / name).unlink()
    assert wait(Spool(open_data(data), tmp_path)) == whole
    assert [p.name for p in sorted(tmp_path.glob("*.arrow"))] == names


def test_an_iterator_that_can_be_read_once_is_not_read_again(tmp_path: Path) -> None:
    schema = pa.schema({"ts": pa.int64()})
    Spool(open_data(iter([pa.record_batch({"ts": [1]})]), schema=schema), tmp_path)
    while not list(tmp_path.glob("closed.json")):
        time.sleep(0.01)
    with pytest.raises(SourceError, match="gives its elements once"):
        Spool(open_data(iter([pa.record_batch({"ts": [1]})]), schema=schema), tmp_path)


def test_a_spool_that_cannot_write_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, body: Any) -> None:
        if path.suffix == ".arrow":
            raise OSError("no space left on device")
        path.write_bytes(body)

    monkeypatch.setattr("oop.engines.spark.spool._publish", full)
    spool = Spool(open_data([pa.record_batch({"ts": [1]})]), tmp_path)
    assert spool.spooled.complete().failure == "OSError: no space left on device"


@pytest.fixture
def full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Once it is set, files that are there can be overwritten, and no new one finds room, not even a small one."""
    is_full, open_descriptor, open_path = threading.Event(), os.open, Path.open

    def refuse(path: Any) -> None:
        if is_full.is_set() and tmp_path in Path(path).parents:
            raise OSError(errno.ENOSPC, "No space left on device")

    def descriptor(path: Any, flags: int, *mode: Any, **more: Any) -> int:
        if flags & os.O_TRUNC or (flags & os.O_CREAT and not Path(path).exists()):
            refuse(path)
        return open_descriptor(path, flags, *mode, **more)

    def opened(path: Path, mode: str = "r", *more: Any, **named: Any) -> Any:
        if "w" in mode:
            refuse(path)
        return open_path(path, mode, *more, **named)

    monkeypatch.setattr(os, "open", descriptor)
    monkeypatch.setattr(Path, "open", opened)
    return is_full


def test_a_spool_on_a_full_disk_still_says_how_it_ended(tmp_path: Path, full_disk: threading.Event) -> None:
    def rows(*_: Any) -> Iterator[pa.RecordBatch]:
        full_disk.set()
        yield pa.record_batch({"ts": [1]})

    data = open_data([pa.record_batch({"ts": [1]})])
    spool = Spool(replace(data, start=rows, plain=None, peeked=None), tmp_path)
    until = time.monotonic() + 5
    while spool.spooled.listing().failure is None and time.monotonic() < until:
        time.sleep(0.01)
    assert "No space left on device" in str(spool.spooled.listing().failure)
    assert [path.name for path in tmp_path.iterdir()] == ["closed.json"]


def test_a_disk_that_is_full_from_the_beginning_is_said_at_once(tmp_path: Path, full_disk: threading.Event) -> None:
    full_disk.set()
    with pytest.raises(SourceError, match=r"cannot be spooled to .*: .*No space left"):
        Spool(open_data([pa.record_batch({"ts": [1]})]), tmp_path)


def test_what_a_live_input_gives_leaves_soon(tmp_path: Path) -> None:
    """Though more comes all the time, in less time than anything waits."""
    enough = threading.Event()

    def live() -> Iterator[pa.RecordBatch]:
        while not enough.wait(0.005):
            yield pa.record_batch({"ts": [1]})

    spool = Spool(open_data(live, schema=pa.schema({"ts": pa.int64()})), tmp_path)
    deadline = time.monotonic() + 10
    while not spool.spooled.listing().paths and time.monotonic() < deadline:
        time.sleep(0.01)
    enough.set()
    assert spool.spooled.listing().paths


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
