"""Interrupts at every point where one may come, and what is then left of a run.

An asynchronous exception (a signal's, or one that another thread throws) comes where the interpreter looks for it: when
a function begins, and behind a call into C. `sys.setprofile` tells of both, so the n-th such point of a run can be
chosen, again and again, where a timer would find it by chance.
"""

from __future__ import annotations

import faulthandler
import gc
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pyarrow as pa

import oop
from oop.testing.laws import bag

_PATIENCE = 30.0


class Interrupt(BaseException):
    """Not a KeyboardInterrupt: if one should escape, the tests go on."""


class Fault(Exception):
    """An error at a place where none is foreseen."""


def make_table(rows: int) -> pa.Table:
    random = np.random.default_rng(rows)
    times = np.arange(rows) + random.integers(0, 20, rows)
    return pa.table({"ts": times, "k": random.integers(0, 5, rows), "v": random.integers(0, 9, rows)})


def read(table: pa.Table, live: bool) -> oop.Stream:
    def batches() -> Any:
        yield from table.to_batches(max_chunksize=20)

    return oop.source(batches if live else table, time="ts", punctuate=oop.slack(20, every=10))


def aggregated(live: bool) -> oop.Stream:
    return read(make_table(150), live).window(oop.tumbling(25)).group_by("k").agg(n=oop.count(), total=oop.sum("v"))


def joined(live: bool) -> oop.Stream:
    return read(make_table(70), live).join(read(make_table(60), live), on="k", within=(0, 20))


PLANS: dict[str, Callable[[bool], oop.Stream]] = {"aggregate": aggregated, "join": joined}
ENGINES: dict[str, dict[str, Any]] = {
    "one thread": {"threads": 1},
    "threads": {"threads": 3},
    "readers": {"threads": 1, "readers": True},
    "both": {"threads": 2, "readers": True},
    "small queues": {"threads": 2, "queue_rows": 20, "batch_rows": 10},
}
WAYS = ("table", "batches", "elements")


Found = pa.Table | pa.RecordBatch | oop.Punctuation
"""What a run hands over."""


def rows_of(found: Iterable[Found]) -> Counter[Any]:
    return bag([row for rows in found if not isinstance(rows, oop.Punctuation) for row in rows.to_pylist()])


def read_on(run: oop.Run, way: str, found: list[Found]) -> None:
    """Read to the end; what was read before something goes wrong is in ``found``.

    An interrupt in the code that reads a run is none of the run's: what the run has handed over, this must not lose.
    So whatever it hands over is noted by the same call into C that takes it, or by the next, before the interpreter
    looks for an interrupt.
    """
    if way == "table":
        found.append(run.to_table())
    else:
        found.extend(run if way == "batches" else run.elements())


@dataclass
class Trial:
    """One run, interrupted at its ``at``-th point: in the thread that reads it, or in the ``others`` that it has; of
    all points, or of those ``within`` the code of one function alone."""

    plan: str
    engine: str
    way: str
    at: int
    others: bool = False
    kind: type[BaseException] = Interrupt
    within: CodeType | None = None

    def __post_init__(self) -> None:
        self.points = 0
        self.where = ""
        self.outcome = "hangs"
        self.found: list[Found] = []

    def run(self) -> Trial:
        stream = PLANS[self.plan](ENGINES[self.engine].get("readers", False))
        self._run = stream.run(oop.Embedded(**ENGINES[self.engine]))
        reader = threading.Thread(target=self._read, daemon=True)
        threading.setprofile(self._look if self.others else None)
        try:
            reader.start()
            reader.join(_PATIENCE)
        finally:
            threading.setprofile(None)
        if self.outcome == "hangs":
            faulthandler.dump_traceback(all_threads=True)
        return self

    def _read(self) -> None:
        sys.setprofile(None if self.others else self._look)
        try:
            read_on(self._run, self.way, self.found)
            self.outcome = "whole"
        except (Interrupt, Fault):
            sys.setprofile(None)
            self._read_again()
        finally:
            sys.setprofile(None)

    def _read_again(self) -> None:
        try:
            read_on(self._run, "batches", self.found)
            self.outcome = "whole"
        except (oop.RunInterrupted, Fault):
            self.outcome = "refused"

    def _look(self, frame: FrameType, event: str, function: Any) -> None:
        if event not in ("call", "c_return") or (self.others and not _is_ours(frame, event)):
            return
        if self.within is not None and frame.f_code is not self.within:
            return
        self.points += 1
        if self.points == self.at:
            self.where = f"{frame.f_code.co_filename}:{frame.f_lineno}, {event} {function}"
            raise self.kind


def _is_ours(frame: FrameType | None, event: str) -> bool:
    """Not where Python itself begins or ends a thread: what is interrupted there is not ours."""
    frame = frame.f_back if frame is not None and event == "call" else frame
    while frame is not None:
        if frame.f_code.co_name in ("_work", "_read") and "engines" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def threads_of_runs() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("oop-")}


def threads_left(others: Set[threading.Thread] = frozenset()) -> list[str]:
    """The threads of runs, beside ``others``, that do not end; they were told to, but nobody waits for them."""
    until = time.monotonic() + 10
    while (left := threads_of_runs() - others) and time.monotonic() < until:
        time.sleep(0.002)
    return [thread.name for thread in left]


def watch_threads() -> Iterator[set[threading.Thread]]:
    """The threads of other tests, whose inputs may be silent for ever; none comes to them."""
    before = threads_of_runs()
    yield before
    gc.collect()
    assert threads_left(before) == []
