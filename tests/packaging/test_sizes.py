"""Files stay short enough to be read: a file that outgrows 400 lines holds two ideas."""

from __future__ import annotations

from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("benchmarks", "csrc", "examples", "kernels", "oop", "operators", "punctuation", "scripts", "tests")
MOST_LINES = 400
MOST_IN_THE_MIDDLE = 130
"""The median of the files of `operators/`, most of which have one operator or one thing that operators share."""


def lengths(*folders: str) -> dict[str, int]:
    """The lines of each source, without what symlinks show a second time."""
    found = {}
    for folder in folders:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".c", ".h"):
                found[str(path.relative_to(ROOT))] = len(path.read_text(encoding="utf-8").splitlines())
    return found


def test_no_file_is_long() -> None:
    long = {path: lines for path, lines in lengths(*FOLDERS).items() if lines > MOST_LINES}
    assert not long, f"more than {MOST_LINES} lines: {long}"


def test_a_file_of_an_operator_is_short() -> None:
    found = [lines for path, lines in lengths("operators").items() if not path.endswith("__init__.py")]
    assert median(found) <= MOST_IN_THE_MIDDLE


def test_the_files_are_found() -> None:
    found = lengths(*FOLDERS)
    assert {"operators/core/operator.py", "csrc/ring.c", "tests/packaging/test_sizes.py"} <= found.keys()
    assert not any(path.startswith("oop/operators/") for path in found)
