"""How long is an input left unread while a window of many groups goes out? The pause must not grow with the window.

python benchmarks/release.py --full
"""

from collections.abc import Iterator
from time import thread_time
from typing import Any

import numpy as np
import pyarrow as pa
from _harness import at_most, limited, options, repeated, report

import oop

LIMIT = at_most(2)
GROUPS = 500_000  # and four times as many
BATCH = 65_536


class Lively:
    """An input that always has rows waiting: first a window of many groups, then single rows of the next window until
    the first is out. ``pause`` is the thread's longest processor time between two of these later reads."""

    def __init__(self, groups: int) -> None:
        self.keys = np.arange(groups)
        self.waiting = True
        self.left = groups
        self.pause = 0.0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for start in range(0, len(self.keys), BATCH):
            keys = self.keys[start : start + BATCH]
            yield pa.record_batch({"ts": np.zeros(len(keys), np.int64), "k": keys, "x": keys % 1_000})
        while self.left > 0:
            looked = thread_time()
            yield pa.record_batch({"ts": [10], "k": [0], "x": [0]})
            self.pause = max(self.pause, thread_time() - looked)


def measure(groups: int) -> dict[str, Any]:
    for few in (min(groups, 1_000), groups):  # a small run first, to warm up
        lively = Lively(few)
        stream = oop.source(lively, time="ts", punctuate=oop.ordered(), schema=_SCHEMA)
        counted = stream.window(oop.tumbling(10)).group_by("k").agg(n=oop.count(), x=oop.sum("x"))
        for batch in counted.run(oop.Embedded(threads=1)):
            lively.left -= batch.num_rows
    return {"seconds": lively.pause}


_SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.int64(), "x": pa.int64()})

if __name__ == "__main__":
    chosen = options(__doc__ or "", rows=GROUPS, repeat=3, full=GROUPS)
    runs = {n: repeated("release", chosen, measure, groups=n) for n in (chosen.rows, 4 * chosen.rows)}
    few, many = ([run["seconds"] for run in found] for found in runs.values())
    growth = [b / a for a, b in zip(few, many, strict=True)]
    results = [limited("longest pause, four times the groups", growth, LIMIT, "growth")]
    report(
        "release",
        chosen,
        results,
        pauses=[{"groups": n, "seconds": min(r["seconds"] for r in f)} for n, f in runs.items()],
    )
