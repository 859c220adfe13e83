"""Every example runs, and says what it should."""

import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAYS = {
    "q1_union_count": [
        "00:00 – 00:01  6 packets",
        "00:03 – 00:04  2 packets",
        "promise: window_start < 120",
        "promise: END",
    ],
    "q2_sliding_join": ["ranges 3min, 2min", " 17 at 00:01, as a destination at 02:19", "19,697 pairs of 10,000 rows"],
    "q3_connections": [
        "ranges 2min, 2min where ts < ts_right",
        "called at 00:00, answered at 00:01: 4",
        "8,006 groups",
    ],
    "q4_count_pairs": ["00:00  177 → 382  3 packets", "of 50,000 packets; the link had 50,000"],
    "q5_union_pairs": ["00:01  46 → 38  38 packets", "5,000 groups of 99,000 packets"],
    "q6_window_join": ["in tumbling 10s", "00:00.012863   7 → 0", "20,424 pairs of 39,600 rows"],
    "q7_band_join_count": ["within -1s … 1s closed left", "n = 1s   00:00 1,972, 00:01 1,863", "n = 20s  00:00 38,200"],
    "q8_equality_join": ["within 0 … 0", "00:00  0 → 2", "2,025 pairs of 20,000 rows"],
    "q9_sliding_count": ["124 windows", "agrees with a direct count: True", "panes held at the peak: 14"],
    "split_union": ["[1] Split len < 500 | else", "0 were late"],
    "netflow_two_times": ["00:00  3 flows, 60 bytes", "00:00  5 flows, 180 bytes", "0 late"],
    "spark_same_answer": [
        "00:00:20  embedded 3,218  Spark 3,218",
        "late in Main2: embedded 564, Spark 564",
        "the same answer: True",
    ],
    "spark_channels": ["800 of 800 rows counted, 0 late", "600 of 800 rows counted, 200 dropped"],
    "spark_checkpoint": [
        "stopped after some of the windows: True",
        "in the end: 120 windows, 120 different ones",
        "the same answer as without a stop: True",
        "refused: the checkpoint was written with shards=1, and there are 3 now",
    ],
    "group_wise": ["after batch 2: A [0, 10)  20.25", "after batch 4: B [0, 10)  30.5"],
}


def examples(spark: bool) -> list[Path]:
    return sorted(p for p in (ROOT / "examples").glob("*.py") if p.stem.startswith("spark_") == spark)


def check(name: str, printed: str) -> None:
    assert SAYS[name], "say here what it must print"
    for said in SAYS[name]:
        assert said in printed


@pytest.mark.parametrize("path", examples(spark=False), ids=lambda path: path.stem)
def test_example(path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)], capture_output=True, encoding="utf-8", env=environment, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    check(path.stem, done.stdout)


@pytest.mark.parametrize("path", examples(spark=True), ids=lambda path: path.stem)
def test_example_on_spark(path: Path, spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """In this process, where there is a session: another one takes longer than the example."""
    runpy.run_path(str(path), run_name="__main__")
    check(path.stem, capsys.readouterr().out)
