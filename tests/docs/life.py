"""Walks a batch and a promise through both engines, and records which functions of which files they pass, in order.

`docs/life_of_a_batch.md` is made from the record: `python -m tests.docs.life --store` writes the page anew, and a test
compares it.
"""

from __future__ import annotations

import gc
import random
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from textwrap import fill
from types import FrameType
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq

import oop
from oop.engines.spark.cells import Cell
from oop.engines.spark.reading import read_split
from oop.engines.spark.runner import StageRunner
from oop.punctuation import Policy
from tests.oop_.engines.spark import simulated
from tests.oop_.engines.spark.simulated import Simulated

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "life_of_a_batch.md"
FOLDERS = ("oop", "operators", "punctuation", "kernels")
Passed = dict[str, list[str]]
"""The functions that were called in each file, files and functions in the order of their first calls."""

INTRODUCTION = """\
# The life of a batch

Which files a batch and a promise pass, in the order in which each is first entered, with the functions that are called
there, in order too. Of a file's functions those that begin with an underscore are left out, unless there are no others.
The plan is `source → filter → window → group_by → agg`, and each walk begins when the run has been under way for some
batches. This page is made by `python -m tests.docs.life --store`, and `tests/docs/test_life.py` holds it to what really
runs.
"""


@cache
def in_project(file: str) -> str | None:
    """The path of a file of the project, from its root; None for all other files."""
    path = Path(file).resolve()
    if not path.is_relative_to(ROOT) or path.relative_to(ROOT).parts[0] not in FOLDERS:
        return None
    return str(path.relative_to(ROOT))


class Walk:
    """What has been passed, in parts: `current` names the part that calls are noted in."""

    def __init__(self) -> None:
        self.parts: dict[str, Passed] = {}
        self.current = ""

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        file = in_project(frame.f_code.co_filename)
        name = frame.f_code.co_qualname.split(".<locals>")[0]
        if event != "call" or file is None or "__" in name or "<" in name:
            return  # constructors and other special methods are not on the way
        functions = self.parts.setdefault(self.current, {}).setdefault(file, [])
        if name not in functions:
            functions.append(name)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Note all calls in this part, beginning with the functions that are being run."""
        frames, frame = [], sys._getframe(2)
        while frame is not None:
            frames.append(frame)
            frame = frame.f_back  # type: ignore[assignment]
        self.current = name
        for frame in reversed(frames):
            self.note(frame, "call", None)
        gc.disable()  # what it frees would be noted at random
        sys.setprofile(self.note)
        try:
            yield
        finally:
            sys.setprofile(None)
            gc.enable()


def plan(data: Any, policy: Policy) -> oop.Stream:
    stream = oop.source(data, time="ts", punctuate=policy, schema=batch(0).schema)
    return stream.filter(oop.col("v") >= 0).window(oop.tumbling(10)).group_by("k").agg(n=oop.count())


def batch(time: int) -> pa.RecordBatch:
    return pa.record_batch({"ts": [time, time + 1], "k": [1, 2], "v": [3, 4]})


def embedded(before: Sequence[Any], element: Any, policy: Policy, scheduler: Any = None) -> Passed:
    """The walk of an element, from the feed that asks for it until the feed asks for the next one. Work that is done
    once, for the elements before it, is left out."""
    walk = Walk()

    def elements() -> Iterator[Any]:
        yield from before
        with walk.part("all"):
            yield element

    plan(elements(), policy).run(engine=oop.Embedded(threads=1, scheduler=scheduler)).to_table()
    return walk.parts["all"]


class Kind(random.Random):
    """A source of chance with which no task fails, and workers keep their operators."""

    def random(self) -> float:
        return 0.5

    def shuffle(self, x: Any) -> None:
        """Leaves the order as it is."""


class Walked(Simulated):
    """A query whose walk has a part for the driver, for the source stage, and for rows and promises in a stage with
    state."""

    walk: Walk

    def _stage(self, number: int, cells: list[Cell]) -> list[Cell]:
        self.walk.current = "rows"
        return super()._stage(number, cells)

    def _runner(self, place: tuple[int, int], fresh: bool) -> StageRunner:
        runner = super()._runner(place, fresh)
        take = type(runner.operator).process_punctuation

        def process_punctuation(*given: Any) -> Iterable[Any]:
            self.walk.current = "promises"
            return take(runner.operator, *given)

        runner.operator.process_punctuation = process_punctuation  # type: ignore[method-assign]
        return runner


def spark() -> dict[str, Passed]:
    """The walk of a micro-batch that closes a window, without Spark itself, which calls the stages and carries the
    cells."""
    walk = Walk()

    def read(*given: Any) -> list[Cell]:
        walk.current = "source"
        return list(read_split(*given))

    with tempfile.TemporaryDirectory() as folder, patch.object(simulated, "read_split", read):
        file = Path(folder) / "rows.parquet"
        pq.write_table(pa.Table.from_batches([batch(time) for time in range(0, 40, 2)]), file, row_group_size=8)
        query = Walked(plan(file, oop.ordered()), Path(folder), Kind(0), rows=8, tasks=1, shards=1)
        query.walk = walk
        query.micro_batch()
        query.micro_batch()
        with walk.part("driver"):
            query.micro_batch()
    return {
        part: {file: names for file, names in passed.items() if file.startswith(("oop/", "operators/"))}
        for part, passed in walk.parts.items()
    }


def page() -> str:
    earlier = [batch(time) for time in (0, 2, 12, 14)]
    rows = embedded(earlier, batch(16), oop.ordered())
    one_by_one = embedded(earlier, batch(16), oop.ordered(), oop.RoundRobin())
    batches = [batch(0), batch(2), oop.Punctuation({"ts": 12}), batch(12), batch(14)]
    promise = embedded(batches, oop.Punctuation({"ts": 22}), oop.punctuated())
    parts = spark()
    return "\n".join(
        [
            INTRODUCTION,
            _section(
                "A batch, embedded",
                "The source is `oop.ordered()`, and the batch closes no window: its promise stays behind the gate.",
                rows,
            ),
            _section(
                "The same batch, operator by operator",
                "With a scheduler that gives each box turns of its own, and for plans and rows that are not for a "
                "program.",
                one_by_one,
            ),
            _section(
                "A promise, embedded",
                "The source is `oop.punctuated()`, and its data carries a promise that closes a window.",
                promise,
            ),
            "## A micro-batch on Spark\n\n"
            + fill(
                "The source is `oop.ordered()`, and a window closes. Spark itself carries cells from one place to the "
                "next (`oop/engines/spark/processor.py` and `oop/engines/spark/datasource.py` are what it calls). "
                "Kernels and the files of `punctuation/` are left out: they are those of the embedded engine.",
                120,
            )
            + "\n",
            _section("On the driver: where the micro-batch ends", "", parts["driver"], "###"),
            _section("In the worker that reads: rows, and the promises that follow", "", parts["source"], "###"),
            _section("In the worker with state: rows", "", parts["rows"], "###"),
            _section("In the worker with state: promises", "", parts["promises"], "###"),
        ]
    )


def _section(title: str, text: str, passed: Passed, level: str = "##") -> str:
    steps = "\n".join(
        fill(f"{i}. `{file}`: {_shown(names)}", 120, subsequent_indent="   ", break_on_hyphens=False)
        for i, (file, names) in enumerate(passed.items(), 1)
    )
    return "\n\n".join(part for part in (f"{level} {title}", text, f"{steps}\n") if part)


def _shown(names: Sequence[str]) -> str:
    """The public functions, or all; a class is named once where several of its methods follow each other."""
    public = [name for name in names if not any(part.startswith("_") for part in name.split("."))]
    shown, before = [], ""
    for name in public or names:
        of, _, method = name.rpartition(".")
        shown.append(f"`.{method}`" if of and of == before else f"`{name}`")
        before = of
    return ", ".join(shown)


if __name__ == "__main__":
    if "--store" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page())
