"""An order by group against one order of all rows: the same count and sum by key, with promises about each key by
itself (a promise for each key and batch), and with promises about all rows together.

    python benchmarks/group_promises.py --full
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from _contenders import WARM_UP_ROWS, timed
from _harness import Case, Ratio, Task, at_least, compare, options
from _workload import DESTINATIONS, Workload, read

import oop

SLACK = 10  # rows


def measure(
    path: str, keys: Sequence[str], size: str, source: bool, by: Sequence[str] = (), idle: str | None = None
) -> dict[str, Any]:
    """Seconds of the second run and of the first, and check sums of the answer.

    Promises are by the columns ``by``. With ``source`` a policy of the source makes them, otherwise an order. Groups
    that are silent for ``idle`` retire; the slowest of the others limits what is promised about all rows."""
    table = read(Path(path))
    key = pc.add(pc.multiply(table["src"], DESTINATIONS), table["dst"])
    table = table.append_column("key", key.combine_chunks())

    def work(rows: pa.Table) -> list[pa.RecordBatch]:
        policy = oop.slack("0s", by=by[0] if by else None, idle=idle if by else None) if source else None
        stream = oop.source(rows.to_batches(), time="ts", punctuate=policy)
        if not source:
            stream = oop.aurora.Assume(oop.Order("ts", SLACK, group_by=by))(stream)
        counts = stream.window(oop.tumbling(size)).group_by(*keys).agg(n=oop.count(), total=oop.sum("len"))
        return list(counts.run(engine=oop.Embedded(threads=1)))

    work(table.slice(0, WARM_UP_ROWS))
    first = timed(work, table)[0]  # its answer is freed before the second run, as in the other benchmarks
    seconds, batches = timed(work, table)
    answer = pa.Table.from_batches(batches)
    check = {name: pc.sum(answer[column]).as_py() for name, column in (("rows", "n"), ("total", "total"))}
    found = {"seconds": seconds, "first_seconds": first, "rows": table.num_rows}
    return {**found, "check": {**check, "groups": answer.num_rows}}


def cases(rows: int) -> list[Case]:
    return [
        _case("1,000 groups, windows of 10 ms", rows, 1_000, "10ms", 0.3),
        _case("1,000 groups, windows of 1 s", rows, 1_000, "1s", 0.3),
        _case("1,000 groups of two columns, windows of 10 ms", rows, 1_000, "10ms", 0.3, ("src", "dst")),
        _case("1,000 groups, by a policy of the source", rows, 1_000, "10ms", 0.3, source=True),
        _case("1,000 groups, by a policy, retired when idle", rows, 1_000, "10ms", 0.1, source=True, idle="1s"),
        _case("10,000 groups, windows of 10 ms", rows, 10_000, "10ms", 0.3),
        _case("10,000 groups, windows of 1 s", rows, 10_000, "1s", 0.3),
    ]


def _case(
    name: str,
    rows: int,
    groups: int,
    size: str,
    limit: float,
    keys: tuple[str, ...] = ("key",),
    source: bool = False,
    idle: str | None = None,
) -> Case:
    workload = Workload(rows, late=0, groups=groups)
    contenders = {
        "by group": Task(workload, measure, keys=keys, size=size, source=source, by=keys, idle=idle),
        "of all rows": Task(workload, measure, keys=keys, size=size, source=source),
    }
    return Case(name, contenders, [Ratio("by group", "of all rows", at_least(limit))])


if __name__ == "__main__":
    chosen = options(__doc__ or "", rows=300_000, repeat=1, full=1_000_000)
    compare("group_promises", chosen, cases(chosen.rows))
