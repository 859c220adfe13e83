"""Sessions of a million keys: almost four for each key, most with two rows, and a tenth of the rows late by up to 2 s.
Each session has a count and a sum. oop runs against DuckDB and Polars, which sort the whole table (lag, running sum,
group), two threads each, and against oop on one thread.

    python benchmarks/sessions.py --full
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pyarrow as pa
from _contenders import WARM_UP_ROWS
from _harness import Case, Ratio, Task, at_least, compare, options
from _workload import LATE_BY, SECOND, START, read, write

SPAN = 80 * SECOND  # of the stream
ROWS_OF_A_KEY = 8
GAP = 5 * SECOND
THREADS = 2


@dataclass(frozen=True)
class Visits:
    """Each key has pairs of rows a few seconds apart, anywhere in the stream."""

    rows: int

    def write(self, path: Path) -> None:
        random = np.random.default_rng(0)
        pairs = self.rows // 2
        keys = np.arange(pairs) % max(self.rows // ROWS_OF_A_KEY, 1)
        first = random.integers(0, SPAN, pairs)
        times = START + np.concatenate([first, first + random.integers(0, GAP, pairs)])
        at = times + np.where(random.random(2 * pairs) < 0.1, random.integers(0, LATE_BY, 2 * pairs), 0)
        order = np.argsort(at, kind="stable")
        value = random.integers(40, 1_500, 2 * pairs)
        columns = {
            "ts": pa.array(times[order]).view(pa.timestamp("us")),
            "key": pa.array(np.concatenate([keys, keys])[order]),
            "len": pa.array(value),
        }
        write(path, pa.table(columns))


def measure(path: str, contender: str, threads: int = THREADS) -> dict[str, Any]:
    """Seconds of the second run and of the first, processor seconds of the second, and check sums of the answer."""
    os.environ["POLARS_MAX_THREADS"] = str(threads)  # read when Polars is imported
    table = read(Path(path))
    work = {"oop": _oop, "duckdb": _duckdb, "polars": _polars}[contender]
    work(table.slice(0, WARM_UP_ROWS), threads)
    first, _, _ = _timed(work, table, threads)
    seconds, busy, answer = _timed(work, table, threads)
    counts = answer["n"].cast(pa.int64()).to_numpy()
    check = {
        "rows": int(counts.sum()),
        "groups": len(counts),
        "squares": int((counts**2).sum()),
        "total": _sum(answer["total"]),
        "length": _sum(answer["last"]) - _sum(answer["first"]),
    }
    return {"seconds": seconds, "first_seconds": first, "busy": busy, "rows": table.num_rows, "check": check}


def _sum(column: pa.ChunkedArray) -> int:
    return int(column.cast(pa.int64()).to_numpy().sum())


def _timed(work: Any, table: pa.Table, threads: int) -> tuple[float, float, pa.Table]:
    begin, busy = perf_counter(), process_time()
    answer = work(table, threads)
    return perf_counter() - begin, process_time() - busy, answer


def _oop(table: pa.Table, threads: int) -> pa.Table:
    import oop

    stream = oop.source(table.to_batches(), time="ts", punctuate=oop.slack("2s", every="1s"))
    sessions = stream.window(oop.session("5s")).group_by("key").agg(n=oop.count(), total=oop.sum("len"))
    batches = list(sessions.run(engine=oop.Embedded(threads=threads)))
    answer = pa.Table.from_batches(batches)
    last = pa.compute.subtract(answer["window_end"].cast(pa.int64()), GAP)
    return answer.select(["n", "total"]).append_column("first", answer["window_start"]).append_column("last", last)


def _duckdb(table: pa.Table, threads: int) -> pa.Table:
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {threads}")
    connection.register("visits", table)
    query = f"""
        WITH marked AS (
            SELECT key, ts, len, coalesce(epoch_us(ts) - lag(epoch_us(ts)) OVER of_key > {GAP}, true)::INT AS new
            FROM visits WINDOW of_key AS (PARTITION BY key ORDER BY ts)
        ), numbered AS (
            SELECT key, ts, len, sum(new) OVER of_key AS number
            FROM marked WINDOW of_key AS (PARTITION BY key ORDER BY ts ROWS UNBOUNDED PRECEDING)
        )
        SELECT key, number, min(ts) AS first, max(ts) AS last, count(*) AS n, sum(len)::BIGINT AS total
        FROM numbered GROUP BY key, number"""
    return connection.sql(query).to_arrow_table()


def _polars(table: pa.Table, threads: int) -> pa.Table:
    """One sort by key and time; then a session begins where the key changes or the gap is exceeded."""
    import polars as pl

    frame = pl.from_arrow(table, rechunk=True)
    assert isinstance(frame, pl.DataFrame)
    ordered = frame.lazy().sort("key", "ts")
    apart = pl.col("ts").cast(pl.Int64).diff() > GAP
    number = (apart | (pl.col("key").diff() != 0)).fill_null(True).cum_sum().alias("number")
    wanted = {
        "first": pl.col("ts").min(),
        "last": pl.col("ts").max(),
        "n": pl.len(),
        "total": pl.col("len").sum(),
        "key": pl.col("key").first(),
    }
    grouped = ordered.with_columns(number).group_by("number").agg(**wanted)
    return grouped.collect(engine="streaming").to_arrow(compat_level=pl.CompatLevel.newest())


def cases(rows: int) -> list[Case]:
    visits = Visits(rows)
    contenders = {title: Task(visits, measure, contender=title) for title in ("oop", "duckdb", "polars")}
    contenders["oop, one thread"] = Task(visits, measure, contender="oop", threads=1)
    ratios = [
        Ratio("oop", "duckdb", at_least(3)),
        Ratio("oop", "polars", at_least(3)),
        Ratio("oop", "oop, one thread"),
    ]
    return [Case("sessions of many keys", contenders, ratios)]


if __name__ == "__main__":
    chosen = options(__doc__ or "", rows=500_000, repeat=1)
    compare("sessions", chosen, cases(chosen.rows))
