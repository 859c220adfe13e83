"""Real queries on a real Spark: what must hold for exactness, each with what happens without it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import oop

ROOT = Path(__file__).parents[4]
SECOND = 1_000_000


def packets(first: int, rows: int, partition: int) -> pa.Table:
    """One row a second from so many seconds on, of one partition."""
    times = pa.array((np.arange(rows) + first) * SECOND).view(pa.timestamp("us", "UTC"))
    return pa.table({"ts": times, "partition": pa.array([partition] * rows, pa.int32())})


def put(table: pa.Table, folder: Path, name: str) -> None:
    """A file that Spark sees only when it is whole. Each is a second younger than the one before, because Spark takes
    files by their age, and those of one millisecond in any order."""
    folder.mkdir(exist_ok=True)
    pq.write_table(table, folder / f".{name}")
    age = len(list(folder.glob("[!.]*")))
    os.utime(folder / f".{name}", (age, age))
    os.replace(folder / f".{name}", folder / name)


def bag(table: pa.Table, *columns: str) -> Counter[str]:
    return Counter(repr(tuple(row[c] for c in columns or table.column_names)) for row in table.to_pylist())


SCHEMA = "ts timestamp, partition int"


def by_partition(frame: Any, **options: Any) -> oop.Stream:
    source = oop.source(
        frame, time="ts", punctuate=oop.slack("30s"), channel="partition", channels=[0, 1], name="packets"
    )
    return source.window(oop.tumbling("10s")).group_by("partition").agg(n=oop.count())


def test_skew_between_channels_makes_no_row_late(spark: Any, tmp_path: Path) -> None:
    """Partition 1 is an hour behind. Each channel keeps its promise; Spark's watermark, one for all, drops it. The
    files that a micro-batch reads change, and files come in between two runs of one checkpoint."""
    folder = tmp_path / "in"
    for i in range(3):
        put(packets(3600 + 20 * i, 20, 0), folder, f"{i}a.parquet")
        put(packets(20 * i, 20, 1), folder, f"{i}b.parquet")

    def stream(limit: int) -> Any:
        return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", limit).parquet(str(folder))

    engine = {"shards": 2, "checkpoint": tmp_path / "checkpoint", "trigger": {"availableNow": True}}
    out = tmp_path / "out"
    query = by_partition(stream(1)).run(engine=oop.Spark(spark, **engine), to=out)
    query.awaitTermination()
    assert query.counts["packets"]["late"] == 0
    put(packets(3660, 60, 0), folder, "3a.parquet")
    put(packets(60, 60, 1), folder, "3b.parquet")
    query = by_partition(stream(5)).run(engine=oop.Spark(spark, **engine), to=out)
    query.awaitTermination()
    assert query.counts["packets"]["late"] == 0
    found = spark.read.parquet(str(out)).toArrow()
    first = datetime.fromtimestamp(0, UTC)
    windows = {row["window_start"].astimezone(UTC) for row in found.to_pylist()}
    assert Counter(row["n"] for row in found.to_pylist()) == {10: 8}, "each window once, whole"
    assert min(windows) == first and max(windows).timestamp() == 70, "as far as partition 1 has promised"

    from pyspark.sql import functions as f

    native = (
        stream(1)
        .withWatermark("ts", "30 seconds")
        .groupBy(f.window("ts", "10 seconds"), "partition")
        .count()
        .writeStream.outputMode("append")
        .format("noop")
        .option("checkpointLocation", str(tmp_path / "native"))
        .trigger(availableNow=True)
        .start()
    )
    native.awaitTermination()
    dropped = sum(s.numRowsDroppedByWatermark for p in native.recentProgress for s in p.stateOperators)
    assert dropped > 0, "Spark's own watermark loses rows here"


def _fail_once(marker: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """After the stage before it has done all of its work, the task fails, in every other micro-batch with rows."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        held = list(batches)
        context = TaskContext.get()
        assert context is not None
        attempt, stage = context.attemptNumber(), context.stageId()
        if held and attempt == 0 and stage % 4 in (1, 2):
            with open(marker, "a") as file:
                file.write("failed\n")
            raise RuntimeError("this attempt fails")
        yield from held

    return run


def test_a_retried_attempt_changes_nothing(spark: Any, tmp_path: Path) -> None:
    """State goes back to what it was before the attempt, also in a worker that kept its operator."""
    rng = np.random.default_rng(3)
    times = np.sort(rng.integers(0, 400, 2_000))
    batches = pa.table({"ts": times, "k": rng.integers(0, 5, 2_000)}).to_batches(200)
    source = oop.source(batches, time="ts", punctuate=oop.slack(30))
    stream = source.window(oop.sliding(20, every=10)).group_by("k").agg(n=oop.count())
    frame = stream.to_spark(spark, shards=2, rows=400)
    failing = frame.mapInArrow(_fail_once(str(tmp_path / "failed")), frame.schema)
    query = (
        failing.writeStream.format("memory")
        .queryName("retried")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert (tmp_path / "failed").read_text().count("failed") >= 2
    assert bag(spark.table("retried").toArrow()) == bag(stream.run().to_table())


def test_a_silent_source_still_promises(spark: Any, tmp_path: Path) -> None:
    """The clock's ticks are in the offset: windows come out while the source says nothing."""

    def live() -> Iterator[Any]:
        now = time.time_ns() // 1_000
        yield pa.record_batch({"ts": pa.array([now - 5 * SECOND, now]).view(pa.timestamp("us"))})
        while not (tmp_path / "enough").exists():
            time.sleep(0.05)

    source = oop.source(live, time="ts", punctuate=oop.timer("500ms", lull="1s"))
    out: list[pa.RecordBatch] = []
    query = source.window(oop.tumbling("1s")).agg(n=oop.count()).run(engine=oop.Spark(spark, shards=1), to=out.append)
    try:
        deadline = time.monotonic() + 60
        while sum(b.num_rows for b in out) < 2 and time.monotonic() < deadline and query.isActive:
            time.sleep(0.1)
        assert sum(b.num_rows for b in out) == 2
        assert not (tmp_path / "enough").exists()
    finally:
        (tmp_path / "enough").touch()
        query.stop()


def test_late_rows_are_kept_and_counted(spark: Any, tmp_path: Path) -> None:
    table = pa.table({"ts": [10, 50, 3, 60, 4], "k": ["a", "b", "c", "d", "e"]})
    source = oop.source(table, time="ts", punctuate=oop.slack(5), name="north")
    late = tmp_path / "late"
    query = source.select("ts", "k").run(engine=oop.Spark(spark, shards=1, late_to=late))
    assert bag(query.to_table(), "k") == Counter(["('a',)", "('b',)", "('d',)"])
    assert query.counts["north"] == {"late": 2, "without_time": 0}
    found = [(r["k"], r["broke"], r["late_by"]) for r in pq.read_table(late / "north").to_pylist()]
    assert found == [("c", "ts < 45", 42.0), ("e", "ts < 55", 51.0)]


def test_rows_out_of_an_assumed_order_are_kept_and_counted(spark: Any, tmp_path: Path) -> None:
    rows = pa.table({"Sid": ["a", "b"] * 50, "Time": [i - (7 if i % 9 == 0 else 0) for i in range(100)]})
    source = oop.source(rows.to_batches(max_chunksize=10), time="Time", punctuate=None, name="reports")
    order = oop.Order("Time", 1, "Sid")
    stream = oop.aurora.Aggregate({"n": oop.count()}, assuming=order, size=10, advance=10)(source)
    run = stream.run()
    query = stream.run(engine=oop.Spark(shards=2, late_to=tmp_path / "late"))
    assert bag(query.to_table()) == bag(run.to_table())
    assert query.counts["Assume"]["late"] == len(run.late) > 0
    aside = pq.read_table(tmp_path / "late" / "Assume")
    assert bag(aside) == bag(run.late["Assume"])


def test_errors_come_back_as_ours(spark: Any) -> None:
    big = pa.table({"ts": [1, 2, 30], "v": [2**62, 2**62, 1]})
    source = oop.source(big, time="ts", punctuate=oop.ordered())
    line = sys._getframe().f_lineno + 1
    stream = source.window(oop.tumbling(10)).agg(v=oop.sum("v"))
    with pytest.raises(oop.OopError, match=rf"Aggregate: .*int64.*test_queries.py:{line}") as failure:
        stream.run(engine=oop.Spark(spark, shards=1)).to_table()
    assert "java" not in str(failure.value)
    late = oop.source(pa.table({"ts": [9, 1]}), time="ts", punctuate=oop.ordered(), late="raise", name="n")
    with pytest.raises(oop.LateRow, match="row 1 breaks the promise ts < 9"):
        late.run(engine=oop.Spark(spark, shards=1)).to_table()


def test_queries_of_several_threads_do_not_mix(spark: Any) -> None:
    """Settings and the name of the data source are the session's: plans are built one at a time."""
    found: dict[int, Any] = {}

    def one(i: int) -> None:
        source = oop.source(pa.table({"ts": [1, 2, 13], "v": [i] * 3}), time="ts", punctuate=oop.ordered())
        frame = source.window(oop.tumbling(10)).agg(s=oop.sum("v")).to_spark(spark, batch=True, shards=1 + i % 2)
        found[i] = sorted(frame.toArrow()["s"].to_pylist())

    threads = [threading.Thread(target=one, args=(i,)) for i in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {i: [i, 2 * i] for i in range(1, 5)}


def test_a_sink_that_fails_is_named(spark: Any, tmp_path: Path) -> None:
    def sink(batch: pa.RecordBatch) -> None:
        raise KeyError("mine")

    source = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=oop.ordered())
    with pytest.raises(oop.OopError, match="failed with KeyError: 'mine'"):
        source.run(engine=oop.Spark(spark, shards=1), to=sink).awaitTermination()
    with pytest.raises(oop.OopError, match="Spark could not start the query"):
        source.run(engine=oop.Spark(spark, shards=1, trigger={"processingTime": "soon"}), to=sink)


SCRIPT = """
import sys
import numpy as np, pyarrow as pa
import oop

def main(checkpoint, out, rows):
    times = np.arange(6_000) // 3
    batches = pa.table({"ts": times, "k": times % 4}).to_batches(100)
    source = oop.source(batches, time="ts", punctuate=oop.slack(40))
    stream = source.window(oop.sliding(20, every=10)).group_by("k").agg(n=oop.count())
    if checkpoint:
        stream.run(engine=oop.Spark(checkpoint=checkpoint, shards=2, rows=int(rows)), to=out).awaitTermination()
    return stream

if __name__ == "__main__":
    main(*sys.argv[1:])
"""


@pytest.mark.slow
def test_killed_and_started_again(tmp_path: Path) -> None:
    """kill -9 in the middle of a query, then the same command again: every window once."""
    script = tmp_path / "query.py"
    script.write_text(textwrap.dedent(SCRIPT))
    out, checkpoint = tmp_path / "out", tmp_path / "checkpoint"
    command = [sys.executable, str(script), str(checkpoint), str(out)]  # and the rows of a micro-batch
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = subprocess.Popen([*command, "300"], env=environment, start_new_session=True)
    commits = checkpoint / "commits"
    deadline = time.monotonic() + 90
    while not (commits / "2").exists() and time.monotonic() < deadline and running.poll() is None:
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    done = len(list(commits.glob("[0-9]*")))
    assert 3 <= done < 20, "it was killed in the middle"
    subprocess.run([*command, "2000"], env=environment, check=True, timeout=120)
    found = pq.read_table(out, partitioning=None).select(["window_start", "window_end", "k", "n"])
    space: dict[str, Any] = {"__name__": "script"}
    exec(compile(SCRIPT, str(script), "exec"), space)
    assert bag(found) == bag(space["main"]("", "", "").run().to_table())


def test_a_checkpoint_of_another_plan_is_refused(spark: Any, tmp_path: Path) -> None:
    table = pa.table({"ts": [1, 2, 30], "k": [1, 2, 3]})
    source = oop.source(table, time="ts", punctuate=oop.ordered())

    def start(width: int, shards: int) -> Any:
        stream = source.window(oop.tumbling(width)).group_by("k").agg(n=oop.count())
        engine = oop.Spark(spark, shards=shards, checkpoint=tmp_path / "checkpoint")
        return stream.run(engine=engine, to=tmp_path / "out").awaitTermination()

    start(10, 2)
    with pytest.raises(oop.OopError, match="another plan: - Bucket tumbling 10"):
        start(20, 2)
    with pytest.raises(oop.OopError, match="shards=2, and there are 3 now"):
        start(10, 3)
