"""The Spark part of ``oop demo``: Q1 on both engines, and whether they agree.

Each link has a slack of its own that is somewhat too small, so the engines must also agree on which rows are late.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import oop
from oop import packets
from oop.cli.feeds import Feeds, Way
from oop.frozen import frozen

ROWS = 200_000
"""The most packets. Nearly all of the time goes to starting Spark, and more rows would show nothing new."""
SLACK = "500ms"
WAY = Way(
    f"slack {SLACK} for each link",
    lambda feeds: oop.union(*(feeds.source(name, ticks, oop.slack(SLACK)) for name, ticks in feeds.ticks.items())),
)


@frozen()
class Compared:
    """``same`` says whether the engines agree on the windows, their counts, and the number of late rows of each
    link."""

    rows: int
    late: int
    windows: int
    same: bool

    def __str__(self) -> str:
        said = "yes" if self.same else "NO"
        return (
            f"{self.rows:,} rows, {WAY.name}: {self.windows:,} windows, {self.late:,} late rows; "
            f"same answer as embedded: {said}"
        )


def compare(session: Any, rows: int, seed: int = 0) -> Compared:
    """Run Q1 on both engines, on Spark in several micro-batches."""
    links = packets.generate(rows, seed)
    stream = WAY.stream(Feeds(links, lambda taken: None, whole=True))
    query: Any = stream.run(engine=oop.Spark(session, rows=rows // 2 + 1))
    run = stream.run()
    expected, answer = run.to_table(), query.to_table()
    late = {name: query.counts[name]["late"] for name in links}
    same = late == {name: run.late[name].num_rows for name in links} and _sorted(answer).equals(_sorted(expected))
    total = sum(link.rows.num_rows for link in links.values())
    return Compared(total, sum(late.values()), answer.num_rows, same)


def _sorted(answer: pa.Table) -> pa.Table:
    return answer.sort_by("window_start")
