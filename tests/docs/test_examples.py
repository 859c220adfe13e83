"""Every example runs, and says what it should."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAYS = {
    "q1_union_count": [
        "00:00 – 00:01  6 packets",
        "00:03 – 00:04  2 packets",
        "promise: window_start < 120",
        "promise: END",
    ],
    "q9_sliding_count": ["124 windows", "agrees with a direct count: True", "panes held at the peak: 13"],
    "split_union": ["[1] Split len < 500 | else", "0 were late"],
    "netflow_two_times": ["00:00  3 flows, 60 bytes", "00:00  5 flows, 180 bytes", "0 late"],
    "group_wise": ["after batch 2: A [0, 10)  20.25", "after batch 4: B [0, 10)  30.5"],
}


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_example(path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)], capture_output=True, encoding="utf-8", env=environment, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert SAYS[path.stem], "say here what it must print"
    for said in SAYS[path.stem]:
        assert said in done.stdout
