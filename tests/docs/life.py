"""Walks a batch and a promise through both engines, and records which files they pass, in order.

`docs/life_of_a_batch.md` is made from the record: `python -m tests.docs.life --store` writes the page anew, and a test
compares it.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import oop
from tests.oop_.engines.spark.simulated import Simulated

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "life_of_a_batch.md"
FOLDERS = ("oop", "operators", "punctuation", "kernels")
Walk = list[tuple[str, str]]

INTRODUCTION = """\
# The life of a batch

Which files a batch and a promise pass, in the order in which each is first entered, with the function that is entered.
The plan is `source → filter → window → group_by → agg`, run with `oop.ordered()`. This page is made by
`python -m tests.docs.life --store`, and `tests/docs/test_life.py` holds it to what really runs.
"""


@contextmanager
def walking(walk: Walk) -> Iterator[None]:
    """Note each file of the project when it is first entered."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event != "call" or name in seen or "__" in frame.f_code.co_qualname:
            return  # constructors and other special methods are not on the way
        seen.add(name)
        path = Path(name).resolve()
        if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in FOLDERS:
            found = str(path.relative_to(ROOT))
            if found not in (file for file, _ in walk):
                walk.append((found, frame.f_code.co_qualname))

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


def plan(data: Any) -> oop.Stream:
    stream = oop.source(data, time="ts", punctuate=oop.ordered(), schema=batch(0).schema)
    return stream.filter(oop.col("v") >= 0).window(oop.tumbling(10)).group_by("k").agg(n=oop.count())


def batch(time: int) -> pa.RecordBatch:
    return pa.record_batch({"ts": [time, time + 1], "k": [1, 2], "v": [3, 4]})


def embedded() -> tuple[Walk, Walk]:
    """The walk of a batch that closes nothing, and the walk of a promise, which has the further files that a batch
    passes only if it closes a window. Work that is done once, for the first batches, is left out."""
    rows: Walk = []
    promise: Walk = []

    def batches() -> Iterator[pa.RecordBatch]:
        yield from (batch(0), batch(2), batch(12), batch(14))
        with walking(rows):
            yield batch(16)
        with walking(promise):
            yield batch(22)

    plan(batches()).run(engine=oop.Embedded(threads=1)).to_table()
    return rows, [step for step in promise if step[0] not in {file for file, _ in rows}]


class Kind(random.Random):
    """A source of chance with which no task fails and no query restarts."""

    def random(self) -> float:
        return 0.99

    def shuffle(self, x: Any) -> None:
        """Leaves the order as it is."""


def spark() -> Walk:
    """The walk of micro-batches through all stages, without Spark itself, which calls the stages and carries the
    cells."""
    walk: Walk = []

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.parquet"
        pq.write_table(pa.Table.from_batches([batch(time) for time in range(0, 40, 2)]), file)
        query = Simulated(plan(file), Path(folder), Kind(0), rows=8, tasks=1, shards=1)
        with walking(walk):
            query.run()
    return [step for step in walk if step[0].startswith(("oop/", "operators/"))]


def page() -> str:
    rows, promise = embedded()
    parts = [
        INTRODUCTION,
        _section("A batch, embedded", "A batch that closes no window, once the run is under way.", rows),
        _section("A promise, embedded", "What a promise that closes a window passes beyond these.", promise),
        _section(
            "A micro-batch on Spark",
            "The planner on the driver, the source stage where rows are read, then a stage with state. Spark itself\n"
            "carries cells from one to the next (`oop/engines/spark/processor.py` and `oop/engines/spark/datasource.py`"
            "\nare what it calls). Kernels and promises are left out: they are those of the embedded engine.",
            spark(),
        ),
    ]
    return "\n".join(parts)


def _section(title: str, text: str, walk: Walk) -> str:
    steps = "\n".join(f"{i}. `{file}`: `{function}`" for i, (file, function) in enumerate(walk, 1))
    return f"## {title}\n\n{text}\n\n{steps}\n"


if __name__ == "__main__":
    if "--store" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page())
