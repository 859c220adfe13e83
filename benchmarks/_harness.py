"""What the benchmarks share: options, alternating runs in fresh processes, ratios, targets, and a run's context."""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import _fresh
from _contenders import Setup, measure
from _workload import Workload

import oop
from oop.kernels import dispatch

FULL_ROWS = 8_000_000
FULL_REPEAT = 5

Run = dict[str, Any]
Call = Callable[..., Run]


@dataclass(frozen=True)
class Target:
    sign: str
    limit: float

    def judge(self, value: float) -> dict[str, object]:
        met = value >= self.limit if self.sign == ">=" else value <= self.limit
        return {"target": f"{self.sign} {self.limit:g}", "met": met}


def at_least(limit: float) -> Target:
    return Target(">=", limit)


def at_most(limit: float) -> Target:
    return Target("<=", limit)


@dataclass(frozen=True)
class Contender:
    """A contender to be timed: its data, and the options of `Setup` that differ from the defaults."""

    workload: Workload
    options: Mapping[str, Any] = field(default_factory=dict)

    def run(self, call: Call, path: Path) -> Run:
        return call(measure, **asdict(Setup(str(path), window=self.workload.window, **self.options)))


class Task:
    """Another task to be timed: its data, and the function that times it, which is given the data's path and the
    arguments."""

    def __init__(self, workload: Any, function: Call, **arguments: Any) -> None:
        self.workload, self.function, self.arguments = workload, function, arguments

    def run(self, call: Call, path: Path) -> Run:
        return call(self.function, path=str(path), **self.arguments)


@dataclass(frozen=True)
class Ratio:
    """The throughput of one contender divided by that of another, and the target for it."""

    of: str
    to: str
    target: Target | None = None


@dataclass(frozen=True)
class Case:
    """Contenders that run in turn on the same rows, though perhaps in another order. Their answers must be the same."""

    name: str
    contenders: Mapping[str, Contender | Task]
    ratios: Sequence[Ratio]
    limits: Mapping[str, tuple[str, Target]] = field(default_factory=dict)  # by figure: its contender, and its target


@dataclass(frozen=True)
class Options:
    """The options of the command line. ``call`` runs a function, in a fresh process unless a test runs it in its
    own."""

    rows: int
    repeat: int
    only: Sequence[str]
    call: Call

    def wants(self, name: str) -> bool:
        return not self.only or any(text in name for text in self.only)


def options(text: str, rows: int, repeat: int, full: int = FULL_ROWS) -> Options:
    """Read the command line. ``rows`` and ``repeat`` are the small defaults, ``full`` the rows for which targets
    hold."""
    parser = argparse.ArgumentParser(description=text.partition("\n\n")[0])
    parser.add_argument("--rows", type=int, help=f"rows of a run (default: {rows:,})")
    parser.add_argument("--repeat", type=int, help=f"runs of each contender (default: {repeat})")
    parser.add_argument(
        "--full", action="store_true", help=f"{full:,} rows and {FULL_REPEAT} runs, as the targets mean"
    )
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="only cases with this in the name")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.full:
        rows, repeat = full, FULL_REPEAT
    call = _call_here if given.here else _fresh.call
    return Options(given.rows or rows, given.repeat or repeat, given.only, call)


def _call_here(function: Call, **arguments: Any) -> Run:
    return function(**arguments)


def compare(name: str, chosen: Options, cases: Sequence[Case]) -> None:
    """Run the cases and print the results."""
    known, cases = cases, [case for case in cases if chosen.wants(case.name)]
    if not cases:
        raise SystemExit(f"no such case; there are: {'; '.join(case.name for case in known)}")
    runs: list[dict[str, object]] = []
    results: list[dict[str, object]] = []
    tell = _Progress(name, sum(len(case.contenders) for case in cases) * chosen.repeat)
    with TemporaryDirectory(prefix="oop-bench-") as folder, tell:
        paths: dict[Workload, Path] = {}
        for case in cases:
            for contender in case.contenders.values():
                if contender.workload not in paths:
                    paths[contender.workload] = Path(folder) / f"{len(paths)}.arrow"
                    contender.workload.write(paths[contender.workload])
            measured: dict[str, list[Run]] = {title: [] for title in case.contenders}
            for _ in range(chosen.repeat):
                for title, contender in case.contenders.items():  # in turn: a busy moment hits all
                    measured[title].append(contender.run(chosen.call, paths[contender.workload]))
                    tell()
            _check(case, measured)
            runs += [_run(case.name, title, found) for title, found in measured.items()]
            results += [_ratio(case.name, ratio, measured) for ratio in case.ratios]
            for unit, (title, target) in case.limits.items():
                results.append(limited(case.name, [run[unit] for run in measured[title]], target, unit))
    report(name, chosen, results, runs=runs)


def _check(case: Case, measured: Mapping[str, Sequence[Run]]) -> None:
    """Check that all answers agree. A contender that computes less is held only to the figures that it has."""
    known: dict[str, float] = {}
    for title, found in measured.items():
        for run in found:
            if run["check"]["rows"] != run["rows"]:
                raise SystemExit(f"{case.name}: {title} counted {run['check']['rows']} of {run['rows']} rows")
            for what, value in run["check"].items():
                if not math.isclose(known.setdefault(what, value), value, rel_tol=1e-9):
                    raise SystemExit(f"{case.name}: {title} has {what} = {value}, others have {known[what]}")


def _rate(run: Run, which: str = "seconds") -> float:
    return run["rows"] / run[which]


def _run(case: str, title: str, found: Sequence[Run]) -> dict[str, object]:
    return {
        "case": case,
        "contender": title,
        "rows": found[0]["rows"],
        "groups": found[0]["check"]["groups"],
        "seconds": round(statistics.median(run["seconds"] for run in found), 4),
        "first_seconds": round(statistics.median(run["first_seconds"] for run in found), 4),
        "rows_per_second": round(statistics.median(map(_rate, found))),
        **{key: found[-1][key] for key in ("peak_state_bytes", "note") if key in found[-1]},
    }


def _ratio(case: str, ratio: Ratio, measured: Mapping[str, Sequence[Run]]) -> dict[str, object]:
    of, to = ([_rate(run) for run in measured[name]] for name in (ratio.of, ratio.to))
    value = statistics.median(a / b for a, b in zip(of, to, strict=True))
    first_of, first_to = ([_rate(run, "first_seconds") for run in measured[name]] for name in (ratio.of, ratio.to))
    return {
        "case": case,
        "of": ratio.of,
        "to": ratio.to,
        "ratio": round(value, 3),
        "ratio_of_medians": round(statistics.median(of) / statistics.median(to), 3),
        "first_run_ratio": round(statistics.median(a / b for a, b in zip(first_of, first_to, strict=True)), 3),
        **({"target": None, "met": None} if ratio.target is None else ratio.target.judge(value)),
    }


def limited(case: str, values: Sequence[float], target: Target, unit: str) -> dict[str, object]:
    """The result for a figure with a limit; its ratio is the share of the limit that it takes."""
    value = statistics.median(values)
    return {"case": case, unit: round(value, 4), "ratio": round(value / target.limit, 3), **target.judge(value)}


def repeated(name: str, chosen: Options, function: Call, **arguments: Any) -> list[Run]:
    """Call a function as often as the options say, with a progress bar."""
    with _Progress(name, chosen.repeat) as tell:
        found = []
        for _ in range(chosen.repeat):
            found.append(chosen.call(function, **arguments))
            tell()
    return found


def report(name: str, chosen: Options, results: Sequence[Mapping[str, object]], **more: object) -> None:
    json.dump(
        {"benchmark": name, "context": context(chosen), **more, "results": results},
        sys.stdout,
        indent=2,
        ensure_ascii=False,
    )
    print()


def context(chosen: Options) -> dict[str, object]:
    """The facts that the numbers depend on: versions, machine, options."""
    packages = ("pyarrow", "numpy", "numba", "duckdb", "polars")
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "oop": oop.__version__,
        "kernels": dispatch.kernels().name,
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "rows": chosen.rows,
        "repeat": chosen.repeat,
    }


def _processor() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)


class _Progress:
    """A bar on a terminal; called once for each run that is done."""

    def __init__(self, name: str, total: int) -> None:
        from rich.console import Console
        from rich.progress import Progress

        console = Console(stderr=True)
        self.bar = Progress(console=console, transient=True, disable=not console.is_terminal)
        self.task = self.bar.add_task(name, total=total)

    def __enter__(self) -> _Progress:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def __call__(self) -> None:
        self.bar.advance(self.task)
