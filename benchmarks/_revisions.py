"""Is this checkout slower than another revision? Each way of ours in the benchmarks, in turn with the same way there.

    python benchmarks/_revisions.py REVISION                          # a commit, checked out and built in a new folder
    python benchmarks/_revisions.py FOLDER --only joins --repeat 9    # a checkout whose C kernels are built

Both sides run the functions of this checkout's benchmarks, each in a fresh process, on the same rows, so only the
package differs; it must have the public names that the benchmark uses. `best` is the best rate here divided by the best
rate there, since what else a machine does can only slow a run down; `median` is that of the ratios within each round,
with the quartiles beside it. Above 1 this checkout is faster.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import _fresh

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("peers", "joins", "batches", "in_order", "g1", "sessions", "live")
PEERS = ("duckdb", "polars", "scatter-add")  # contenders that do not run our package
G1 = {"groups": 260_000, "size": 2, "ring": 1 << 16}


@contextmanager
def checkout(then: str) -> Iterator[Path]:
    """The folder of the other side, with its C kernels built."""
    if Path(then).is_dir():
        yield Path(then).resolve()
        return
    with TemporaryDirectory(prefix="oop-then-") as folder:
        path = Path(folder) / "oop"
        subprocess.run(["git", "clone", "-q", "-n", str(ROOT), str(path)], check=True)
        subprocess.run(["git", "-C", str(path), "checkout", "-q", "--detach", then], check=True)
        build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        subprocess.run(build, cwd=path, check=True, capture_output=True)
        yield path


def tasks(name: str, rows: int, folder: Path) -> Iterator[tuple[str, Any]]:
    """What is timed, by name: each gets a way to call a function in a fresh process, and gives a rate."""
    module = importlib.import_module(name)
    if name == "g1":
        for how in (module.IOP, module.SLOW, module.LAZY):
            given = {"how": how, **G1, "seconds": min(rows / 1e6, 2.4), **module.FULL}
            yield how, lambda call, given=given: call(module.measure, **given)["rate"]
        return
    data: dict[Any, Path] = {}
    for case in module.cases(rows):
        for title, contender in case.contenders.items():
            if title in PEERS:
                continue
            if contender.workload not in data:
                data[contender.workload] = folder / f"{name}{len(data)}.arrow"
                contender.workload.write(data[contender.workload])
            yield f"{case.name}: {title}", partial(_rate, contender, data[contender.workload])


def _rate(contender: Any, path: Path, call: Any) -> float:
    found = contender.run(call, path)
    return float(found["rows"] / found["seconds"])


def compare(then: Path, names: list[str], rows: int, repeat: int) -> Iterator[dict[str, Any]]:
    sides = [partial(_fresh.call, folder=folder) for folder in (ROOT, then)]
    for name in names:
        with TemporaryDirectory(prefix="oop-bench-") as folder:
            for title, rate in tasks(name, rows, Path(folder)):
                rates: tuple[list[float], list[float]] = [], []
                for round_ in range(repeat):
                    for side in (0, 1) if round_ % 2 else (1, 0):  # each is first in every second round
                        rates[side].append(rate(sides[side]))
                ratios = [here / there for here, there in zip(*rates, strict=True)]
                low, median, high = statistics.quantiles(ratios, n=4) if repeat > 1 else ratios * 3
                best = max(rates[0]) / max(rates[1])
                found = {"best": best, "median": median, "low": low, "high": high}
                yield {"benchmark": name, "case": title, **{k: round(v, 3) for k, v in found.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("then", metavar="REVISION", help="a commit, or the folder of a checkout")
    parser.add_argument("--only", action="append", choices=NAMES, help="only this benchmark (default: all)")
    parser.add_argument("--rows", type=int, default=4_000_000, help="rows of a run (default: 4,000,000)")
    parser.add_argument("--repeat", type=int, default=5, help="rounds (default: 5)")
    given = parser.parse_args()
    with checkout(given.then) as then:
        for found in compare(then, given.only or [*NAMES], given.rows, given.repeat):
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
