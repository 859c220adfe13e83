from pathlib import Path

import pytest

import oop
from oop.cli import command, demo
from oop.cli.command import main

PLAN = """
import pyarrow as pa
import oop
from neighbour import WINDOW

north = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=oop.ordered(), name="north")
cars = north.window(WINDOW).agg(cars=oop.count())
if __name__ == "__main__":
    raise SystemExit("explain must not run the file as a script")
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    (tmp_path / "neighbour.py").write_text("import oop\nWINDOW = oop.tumbling(60)\n")
    (tmp_path / "plan.py").write_text(PLAN)
    return tmp_path / "plan.py"


def test_explain_one(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", f"{plan}:cars"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0 if i == 0 else 1] for i, line in enumerate(lines)] == ["Aggregate", "Bucket", "Source"]


def test_explain_all(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(plan)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("north:\nSource north")
    assert "\n\ncars:\nAggregate" in out


@pytest.mark.parametrize(
    ("target", "says"),
    [("{plan}:trucks", "no stream called 'trucks'; it has north, cars"), ("{plan}x", "no such file")],
)
def test_explain_errors(plan: Path, target: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", target.format(plan=plan)]) == 1
    err = capsys.readouterr().err
    assert says in err
    assert "Traceback" not in err


def test_errors_in_the_file_of_a_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(
        "import oop, pyarrow as pa\noop.source(pa.table({'ts': [1]}), time='tz', punctuate=oop.ordered())\n"
    )
    assert main(["explain", str(path)]) == 1
    assert "UnknownColumn: no column 'tz'" in capsys.readouterr().err


def test_no_streams(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "empty.py"
    path.write_text("x = 1\n")
    assert main(["explain", str(path)]) == 1
    assert "no stream at its top level" in capsys.readouterr().err


def test_bench_outside_of_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "__file__", str(tmp_path / "oop" / "cli" / "command.py"))
    assert main(["bench"]) == 1
    assert "not part of an installed oop" in capsys.readouterr().err


NAMES = [
    "batches",
    "bsort",
    "dedup",
    "disorder",
    "first_result",
    "g1",
    "group_promises",
    "hybrid",
    "in_order",
    "joins",
    "joint",
    "live",
    "peers",
    "release",
    "row_windows",
    "sessions",
    "spark",
    "state",
    "kernels",
    "threads",
    "user_aggregate",
]


def test_bench_list_and_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--list"]) == 0
    assert capsys.readouterr().out.split() == NAMES
    assert main(["bench", "speed"]) == 1
    assert "there are " + ", ".join(NAMES) in capsys.readouterr().err


def test_bench_runs_and_passes_the_exit_code_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "quick.py").write_text("print('ran')")
    (folder / "failing.py").write_text("raise SystemExit(3)")
    monkeypatch.setattr(command, "__file__", str(tmp_path / "oop" / "cli" / "command.py"))
    assert main(["bench", "quick"]) == 0
    assert "ran" in capfd.readouterr().out
    assert main(["bench"]) == 3


@pytest.mark.parametrize("command", [[], ["demo"], ["explain"], ["bench"]])
def test_help(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([*command, "--help"])
    assert left.value.code == 0
    assert "usage: oop" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"oop {oop.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["demo", "--rows", "0"]])
def test_usage_errors(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2


def test_demo_gets_its_options(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []
    monkeypatch.setattr(demo, "run_demo", lambda *arguments: given.append(arguments) or 0)
    assert main(["demo", "--rows", "100", "--seed", "7", "--quiet"]) == 0
    assert main(["demo", "--no-spark"]) == 0
    assert given == [(100, 7, True, True), (4_000_000, 0, False, False)]
