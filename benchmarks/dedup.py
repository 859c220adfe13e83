"""Dedup that puts rows out at once (keep="any"): every row comes twice, the second time up to 2 s later; its key is two
numbers and the time. oop runs against DuckDB's SELECT DISTINCT of the same rows as a batch, two threads each.

    python benchmarks/dedup.py --full
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from _contenders import WARM_UP_ROWS, timed
from _harness import Case, Ratio, Task, at_least, compare, options
from _workload import LATE_BY, SECOND, START, read, write

RATE = 100_000  # distinct rows a second
KEYS = 200_000
THREADS = 2


@dataclass(frozen=True)
class Repeated:
    """``rows`` rows, half of which are repeats."""

    rows: int

    def write(self, path: Path) -> None:
        random = np.random.default_rng(0)
        count = self.rows // 2
        times = START + np.arange(count) * (SECOND // RATE)
        first, second = random.integers(0, KEYS, count), random.integers(0, KEYS, count)
        at = np.concatenate([times, times + random.integers(0, LATE_BY, count)])
        rows = np.argsort(at, kind="stable") % count
        table = pa.table(
            {"ts": pa.array(times[rows]).view(pa.timestamp("us")), "src": first[rows], "dst": second[rows]}
        )
        write(path, table)


def measure(path: str, contender: str) -> dict[str, Any]:
    """Seconds of the second run and of the first, and check sums of the answer."""
    table = read(Path(path))
    work = {"oop": _oop, "duckdb": _duckdb}[contender]
    work(table.slice(0, WARM_UP_ROWS))
    first, _ = timed(work, table)
    seconds, answer = timed(work, table)
    sums = {name: sum(int(chunk.to_numpy().sum()) for chunk in answer[name].chunks) for name in ("src", "dst")}
    check = {"rows": table.num_rows, "groups": answer.num_rows, **sums}
    return {"seconds": seconds, "first_seconds": first, "rows": table.num_rows, "check": check}


def _oop(table: pa.Table) -> pa.Table:
    import oop

    rows = oop.source(table.to_batches(), time="ts", punctuate=oop.slack("2s", every="1s"))
    return rows.dedup("src", "dst", "ts").run(engine=oop.Embedded(threads=THREADS)).to_table()


def _duckdb(table: pa.Table) -> pa.Table:
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {THREADS}")
    connection.register("rows", table)
    return connection.sql("SELECT DISTINCT src, dst, ts FROM rows").to_arrow_table()


def cases(rows: int) -> list[Case]:
    repeated = Repeated(rows)
    contenders = {title: Task(repeated, measure, contender=title) for title in ("oop", "duckdb")}
    return [Case("dedup of two numbers and the time", contenders, [Ratio("oop", "duckdb", at_least(1.0))])]


if __name__ == "__main__":
    chosen = options(__doc__ or "", rows=500_000, repeat=1)
    compare("dedup", chosen, cases(chosen.rows))
