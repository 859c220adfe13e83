"""What does disorder cost? Count by (src, dst) per window of 1 s: in order, and with 10 % and 50 % of the rows late by
up to 2 s. All in one run, so that the ratios mean something where the times alone do not.

    python benchmarks/disorder.py --rows 400000 --repeat 5
"""

import argparse
import json
import os
import platform
import statistics
import sys
from datetime import UTC, datetime
from time import perf_counter

import numpy as np
import pyarrow as pa

import oop
from oop.kernels import dispatch

SECOND = 1_000_000
LATE_BY = 2 * SECOND
SHARES = {"in order": 0.0, "10 % disorder": 0.1, "50 % disorder": 0.5}
BAND = 0.05  # ratios this close to 1 are no difference


def generate(rows: int, share: float, seed: int = 0) -> pa.Table:
    """The same packets for every share, in another order of arrival."""
    random = np.random.default_rng(seed)
    times = np.arange(rows) * (60 * SECOND) // rows
    keys = random.integers(0, 500, (2, rows), np.int32)
    at = times + np.where(random.random(rows) < share, random.integers(0, LATE_BY, rows), 0)
    order = np.argsort(at, kind="stable")
    columns = {"ts": pa.array(times[order]).view(pa.timestamp("us")), "src": keys[0][order], "dst": keys[1][order]}
    return pa.table(columns)


def measure(packets: pa.Table) -> tuple[float, int]:
    """Seconds of one run, and the rows that it counted."""
    stream = oop.source(packets, time="ts", punctuate=oop.slack("2s"))
    counted = stream.window(oop.tumbling("1s")).group_by("src", "dst").agg(n=oop.count())
    begin = perf_counter()
    rows = sum(batch["n"].to_numpy().sum() for batch in counted.run())
    return perf_counter() - begin, int(rows)


def run(rows: int, repeat: int) -> dict[str, object]:
    from rich.console import Console
    from rich.progress import track

    tables = {name: generate(rows, share) for name, share in SHARES.items()}
    seconds: dict[str, list[float]] = {name: [] for name in SHARES}
    console = Console(stderr=True)
    for _ in track(range(repeat), "disorder", console=console, transient=True, disable=not console.is_terminal):
        for name, packets in tables.items():  # interleaved: a busy moment of the machine hits all
            taken, counted = measure(packets)
            if counted != rows:
                raise SystemExit(f"{name}: {counted} of {rows} rows were counted")
            seconds[name].append(taken)
    base = seconds["in order"]
    ratios = {
        name: statistics.median(b / t for b, t in zip(base, taken, strict=True)) for name, taken in seconds.items()
    }
    return {
        "benchmark": "disorder",
        "context": context(rows, repeat),
        "results": [
            {
                "case": name,
                "rows_per_second": round(rows / statistics.median(taken)),
                "throughput_against_in_order": round(ratios[name], 3),
                "changed": abs(ratios[name] - 1) > BAND,
            }
            for name, taken in seconds.items()
        ],
    }


def context(rows: int, repeat: int) -> dict[str, object]:
    """What the numbers depend on."""
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "oop": oop.__version__,
        "kernels": dispatch.kernels().name,
        "python": platform.python_version(),
        "pyarrow": pa.__version__,
        "numpy": np.__version__,
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "rows": rows,
        "repeat": repeat,
    }


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rows", type=int, default=400_000, help="packets in each case (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each case (default: %(default)s)")
    arguments = parser.parse_args(argv)
    json.dump(run(arguments.rows, arguments.repeat), sys.stdout, indent=2, ensure_ascii=False)
    print()


if __name__ == "__main__":
    main()
