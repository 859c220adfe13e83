"""How many Python functions of the operators a batch costs on its way into windows, and a window on its way out.

Only functions in `operators` are counted: those of kernels and promises are others' to hold.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa

import oop
from oop.operators.aggregate.aggregate import Aggregate
from oop.operators.core.context import Context
from oop.operators.windows.bucket import WID_START, Bucket, Grid
from oop.punctuation import Punctuation

GRID = Grid(1_000, 1_000)


def calls_of(act: Callable[[], Iterable[object]]) -> list[str]:
    """The functions that are called until all that it gives has been taken."""
    calls: list[str] = []

    def note(frame: Any, event: str, arg: Any) -> None:
        if event == "call" and "/oop/operators/" in frame.f_code.co_filename:
            calls.append(frame.f_code.co_qualname)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        list(act())
    finally:
        sys.setprofile(before)
    return calls


def rows(start: int) -> pa.RecordBatch:
    return pa.record_batch({"ts": np.arange(start, start + 500), "k": np.arange(500) % 10, "v": np.arange(500)})


def test_calls() -> None:
    bucket = Bucket("ts", GRID, "tumbling").start(Context([rows(0).schema]))
    (tagged,) = bucket.process_batch(rows(0))
    named = (("n", oop.count()), ("t", oop.sum("v")))
    window = Aggregate(("k",), named, GRID, "ts", pa.int64()).start(Context([tagged.schema]))
    for start in (0, 1_000):  # the second window knows how many groups to expect
        (tagged,) = bucket.process_batch(rows(start))
        list(window.process_batch(tagged))
        list(window.process_batch(tagged))
        found = [e for e in window.process_punctuation([Punctuation({WID_START: start // 1_000 + 1})]) if e]
        assert isinstance(found[0], pa.RecordBatch)
        assert found[0].num_rows == 10

    again, more = rows(2_000), rows(2_500)
    calls = calls_of(lambda: bucket.process_batch(again))
    assert len(calls) <= 2, calls
    (tagged,), (also,) = bucket.process_batch(again), bucket.process_batch(more)
    calls = calls_of(lambda: window.process_batch(tagged))  # makes the table of the window
    assert len(calls) <= 36, calls
    calls = calls_of(lambda: window.process_batch(also))
    assert len(calls) <= 19, calls
    calls = calls_of(lambda: window.process_punctuation([Punctuation({WID_START: 3})]))
    assert len(calls) <= 46, calls
