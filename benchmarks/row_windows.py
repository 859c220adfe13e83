"""Windows of rows against windows of time: count by (src, dst) per million rows, and per second of a stream with a
million rows a second.

    python benchmarks/row_windows.py --full
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from _contenders import WARM_UP_ROWS, timed
from _harness import Case, Ratio, Task, at_least, compare, options
from _workload import Workload, read

ROWS = 1_000_000  # rows of a window, as many as in a second
WINDOWS = {
    "time": ("tumbling", "1s", None),
    "rows": ("rows", ROWS, None),
    "sliding time": ("sliding", "1s", "500ms"),
    "sliding rows": ("rows", ROWS, ROWS // 2),
}


def measure(path: str, window: str) -> dict[str, Any]:
    """Seconds of the second run and of the first; each row must have been counted in each of its windows."""
    import oop

    kind, range_, every = WINDOWS[window]
    spec = getattr(oop, kind)(range_, **({} if every is None else {"every": every}))
    table = read(Path(path))

    def work(batches: Any) -> Any:
        stream = oop.source(batches, time="ts", punctuate=oop.slack("2s", every="100ms"))
        counts = stream.window(spec).group_by("src", "dst").agg(n=oop.count())
        return counts.run(engine=oop.Embedded(threads=2)).to_table()

    work(table.slice(0, WARM_UP_ROWS).to_batches())
    batches = table.to_batches()
    first, _ = timed(work, batches)
    seconds, answer = timed(work, batches)
    counted = pc.sum(answer["n"]).as_py() // (1 if every is None else 2)
    check = {"rows": counted, "groups": answer.group_by(["src", "dst"]).aggregate([]).num_rows}
    return {"seconds": seconds, "first_seconds": first, "rows": table.num_rows, "check": check}


def cases(rows: int) -> list[Case]:
    workload = Workload(rows)
    contenders = {name: Task(workload, measure, window=name) for name in WINDOWS}
    return [
        Case("count", {n: contenders[n] for n in ("time", "rows")}, [Ratio("rows", "time", at_least(0.5))]),
        Case(
            "sliding count",
            {n: contenders[n] for n in ("sliding time", "sliding rows")},
            [Ratio("sliding rows", "sliding time", at_least(0.5))],
        ),
    ]


if __name__ == "__main__":
    chosen = options(__doc__ or "", rows=500_000, repeat=1)
    compare("row_windows", chosen, cases(chosen.rows))
