"""Hybrid aggregation against the two ways that it combines, on one thread: incremental by panes, and buffered rows.

Panes win with many rows of few groups. Buffered rows win if almost every row is a group of its own, if windows have few
rows, and if a function cannot merge. The last stream changes from one kind to the other in the middle.

    python benchmarks/hybrid.py --full
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from _contenders import timed
from _harness import Case, Ratio, Task, at_least, compare, options
from _workload import SECOND, START, read, write

import oop
from oop.testing import forced

SIDES = ("incremental", "buffered", "hybrid")
WITHIN = at_least(0.87)  # of the better of the two: at most 15 % slower
FULL = 4_000_000


@dataclass(frozen=True)
class Query:
    """``rate`` rows come in a second of stream, of ``groups`` groups; a stream that changes has ``few`` groups in its
    second half. A share of the rows, ``late``, comes up to half a second late."""

    rate: int
    groups: int
    windows: int  # windows that a row is in; each is a second long
    aggregates: str = "five"
    share: int = 1  # divides the rows of a run, because rows of small windows cost more
    few: int | None = None
    late: float = 0.1


QUERIES = {
    "few groups": Query(1_000_000, 100, 10),
    "most rows a group": Query(20_000, 1_000_000, 10, share=8),
    "few rows a window": Query(1_000, 100, 100, aggregates="count", share=32),
    "no merge": Query(100_000, 1_000, 10, aggregates="user", share=2),
    "changing": Query(200_000, 50_000, 4, few=100),
}
BETTER = {
    "few groups": "incremental",
    "most rows a group": "buffered",
    "few rows a window": "buffered",
    "no merge": "buffered",
}


@dataclass(frozen=True)
class Stream:
    """Rows of a query, as a workload that can be written to a file."""

    query: Query
    rows: int

    def write(self, path: Path) -> None:
        rows, query = max(self.rows // self.query.share, 2_000), self.query
        random = np.random.default_rng(0)
        times = START + np.arange(rows) * SECOND // query.rate
        at = times + np.where(random.random(rows) < query.late, random.integers(0, SECOND // 2, rows), 0)
        groups = np.full(rows, query.groups)
        if query.few is not None:
            groups[rows // 2 :] = query.few
        columns = {
            "ts": pa.array(times).view(pa.timestamp("us")),
            "key": pa.array((random.random(rows) * groups).astype(np.int32)),
            "len": pa.array(random.integers(40, 1_500, rows, np.int32)),
        }
        write(path, pa.table(columns).take(pa.array(np.argsort(at, kind="stable"))))


def measure(path: str, name: str, how: str) -> dict[str, Any]:
    """Seconds of the second run and of the first, and the bytes of state at the peak."""
    table, query = read(Path(path)), QUERIES[name]

    def work(rows: pa.Table) -> tuple[pa.Table, int, str]:
        source = oop.source(rows.to_batches(), time="ts", punctuate=oop.slack("500ms", every="100ms"))
        grouped = source.window(oop.sliding("1s", every=f"{1000 // query.windows}ms")).group_by("key")
        run = forced(grouped.agg(**_aggregates(query)), how).run(engine=oop.Embedded(threads=1))
        answer = run.to_table()
        box = run.metrics.box("Aggregate")
        return answer, box.peak_state_bytes, box.note

    work(table.slice(0, 2_000))
    first, _ = timed(work, table)
    seconds, (answer, held, note) = timed(work, table)
    check = {"rows": pc.sum(answer["n"]).as_py() // query.windows, "groups": answer.num_rows, "total": _total(answer)}
    found = {"seconds": seconds, "first_seconds": first, "rows": table.num_rows, "check": check}
    return {**found, "peak_state_bytes": held, "note": note}


def _aggregates(query: Query) -> dict[str, Any]:
    if query.aggregates == "user":
        return {"n": oop.aggregate(0, lambda s: s + 1)(), "total": oop.aggregate(0, lambda s, v: s + v)("len")}
    counted = {"n": oop.count()}
    if query.aggregates == "count":
        return counted
    length = "len"
    return {**counted, "total": oop.sum(length), "lo": oop.min(length), "hi": oop.max(length), "var": oop.var(length)}


def _total(answer: pa.Table) -> float:
    return float(pc.sum(answer["total"] if "total" in answer.column_names else answer["n"]).as_py())


def cases(rows: int) -> list[Case]:
    found = []
    for name, query in QUERIES.items():
        contenders = {side: Task(Stream(query, rows), measure, name=name, how=side) for side in SIDES}
        better = BETTER.get(name)
        ratios = [
            Ratio("hybrid", side, WITHIN if better in (None, side) else None) for side in ("incremental", "buffered")
        ]
        found.append(Case(name, contenders, [*ratios, Ratio("incremental", "buffered")]))
    return found


if __name__ == "__main__":
    chosen = options(__doc__ or "", rows=500_000, repeat=1, full=FULL)
    compare("hybrid", chosen, cases(chosen.rows))
