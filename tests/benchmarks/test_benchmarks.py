"""Every benchmark runs at a tiny size, and its contenders agree."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks"
SCRIPTS = sorted(p.stem for p in FOLDER.glob("*.py") if not p.stem.startswith(("_", "test_")))
# contenders in the script's own process, where fresh ones would take long
HERE = {
    "peers",
    "batches",
    "spark",
    "hybrid",
    "group_promises",
    "bsort",
    "in_order",
    "sessions",
    "joint",
    "row_windows",
    "live",
}
SLOW = {"spark"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in SCRIPTS])
def test_benchmark(name: str) -> None:
    command = [sys.executable, str(FOLDER / f"{name}.py"), "--rows", "20000", "--repeat", "1"]
    where = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*command, *(["--here"] if name in HERE else [])], env=where, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["benchmark"] == name
    assert said["context"]["rows"] == 20_000
    assert {"oop", "kernels", "pyarrow", "duckdb", "polars", "processor", "cores"} <= said["context"].keys()
    assert said["results"]
    assert any(result["target"] for result in said["results"])
    for result in said["results"]:
        assert result["ratio"] >= 0
        assert result["case"]
        assert (result["target"] is None) == (result["met"] is None)
    groups: dict[str, set[int]] = {}
    for run in said.get("runs", []):
        assert run["rows_per_second"] > 0
        groups.setdefault(run["case"], set()).add(run["groups"])
    assert all(len(found) == 1 for found in groups.values())


@pytest.mark.parametrize(
    ("check", "says"),
    [
        ({"rows": 9, "groups": 4}, "b counted 9 of 10 rows"),
        ({"rows": 10, "groups": 5}, "b has groups = 5, others have 4"),
        ({"rows": 10}, None),  # computes less, and that is right
    ],
)
def test_a_wrong_answer_is_an_error(monkeypatch: pytest.MonkeyPatch, check: dict[str, int], says: str | None) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    harness = importlib.import_module("_harness")
    measured = {"a": [{"rows": 10, "check": {"rows": 10, "groups": 4}}], "b": [{"rows": 10, "check": check}]}
    case = harness.Case("case", {}, [])
    if says is None:
        harness._check(case, measured)
    else:
        with pytest.raises(SystemExit, match=says):
            harness._check(case, measured)


def test_a_failure_in_a_fresh_process_is_an_error() -> None:
    command = [sys.executable, str(FOLDER / "_fresh.py"), "_contenders", "measure", '{"path": "nowhere.arrow"}']
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode != 0
    assert "nowhere.arrow" in done.stderr


def test_revisions_are_compared_in_fresh_processes() -> None:
    """A checkout against itself: every way of ours, and no peer, has a ratio."""
    command = [sys.executable, str(FOLDER / "_revisions.py"), str(ROOT), "--only", "joins", "--rows", "20000"]
    where = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*command, "--repeat", "2"], env=where, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    ways = [json.loads(line) for line in done.stdout.splitlines()]
    assert [found["case"].partition(": ")[0] for found in ways] == 2 * ["band join and count"]
    assert [found["case"].partition(": ")[2] for found in ways] == ["oop", "oop, four key columns"]
    for found in ways:
        assert found.keys() == {"benchmark", "case", "best", "median", "low", "high"}
        assert 0 < found["low"] <= found["median"] <= found["high"]
