"""How many bytes does a group take? Count by an 8-byte key, with a million groups in one window: the bytes of state
that the engine reports at its peak, and the growth of the process just before the window closes.

    python benchmarks/state.py --full
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from _contenders import WARM_UP_ROWS
from _harness import at_most, limited, options, repeated, report
from _workload import BATCH_ROWS

import oop

LIMIT = at_most(64)
ROWS = 2_000_000  # two rows of each group
SETTLE = 0.2  # seconds for threads to finish the batches that they were handed


class Feed:
    """Batches that stay alive, so that only state makes the process grow. The growth is measured after the last
    batch."""

    def __init__(self, batches: list[pa.RecordBatch]) -> None:
        self.batches = batches
        self.grown = 0

    def __call__(self) -> Iterator[pa.RecordBatch]:
        before = resident()
        yield from self.batches
        time.sleep(SETTLE)
        self.grown = resident() - before


def resident() -> int:
    """Bytes of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def release_heap() -> None:
    """Give freed memory back, since state that reuses it would not make the process grow."""
    with contextlib.suppress(AttributeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)


def measure(groups: int) -> dict[str, Any]:
    """The state and the growth for a count of keys, each of which comes twice, in random order."""
    random = np.random.default_rng(0)
    keys = random.permutation(np.repeat(_keys(random, groups), 2))
    table = pa.table({"ts": np.arange(len(keys)), "key": keys})
    _count(Feed(table.slice(0, WARM_UP_ROWS).to_batches()), table.schema)
    feed = Feed(table.to_batches(max_chunksize=BATCH_ROWS))
    gc.collect()
    pa.default_memory_pool().release_unused()
    release_heap()
    run, found = _count(feed, table.schema)
    if found != groups:
        raise SystemExit(f"{found} of {groups} groups came out")
    return {"groups": groups, "state": sum(b.peak_state_bytes for b in run.metrics.boxes), "grown": feed.grown}


def _keys(random: np.random.Generator, groups: int) -> np.ndarray:
    """``groups`` different numbers that use all of their 8 bytes."""
    drawn = np.unique(random.integers(-(2**63), 2**63 - 1, groups + groups // 100 + 10))
    return random.permutation(drawn)[:groups]


def _count(feed: Feed, schema: pa.Schema) -> tuple[oop.Run, int]:
    stream = oop.source(feed, time="ts", punctuate=oop.ordered(), schema=schema)
    run = stream.window(oop.tumbling(1_000_000_000)).group_by("key").agg(n=oop.count()).run()
    return run, sum(batch.num_rows for batch in run)


if __name__ == "__main__":
    chosen = options(__doc__ or "", rows=ROWS, repeat=1, full=ROWS)
    groups = chosen.rows // 2
    runs = repeated("state", chosen, measure, groups=groups)
    results = [
        limited(case, [run[key] / groups for run in runs], LIMIT, "bytes_per_group")
        for case, key in (("state_bytes", "state"), ("growth of the process", "grown"))
    ]
    report("state", chosen, results, groups=groups)
