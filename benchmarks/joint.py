"""How much sooner do groups on both times of a join come out by joint promises? Q3 (OOP paper, section 7): SYN packets
of one link are joined with the SYN-ACKs of another, and counted by both times, for several bands. The measure is stream
time: how far the inputs have come when a group is covered, by all promises of the join or by those about one time.

    python benchmarks/joint.py --full
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from _harness import at_least, options, repeated, report

import oop

BANDS = (1, 10, 60, 120)  # seconds
TICKS = 40  # of a band, the unit of times
ANSWER = 3  # ticks after which an answer comes at the latest
SHARE = at_least(0.9)  # of the band, by which groups come sooner


def measure(band: int, rows: int) -> dict[str, Any]:
    """Mean delay of a group behind its later time, in seconds."""
    random = np.random.default_rng(0)
    ticks = 4 * TICKS
    calls = np.sort(random.integers(0, ticks, rows // 2))
    answers = calls + random.integers(1, ANSWER + 1, len(calls))
    hosts = np.arange(len(calls))  # each call is answered once
    now = [0, 0]
    left, right = (
        oop.source(_arrive(now, side, times, hosts, ticks + ANSWER), time="ts", punctuate=oop.ordered(), schema=_SCHEMA)
        for side, times in enumerate((calls, answers))
    )
    # RANGE is the band on both sides, and the SYN comes before the SYN-ACK
    pairs = left.join(right, on="host", within=(-TICKS, TICKS), where=oop.col("ts") < oop.col("ts_right"))
    delays = _delays(pairs.select("ts", "ts_right").run(engine=oop.Embedded(threads=1)).elements(), now)
    # without groups that the end covers before a promise can
    means = (np.mean([delay for g, delay in found.items() if max(g) < ticks - TICKS]) for found in delays)
    joint, individual = (float(mean) * band / TICKS for mean in means)
    return {"joint": joint, "individual": individual}


_SCHEMA = pa.schema([("ts", pa.int64()), ("host", pa.int64())])


def _arrive(now: list[int], side: int, times: np.ndarray, hosts: np.ndarray, end: int) -> Iterator[pa.RecordBatch]:
    """The rows of each tick as a batch, which may be empty, so that both links stay in step."""
    order = np.argsort(times, kind="stable")
    times, hosts = times[order], hosts[order]
    starts = np.searchsorted(times, np.arange(end + 2))
    for tick in range(end + 1):
        now[side] = tick
        rows = slice(starts[tick], starts[tick + 1])
        yield pa.record_batch([pa.array(times[rows]), pa.array(hosts[rows])], schema=_SCHEMA)


def _delays(elements: Iterator[Any], now: list[int]) -> list[dict[tuple[int, int], int]]:
    """The delay after which each group was covered: by all promises, and by those about one time."""
    waiting: list[set[tuple[int, int]]] = [set(), set()]
    delays: list[dict[tuple[int, int], int]] = [{}, {}]
    for element in elements:
        if not isinstance(element, oop.Punctuation):
            groups = set(zip(*(column.to_pylist() for column in element.columns), strict=True))
            for known, found in zip(waiting, delays, strict=True):
                known |= groups - found.keys()
            continue
        for which, known in enumerate(waiting):
            if which == 1 and len(element.below) > 1:
                continue
            covered = {g for g in known if element.matches({"ts": g[0], "ts_right": g[1]})}
            known -= covered
            delays[which].update({g: min(now) - max(g) for g in covered})
    return delays


if __name__ == "__main__":
    chosen = options(__doc__ or "", rows=4_000, repeat=1, full=40_000)
    results = []
    for band in BANDS:
        if not chosen.wants(f"band {band} s"):
            continue
        runs = repeated("joint", chosen, measure, band=band, rows=chosen.rows)
        sooner = runs[0]["individual"] - runs[0]["joint"]
        shown = {name: round(runs[0][name], 2) for name in ("joint", "individual")}
        results.append(
            {"case": f"band {band} s", **shown, "sooner": round(sooner, 2), "ratio": round(sooner / band, 3)}
            | SHARE.judge(sooner / band)
        )
    report("joint", chosen, results)
