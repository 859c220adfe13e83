"""A sink changes nothing of a file but its content: not its link, mode or owner. It leaves nothing beside it."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import oop
from oop.errors import SinkError
from oop.io.replacing import Replacement, sweep
from oop.io.sinks import DirectorySink, open_sink

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = pa.schema({"ts": pa.int64()})
BATCH = pa.record_batch({"ts": [1, 2, 3]})


def write(path: Path | str) -> None:
    sink = open_sink(path, SCHEMA)
    sink.write(BATCH)
    sink.close()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    target, link, outer = tmp_path / "far" / "target.csv", tmp_path / "link.csv", tmp_path / "outer.csv"
    link.symlink_to(target)
    outer.symlink_to(link.name)
    write(outer)  # there is no target yet
    assert link.is_symlink() and outer.is_symlink() and not target.is_symlink()
    before = target.stat().st_ino
    write(outer)
    assert link.readlink() == target and outer.is_symlink()
    assert target.stat().st_ino != before and "3" in target.read_text()
    assert hidden(tmp_path) == hidden(tmp_path / "far") == []


@pytest.mark.parametrize("wanted", [0o600, 0o640, 0o664, 0o400])
def test_the_mode_stays(tmp_path: Path, wanted: int) -> None:
    path = tmp_path / "out.arrow"
    path.touch()
    path.chmod(wanted)
    sink = open_sink(path, SCHEMA)
    sink.write(BATCH)
    assert mode(next(tmp_path.glob(".*.tmp"))) == 0o600, "nobody else may read it meanwhile"
    sink.close()
    assert mode(path) == wanted


def test_a_new_file_has_the_mode_that_new_files_have(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "out.arrow")
    finally:
        os.umask(before)
    assert mode(tmp_path / "out.arrow") == 0o640


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give files away")
def test_owner_and_group_stay(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.touch()
    path.chmod(0o640)
    os.chown(path, 12345, 54321)
    write(path)
    found = path.stat()
    assert (found.st_uid, found.st_gid, mode(path)) == (12345, 54321, 0o640)


def test_a_group_that_cannot_be_kept_gives_its_rights_to_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.csv"
    path.touch()
    path.chmod(0o660)
    if os.getuid() == 0:
        os.chown(path, 12345, 54321)
    else:
        pytest.skip("needs a file of another group")

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "fchown", refuse)
    write(path)
    assert mode(path) == 0o600


PROGRAM = """
import sys, pyarrow as pa
from oop.io.sinks import open_sink
sink = open_sink(sys.argv[1], pa.schema({"ts": pa.int64()}))
sink.write(pa.record_batch({"ts": [7]}))
print("writing", flush=True)
sys.stdin.read()
sink.close()
"""


def start(to: str) -> subprocess.Popen[bytes]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", PROGRAM, to]
    process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"writing\n"
    return process


def test_what_a_killed_process_left_is_removed_and_what_a_live_one_writes_stays(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    killed, alive = start(str(path)), start(str(path))
    try:
        assert len(hidden(tmp_path)) == 2
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        (tmp_path / ".other.csv.0123456789ab.tmp").touch()  # of another sink, whatever its state
        (tmp_path / ".out.csv.mine.tmp").touch()  # of nobody of ours
        write(path)
        assert len(hidden(tmp_path)) == 3, "one of a live process, two that are not this sink's"
        alive.communicate(b"")
        assert alive.returncode == 0
        assert path.read_text().split() == ['"ts"', "7"]
        assert sorted(hidden(tmp_path)) == [".other.csv.0123456789ab.tmp", ".out.csv.mine.tmp"]
    finally:
        for process in (killed, alive):
            process.kill()
            process.communicate()


def test_a_folder_is_swept_of_parts_of_killed_runs(tmp_path: Path) -> None:
    killed = start(f"{tmp_path}/")
    killed.kill()
    killed.communicate()
    (left,) = hidden(tmp_path)
    left_later = left.replace("part-00000", "part-00007")
    (tmp_path / left_later).touch()
    sink = DirectorySink(tmp_path, SCHEMA)
    sink.write(BATCH)
    sink.close()
    assert os.listdir(tmp_path) == ["part-00000.parquet"]


def test_a_sweep_between_the_making_of_a_file_and_its_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    real, swept = fcntl.flock, []

    def flock(file: int, how: int) -> None:
        if not how & fcntl.LOCK_NB and not swept:
            swept.append(True)
            sweep(tmp_path)
            assert hidden(tmp_path) == []
        real(file, how)

    monkeypatch.setattr(fcntl, "flock", flock)
    new = Replacement(tmp_path / "out.csv")
    assert swept and hidden(tmp_path) == [new.temporary.name]
    new.discard()
    assert hidden(tmp_path) == []


def test_a_file_that_is_finished_and_then_discarded_closes_no_other(tmp_path: Path) -> None:
    new = Replacement(tmp_path / "out.csv")
    new.temporary.write_text("ts\n1\n")
    number = new._lock
    new.finish()
    other = os.open(tmp_path, os.O_RDONLY)
    assert other == number, "the system gives the lowest number that is free"
    new.discard()  # as behind an interrupt in the middle of a sink's close
    assert os.fstat(other)
    os.close(other)
    assert (tmp_path / "out.csv").read_text() == "ts\n1\n"


def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import errno
    import fcntl

    def flock(file: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    (tmp_path / ".out.csv.0123456789ab.tmp").touch()
    write(tmp_path / "out.csv")
    assert hidden(tmp_path) == [".out.csv.0123456789ab.tmp"], "who knows whether it is left over"


def loop(folder: Path) -> Path:
    (folder / "a.csv").symlink_to("b.csv")
    (folder / "b.csv").symlink_to("a.csv")
    return folder / "a.csv"


def fifo(folder: Path) -> Path:
    os.mkfifo(folder / "fifo.csv")
    return folder / "fifo.csv"


def nowhere(folder: Path) -> Path:
    (folder / "link.csv").symlink_to(folder / "no" / "target.csv")
    return folder / "link.csv"


def under_a_file(folder: Path) -> Path:
    (folder / "file").touch()
    return folder / "file" / "out.csv"


@pytest.mark.parametrize("make", [loop, fifo, nowhere, under_a_file])
def test_where_nothing_can_be_written(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    path = make(tmp_path)
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(SinkError, match=r"cannot write .*\nHint: "):
        write(path)
    assert sorted(os.listdir(tmp_path)) == before


def test_a_folder_under_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SinkError, match=r"cannot write .*file/out.*: Not a directory"):
        open_sink(f"{tmp_path}/file/out/", SCHEMA)


@pytest.mark.parametrize("ending", ["arrow", "arrows", "csv", "parquet"])
def test_no_room(tmp_path: Path, ending: str) -> None:
    """As on a full disk: the older file stays, nothing is left beside it, and the error is ours."""
    path = tmp_path / f"out.{ending}"
    write(path)
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    table = pa.table({"ts": range(200_000)})
    resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, hard))
    try:
        with pytest.raises(SinkError, match=r"cannot write .*File too large\nHint: raise the limit"):
            oop.source(table, time="ts", punctuate=oop.ordered()).run(to=path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == before
    assert hidden(tmp_path) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_no_right_to_write() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        os.mkdir(f"{folder}/closed", 0o700)
        os.seteuid(65534)
        try:
            for path in (f"{folder}/out.csv", f"{folder}/closed/out.csv", f"{folder}/more/", f"{folder}/closed/more/"):
                with pytest.raises(SinkError, match=r"Permission denied\nHint: it takes the right to write in "):
                    write(path)
        finally:
            os.seteuid(0)
