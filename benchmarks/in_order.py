"""In-order plans against out-of-order plans, on one thread each: count by (src, dst) per window of 1 s, tumbling and
sliding, of rows in order; with a tenth of the rows late by up to 2 s, where the in-order plan has to sort; and of two
inputs, one 1 s behind the other, where it has to merge. Also the count of rows in order in many small sliding windows.

    python benchmarks/in_order.py --full
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from _contenders import WARM_UP_ROWS, timed
from _harness import Case, Ratio, Task, at_least, compare, options
from _workload import BATCH_ROWS, SECOND, Workload, read

QUERIES = ("tumbling", "sliding", "small windows", "disorder", "skew")
SKEW = SECOND // BATCH_ROWS  # in batches; a million rows are a second of stream


def measure(path: str, query: str, order: str) -> dict[str, Any]:
    """Seconds of the second run and of the first, and the rows that were held at the peak."""
    import oop

    table = read(Path(path))
    policy = (
        oop.slack("2s", every="100ms")
        if query == "disorder"
        else oop.ordered(every="10ms" if query == "small windows" else "100ms")
    )

    def source(batches: Any, behind: int) -> oop.Stream:
        """Rows that come one batch in a round, of which the first comes after ``behind`` rounds."""
        arriving = [*[batches[0].slice(0, 0)] * behind, *batches]
        return oop.source(lambda: iter(arriving), time="ts", punctuate=policy, schema=table.schema)

    def stream(batches: Any) -> oop.Stream:
        found = source(batches, 0)
        if query == "skew":
            found = found.union(source(batches, SKEW))
        if query == "small windows":  # of 1,000 rows, every 100
            return found.window(oop.sliding("1ms", every="100us")).agg(n=oop.count())
        window = oop.sliding("1s", every="250ms") if query == "sliding" else oop.tumbling("1s")
        return found.window(window).group_by("src", "dst").agg(n=oop.count())

    def work(batches: Any) -> tuple[pa.Table, int]:
        run = stream(batches).run(engine=oop.Embedded(threads=1), order=order)
        return run.to_table(), run.metrics.peak_rows

    work(table.slice(0, WARM_UP_ROWS).to_batches())
    batches = table.to_batches()
    first, _ = timed(work, batches)
    seconds, (answer, held) = timed(work, batches)
    times = {"sliding": 4, "small windows": 10, "skew": 2}.get(query, 1)
    check = {"rows": pc.sum(answer["n"]).as_py() // times, "groups": answer.num_rows}
    return {"seconds": seconds, "first_seconds": first, "rows": table.num_rows, "held": held, "check": check}


def cases(rows: int) -> list[Case]:
    found = []
    for query in QUERIES:
        workload = Workload(rows, late=0.1 if query == "disorder" else 0.0)
        contenders = {order: Task(workload, measure, query=query, order=order) for order in ("oop", "iop")}
        target = at_least(1) if query == "disorder" else None
        found.append(Case(query, contenders, [Ratio("oop", "iop", target)]))
    return found


if __name__ == "__main__":
    chosen = options(__doc__ or "", rows=500_000, repeat=1)
    compare("in_order", chosen, cases(chosen.rows))
