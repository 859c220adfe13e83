"""Counts and a band join on Spark, our operators against Spark's own: the same Parquet files, two cores, two shuffle
partitions, micro-batches with the same rows, and no output written. The figure is the rows a second of the
micro-batches after the first.

    python benchmarks/spark.py --full
"""

from __future__ import annotations

import os
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _harness import Case, Ratio, Task, at_least, compare, options
from _workload import LATE_BY, SECOND, START, Workload, read

import oop

CORES = 2
MEMORY = "4g"
SETTINGS = {
    "spark.driver.memory": MEMORY,
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": str(CORES),
    # the engine sets it if the user has not: a micro-batch uploads what it changed
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
STORE = "spark.sql.streaming.stateStore.providerClass"
BARE = "oop, without a table"  # no table at the source: rows go to the shards unreduced (`.preaggregate(False)`)
STORES = {"oop": "RocksDB", BARE: "RocksDB", "spark": "RocksDB", "spark, state in memory": "HDFSBacked"}

FILE_ROWS = 250_000
KEYS = 50_000
REACH = 2  # seconds of the other stream in which a row may find its match
TINY_ROWS, TINY_BATCHES, TINY_FIRST = 300, 23, 3
CHECKED_ROWS, CHECKED_BATCHES, CHECKED_SECONDS = 20_000, 4, 16

Answer = dict[tuple[int, ...], int]
"""Counts by the second in which the window begins, and by the group."""


@dataclass(frozen=True)
class Packets:
    """The packets of the other benchmarks, ``rate`` a second. ``batch`` is the number of rows of a micro-batch."""

    rows: int
    batch: int
    rate: int
    groups: int = 260_000

    def write(self, path: Path) -> None:
        _write(path / "packets", self.table(path.with_suffix(".tmp")), self.batch)
        checked = Packets(CHECKED_ROWS, CHECKED_ROWS // CHECKED_BATCHES, CHECKED_ROWS // CHECKED_SECONDS, self.groups)
        _write(path / "checked" / "packets", checked.table(path.with_suffix(".tmp")), checked.batch)

    def table(self, path: Path) -> pa.Table:
        Workload(self.rows, rate=self.rate, groups=self.groups).write(path)
        return read(path)


@dataclass(frozen=True)
class TwoStreams:
    """The two streams of a join. ``rows`` and ``batch`` are those of each stream."""

    rows: int
    batch: int

    def write(self, path: Path) -> None:
        random = np.random.default_rng(0)
        for side in ("l", "r"):
            _write(path / side, _stream(random, self.rows, KEYS), self.batch)
            keys = REACH * CHECKED_ROWS // CHECKED_SECONDS
            _write(path / "checked" / side, _stream(random, CHECKED_ROWS, keys), CHECKED_ROWS // CHECKED_BATCHES)


def _stream(random: np.random.Generator, count: int, keys: int) -> pa.Table:
    """A stream with as many rows a second as give a row about one match among ``keys`` keys."""
    times = START + np.arange(count) * SECOND * REACH // keys
    at = times + np.where(random.random(count) < 0.1, random.integers(0, LATE_BY, count), 0)
    order = np.argsort(at, kind="stable")
    return pa.table({"ts": pa.array(times[order]).view(pa.timestamp("us")), "key": random.integers(0, keys, count)})


def _write(folder: Path, table: pa.Table, batch: int) -> None:
    """Write a table as files. Spark takes files in the order of their age, and times only with a zone."""
    folder.mkdir(parents=True)
    table = table.set_column(0, "ts", table["ts"].cast(pa.timestamp("us", "UTC")))
    rows = batch // _files(batch)
    for i, at in enumerate(range(0, table.num_rows, rows)):
        path = folder / f"{i:06}.parquet"
        pq.write_table(table.slice(at, rows), path)
        os.utime(path, (START // SECOND + i,) * 2)


def _files(batch: int) -> int:
    """The number of files for the rows of a micro-batch."""
    return max(1, batch // FILE_ROWS)


@dataclass(frozen=True)
class Query:
    """A query in two forms, ours and Spark's, each of which makes a result of streams that are given by name. ``truth``
    gives the right answer for the rows in a folder."""

    ours: Callable[..., Any]
    sparks: Callable[[Callable[[str], Any]], Any]
    truth: Callable[[Path], Answer]


def _our_count(source: Callable[[str], Any], table: bool = True) -> Any:
    grouped = source("packets").window(oop.tumbling("1s")).group_by("src", "dst")
    return (grouped if table else grouped.preaggregate(False)).agg(n=oop.count())


def _sparks_count(source: Callable[[str], Any]) -> Any:
    from pyspark.sql.functions import window

    return source("packets").groupBy(window("ts", "1 second"), "src", "dst").count()


def _true_count(folder: Path) -> Answer:
    packets = pq.read_table(folder / "packets")
    return Counter(zip(_seconds(packets["ts"]), packets["src"].to_pylist(), packets["dst"].to_pylist(), strict=True))


def _our_join(source: Callable[[str], Any]) -> Any:
    pairs = source("l").join(source("r"), on="key", within=("-1s", "1s"))
    return pairs.window(oop.tumbling("1s")).agg(n=oop.count())


def _sparks_join(source: Callable[[str], Any]) -> Any:
    from pyspark.sql.functions import expr, window

    right = source("r").selectExpr("ts AS other", "key AS same")
    near = "key = same AND other BETWEEN ts - INTERVAL 1 SECOND AND ts + INTERVAL 1 SECOND"
    return source("l").join(right, expr(near)).select("ts").groupBy(window("ts", "1 second")).count()


def _true_join(folder: Path) -> Answer:
    left, right = (pq.read_table(folder / side).to_pandas() for side in ("l", "r"))
    pairs = left.merge(right, on="key")
    near = (pairs["ts_x"] - pairs["ts_y"]).dt.total_seconds().abs() <= 1
    return Counter((second,) for second in _seconds(pa.chunked_array([pa.array(pairs["ts_x"][near])])))


def _seconds(times: pa.ChunkedArray) -> list[int]:
    return times.cast(pa.timestamp("s", "UTC"), safe=False).cast(pa.int64()).to_pylist()


QUERIES = {
    "count": Query(_our_count, _sparks_count, _true_count),
    "join": Query(_our_join, _sparks_join, _true_join),
}


def measure(path: str, batch: int, query: str, contender: str, first: int = 1, typical: bool = False) -> dict[str, Any]:
    """Seconds of the micro-batches, and the seconds if each took as long as the very first. The ``first`` micro-batches
    are left out; with ``typical`` the median of the others counts for each."""
    session = _session(contender)
    try:
        return _measured(session, Path(path), batch, QUERIES[query], contender, first, typical)
    finally:
        session.stop()  # otherwise Java may hang in the state store when it ends


def _measured(
    session: Any, folder: Path, batch: int, asked: Query, contender: str, first: int, typical: bool
) -> dict[str, Any]:
    check = _checked(session, folder / "checked", asked, contender)
    names = [p.name for p in sorted(folder.iterdir()) if p.name != "checked"]
    rows = sum(pq.read_metadata(file).num_rows for file in (folder / names[0]).iterdir())
    writer = _result(session, folder, asked, contender, batch).writeStream.format("noop")
    progress = _run(writer)[: -(-rows // batch)]  # later micro-batches have no rows
    seconds = [p["triggerExecution"] / 1000 for p in progress]
    counted, sizes = seconds[first:] or seconds, [min(batch, rows - at) for at in range(0, rows, batch)]
    taken = statistics.median(counted) * len(counted) if typical else sum(counted)
    counted_rows = sum(sizes[-len(counted) :]) * len(names)
    return {
        "seconds": taken,
        "first_seconds": seconds[0] * len(counted),
        "rows": counted_rows,
        "check": {"rows": counted_rows, **check},
    }


def _session(contender: str) -> Any:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    errors = os.dup(2)
    with open(os.devnull, "wb") as nowhere:  # hides the messages of Java and its workers; failures are raised
        os.dup2(nowhere.fileno(), 2)
    try:
        session = SparkSession.builder.master(f"local[{CORES}]").config(map=SETTINGS).getOrCreate()
    finally:
        os.dup2(errors, 2)
        os.close(errors)
    store = f"org.apache.spark.sql.execution.streaming.state.{STORES[contender]}StateStoreProvider"
    session.conf.set(STORE, store)
    return session


def _result(session: Any, folder: Path, asked: Query, contender: str, batch: int) -> Any:
    """The result of a query as a streaming DataFrame."""
    if contender in ("oop", BARE):

        def ours(name: str) -> Any:
            paths = sorted(str(p) for p in (folder / name).iterdir())
            return oop.source(paths, time="ts", punctuate=oop.slack("2s"), name=name)

        how = {"table": False} if contender == BARE else {}
        return asked.ours(ours, **how).to_spark(session, shards=CORES, rows=batch)

    def sparks(name: str) -> Any:
        path = str(folder / name)
        reader = session.readStream.schema(session.read.parquet(path).schema)
        return reader.option("maxFilesPerTrigger", _files(batch)).parquet(path).withWatermark("ts", "2 seconds")

    return asked.sparks(sparks)


def _run(writer: Any) -> Sequence[dict[str, float]]:
    """How long each phase of each micro-batch took, in milliseconds."""
    with TemporaryDirectory(prefix="oop-bench-") as folder:
        query = writer.option("checkpointLocation", folder).trigger(availableNow=True).start()
        query.awaitTermination()
        return [dict(p.durationMs) for p in query.recentProgress if "addBatch" in p.durationMs]


def _checked(session: Any, folder: Path, asked: Query, contender: str) -> dict[str, int]:
    """Put a smaller stream through the same query, and compare the answer. Spark leaves the last windows open: those
    that end in the last 6 s may be missing, but must not be wrong. This also warms everything up."""
    with TemporaryDirectory(prefix="oop-bench-") as path:
        frame = _result(session, folder, asked, contender, CHECKED_ROWS // CHECKED_BATCHES)
        _run(frame.writeStream.format("parquet").option("path", path))
        found = _answer(session.read.parquet(path).toArrow())
    truth = asked.truth(folder)
    last = max(second for second, *_ in truth)
    closed = {group: n for group, n in truth.items() if group[0] < last - 6}
    wrong = [group for group, n in found.items() if truth.get(group) != n]
    wrong += [group for group in closed if group not in found]
    if wrong or not closed:
        raise SystemExit(f"{contender} is wrong about {len(wrong)} of {len(closed)} groups, one of them {wrong[:1]}")
    return {"groups": len(closed), "counted": sum(closed.values()), "squares": sum(n * n for n in closed.values())}


def _answer(table: pa.Table) -> Answer:
    """Windows, groups and counts of a result. Our result has the window's start as a column, Spark's has it in a
    struct."""
    if "window" in table.column_names:
        starts: Any = pa.chunked_array([chunk.field("start") for chunk in table["window"].chunks])
    else:
        starts = table["window_start"]
    keys: Iterable[list[int]] = (table[name].to_pylist() for name in ("src", "dst") if name in table.column_names)
    counts = table["count" if "count" in table.column_names else "n"].to_pylist()
    found = list(zip(_seconds(starts), *keys, strict=True))
    if len(set(found)) != len(found):
        raise SystemExit("a group came twice")
    return dict(zip(found, counts, strict=True))


def cases(rows: int) -> list[Case]:
    def case(name: str, query: str, workload: Any, targets: dict[str, float], **how: Any) -> Case:
        contenders = {
            title: Task(workload, measure, batch=workload.batch, query=query, contender=title, **how)
            for title in ("oop", *targets)
        }
        return Case(name, contenders, [Ratio("oop", title, at_least(limit)) for title, limit in targets.items()])

    def table(groups: int, batch: int) -> Case:
        return case(
            f"the table at the source, {groups:,} groups", "count", Packets(2 * rows, batch, rate, groups), {BARE: 1}
        )

    rate, memory = rows // 8, "spark, state in memory"
    tiny = Packets(TINY_ROWS * TINY_BATCHES, TINY_ROWS, rate=2 * TINY_ROWS)
    return [
        case("count", "count", Packets(rows, rows // 8, rate), {"spark": 5, memory: 3}),
        case("count, large micro-batches", "count", Packets(rows * 2, rows // 2, rate), {"spark": 5, memory: 3}),
        table(1_000, rows // 2),
        table(60_000, rows // 2),
        table(260_000, rows // 2),
        case("join", "join", TwoStreams(rows // 8, rows // 32), {"spark": 10}),
        case("tiny", "count", tiny, {"spark": 0.667}, first=TINY_FIRST, typical=True),
    ]


if __name__ == "__main__":
    chosen = options(__doc__ or "", rows=400_000, repeat=1)
    compare("spark", chosen, cases(chosen.rows))
