"""Counts the Python calls of one batch through ``source → filter → window → group_by → agg``, for a batch of 65,536
rows, and for one of a single row, as a live source may give it.

``python -m tests.calls.measure --store`` stores the counts that a test compares with. They hold for one version of
Python and of pyarrow, whose Python code is counted too.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa

import oop

STORED = Path(__file__).parent / "counts.json"
ROWS = 65_536
POLICIES = {"ordered": oop.ordered(), "slack": oop.slack(5)}


def batch(number: int, rows: int) -> pa.RecordBatch:
    """A batch of a stream in which every second batch closes a window of 1,000."""
    times = np.linspace(number * 500, number * 500 + 499, rows + 2)[1:-1].astype(np.int64)
    return pa.record_batch({"ts": times, "k": np.arange(rows) % 10, "v": np.arange(rows)})


def calls(policy: Any, rows: int) -> list[int]:
    """The calls of each of several batches, once a run is under way."""
    counts: list[int] = []
    made = [batch(number, rows) for number in range(10)]

    def count(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            counts[-1] += 1

    def batches() -> Iterator[pa.RecordBatch]:
        for number, each in enumerate(made):
            if number >= 4:
                counts.append(0)
                sys.setprofile(count)
            yield each
        sys.setprofile(None)

    stream = oop.source(batches(), schema=made[0].schema, time="ts", punctuate=policy)
    counted = stream.filter(oop.col("v") >= 0).window(oop.tumbling(1_000)).group_by("k").agg(n=oop.count())
    try:
        counted.run(engine=oop.Embedded(threads=1)).to_table()
    finally:
        sys.setprofile(None)
    return counts[:-1]  # without the last batch, with which the run ends


def measure() -> dict[str, int]:
    """The least calls among several batches of each kind. The name says the policy, and whether a batch closes a
    window."""
    found = {}
    for name, policy in POLICIES.items():
        counts = calls(policy, ROWS)
        found[f"{name}, closes a window"] = min(counts[0::2])
        found[f"{name}, closes nothing"] = min(counts[1::2])
        found[f"{name}, one row that closes nothing"] = min(calls(policy, 1)[1::2])
    return found


def made_with() -> str:
    return f"Python {platform.python_version()}, pyarrow {pa.__version__}"


if __name__ == "__main__":
    counts = measure()
    print(json.dumps(counts, indent=2))
    if "--store" in sys.argv:
        STORED.write_text(json.dumps({"made_with": made_with(), "calls": counts}, indent=2) + "\n", encoding="utf-8")
