"""A sum that a user wrote against the built-in one: by (src, dst) per window of 1 s, with a tenth of the rows late by
up to 2 s, on one thread and on two. Also how long a fresh process takes to import oop and to compile that sum.

    python benchmarks/user_aggregate.py --full
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from _contenders import WARM_UP_ROWS, timed
from _harness import Case, Ratio, Task, at_least, at_most, compare, options
from _workload import Workload, read

import oop

SUM = "oop.aggregate(0, lambda s, v: s + v, lambda a, b: a + b)"
START = f"""
from time import perf_counter
begin = perf_counter()
import pyarrow as pa, oop
stream = oop.source(pa.table({{"ts": [1], "len": [2]}}), time="ts", punctuate=oop.ordered())
stream.window(oop.tumbling(1)).agg(total={SUM}("len"))
print(perf_counter() - begin)
"""


def measure(path: str, own: bool, threads: int) -> dict[str, Any]:
    """Seconds of the second run and of the first, and check sums of the answer."""
    table = read(Path(path))
    total: Any = oop.aggregate(0, lambda s, v: s + v, lambda a, b: a + b) if own else oop.sum

    def work(rows: pa.Table) -> list[pa.RecordBatch]:
        stream = oop.source(rows.to_batches(), time="ts", punctuate=oop.slack("2s", every="100ms"))
        grouped = stream.window(oop.tumbling("1s")).group_by("src", "dst")
        return list(grouped.agg(total=total("len")).run(engine=oop.Embedded(threads=threads)))

    work(table.slice(0, WARM_UP_ROWS))
    first = timed(work, table)[0]  # its answer is freed before the second run, as in the other benchmarks
    seconds, answer = timed(work, table)
    sums = pa.Table.from_batches(answer)["total"]
    squares = pc.sum(pc.power(sums.cast(pa.float64()), 2.0)).as_py()
    check = {"rows": table.num_rows, "groups": len(sums), "total": pc.sum(sums).as_py(), "squares": squares}
    found = {"seconds": seconds, "first_seconds": first, "rows": table.num_rows, "check": check}
    return {**found, "start_seconds": _start()} if own else found


def _start() -> float:
    done = subprocess.run([sys.executable, "-c", START], stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def cases(rows: int) -> list[Case]:
    found = []
    for threads in (1, 2):
        contenders = {
            "user-defined": Task(Workload(rows), measure, own=True, threads=threads),
            "built-in": Task(Workload(rows), measure, own=False, threads=threads),
        }
        limits = {"start_seconds": ("user-defined", at_most(1.5))} if threads == 1 else {}
        ratios = [Ratio("user-defined", "built-in", at_least(0.8))]
        found.append(Case(f"sum, threads={threads}", contenders, ratios, limits))
    return found


if __name__ == "__main__":
    chosen = options(__doc__ or "", rows=1_000_000, repeat=1)
    compare("user_aggregate", chosen, cases(chosen.rows))
