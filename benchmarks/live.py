"""What does a small batch cost that comes by itself, as from a live input? Count by key per window on one thread, in
batches of one row, and in batches of 1,000 rows that each close a window of ten groups. Beside it stands what pyarrow
takes to group each batch by itself, without windows, promises or state.

    python benchmarks/live.py --full
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from _contenders import timed
from _harness import Case, Ratio, Task, at_least, compare, options
from _workload import read, write

GROUPS = 10
WINDOW = 1_000  # of time; a batch of 1,000 rows is as long
WARM_UP_BATCHES = 200


@dataclass(frozen=True)
class Rows:
    """One row a unit of time, in order."""

    rows: int

    def write(self, path: Path) -> None:
        times = np.arange(self.rows)
        write(path, pa.table({"ts": times, "k": times % GROUPS}))


def measure(path: str, contender: str, batch_rows: int) -> dict[str, Any]:
    """Seconds of the second run and of the first, and what the answer adds up to."""
    table = read(Path(path)).combine_chunks()
    batches = table.to_batches(max_chunksize=batch_rows)
    work = {"oop": _oop, "pyarrow": _pyarrow}[contender]
    work(batches[:WARM_UP_BATCHES])
    first, _ = timed(work, batches)
    seconds, counted = timed(work, batches)
    return {
        "seconds": seconds,
        "first_seconds": first,
        "rows": table.num_rows,
        "check": {"rows": counted, "groups": GROUPS},
    }


def _oop(batches: list[pa.RecordBatch]) -> int:
    import oop

    def one_by_one() -> Iterator[pa.RecordBatch]:
        yield from batches  # a generator: the engine takes what is there, which is one batch

    stream = oop.source(one_by_one(), schema=batches[0].schema, time="ts", punctuate=oop.ordered())
    counts = stream.window(oop.tumbling(WINDOW)).group_by("k").agg(n=oop.count())
    return sum(pc.sum(b["n"]).as_py() for b in counts.run(engine=oop.Embedded(threads=1)))


def _pyarrow(batches: list[pa.RecordBatch]) -> int:
    grouped = (pa.Table.from_batches([b]).group_by("k").aggregate([([], "count_all")]) for b in batches)
    return sum(pc.sum(one["count_all"]).as_py() for one in grouped)


def cases(rows: int) -> list[Case]:
    found = []
    for name, size, more, target in (("one row a batch", 1, 1, 1), ("1,000 rows that close a window", WINDOW, 50, 0.5)):
        stream = Rows(max(rows // 100, size) * more)
        both = {title: Task(stream, measure, contender=title, batch_rows=size) for title in ("oop", "pyarrow")}
        found.append(Case(name, both, [Ratio("oop", "pyarrow", at_least(target))]))
    return found


if __name__ == "__main__":
    chosen = options(__doc__ or "", rows=500_000, repeat=1)
    compare("live", chosen, cases(chosen.rows))
