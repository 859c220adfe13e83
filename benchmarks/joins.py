"""Q7's band join and count (OOP paper, N1): two streams, a tenth of the rows late by up to 2 s, keys equal and times at
most 1 s apart, about one match a row; pairs are counted per window of 1 s. oop runs against DuckDB's batch join of the
same rows, two threads each. Also measured: the bytes of state for each row that the join holds at its peak, and those
where the same key is in four columns.

    python benchmarks/joins.py --full
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from _contenders import WARM_UP_ROWS, timed
from _harness import Case, Ratio, Task, at_least, at_most, compare, options
from _workload import LATE_BY, SECOND, START, read, write

RATE = 100_000  # rows a second of each stream: with 200,000 keys and 2 s in reach there is one match a row
KEYS = 200_000
THREADS = 2
FOUR_KEYS = "oop, four key columns"
ROW_BYTES = 16  # a time and a key
LIMIT = 1.25 * (ROW_BYTES + 8)
COLUMNS = 4  # of a key that does not fit a word
COLUMNS_LIMIT = 48


@dataclass(frozen=True)
class TwoStreams:
    """Two streams, each in a file of its own (`_part`). ``rows`` are those of both together."""

    rows: int

    def write(self, path: Path) -> None:
        random = np.random.default_rng(0)
        for side in range(2):
            write(_part(path, side), self._stream(random))

    def _stream(self, random: np.random.Generator) -> pa.Table:
        count = self.rows // 2
        times = START + np.arange(count) * (SECOND // RATE)
        at = times + np.where(random.random(count) < 0.1, random.integers(0, LATE_BY, count), 0)
        order = np.argsort(at, kind="stable")
        keys = random.integers(0, KEYS, count)
        return pa.table({"ts": pa.array(times[order]).view(pa.timestamp("us")), "key": keys[order]})


def _part(path: Path, side: int) -> Path:
    return path.with_suffix(f".{side}.arrow")


def _widened(table: pa.Table) -> pa.Table:
    """The same stream with its key in several columns."""
    key = table["key"].to_numpy()
    return pa.table({"ts": table["ts"], **{f"key{i}": key // (i + 1) for i in range(COLUMNS)}})


def measure(path: str, contender: str) -> dict[str, Any]:
    """Seconds of the second run and of the first, and check sums of the answer."""
    tables = [read(_part(Path(path), side)) for side in range(2)]
    work = {"oop": _oop, FOUR_KEYS: _oop, "duckdb": _duckdb}[contender]
    if contender == FOUR_KEYS:
        tables = [_widened(table) for table in tables]
    work([table.slice(0, WARM_UP_ROWS) for table in tables])
    first, _ = timed(work, tables)
    seconds, (counts, more) = timed(work, tables)
    rows = sum(table.num_rows for table in tables)
    pairs = [int(n) for n in counts]
    check = {"rows": rows, "groups": len(pairs), "pairs": sum(pairs), "squares": sum(n * n for n in pairs)}
    return {"seconds": seconds, "first_seconds": first, "rows": rows, "check": check, **more}


def _oop(tables: list[pa.Table]) -> tuple[list[int], dict[str, float]]:
    import oop

    left, right = (oop.source(table.to_batches(), time="ts", punctuate=oop.slack("2s", every="1s")) for table in tables)
    pairs = left.join(right, on=[n for n in tables[0].column_names if n != "ts"], within=("-1s", "1s"))
    run = pairs.window(oop.tumbling("1s")).agg(n=oop.count()).run(engine=oop.Embedded(threads=THREADS))
    answer = run.to_table()
    join = run.metrics.box("Join")
    figure = "bytes_per_row" if "key" in tables[0].column_names else "bytes_of_four_keys"
    return answer["n"].to_pylist(), {figure: join.peak_state_bytes / max(join.peak_buffered_rows, 1)}


def _duckdb(tables: list[pa.Table]) -> tuple[list[int], dict[str, float]]:
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {THREADS}")
    for name, table in zip(("l", "r"), tables, strict=True):
        connection.register(name, table)
    query = """
        SELECT floor(epoch_us(l.ts) / 1e6)::INT AS wid, count(*) AS n FROM l JOIN r
        ON l.key = r.key AND r.ts BETWEEN l.ts - INTERVAL 1 SECOND AND l.ts + INTERVAL 1 SECOND GROUP BY ALL"""
    return connection.sql(query).to_arrow_table()["n"].to_pylist(), {}


def cases(rows: int) -> list[Case]:
    streams = TwoStreams(rows)
    contenders = {title: Task(streams, measure, contender=title) for title in ("oop", FOUR_KEYS, "duckdb")}
    limits = {"bytes_per_row": ("oop", at_most(LIMIT)), "bytes_of_four_keys": (FOUR_KEYS, at_most(COLUMNS_LIMIT))}
    ratios = [Ratio("oop", "duckdb", at_least(4)), Ratio(FOUR_KEYS, "oop")]
    return [Case("band join and count", contenders, ratios, limits)]


if __name__ == "__main__":
    chosen = options(__doc__ or "", rows=500_000, repeat=1)
    compare("joins", chosen, cases(chosen.rows))
