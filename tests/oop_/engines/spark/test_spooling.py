"""An iterable is spooled into files before Spark reads it, and whatever ends the spool is said."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.engines.spark.blocks import Position, following, read_block
from oop.engines.spark.spool import Spool
from oop.errors import SourceError
from oop.io.opening import open_data


def test_an_iterable_is_spooled_before_its_offset_names_it(tmp_path: Path) -> None:
    spool = Spool(open_data([pa.record_batch({"ts": [1]}), oop.Punctuation({"ts": 1})]), tmp_path / "spool")
    listing = spool.spooled.complete()
    assert listing.ended
    assert [Path(p).name for p in listing.paths] == ["000000000000.arrow"]
    again = Spool(open_data([pa.record_batch({"ts": [1]}), oop.Punctuation({"ts": 1})]), tmp_path / "spool")
    assert again.spooled.listing() == listing, "it is all there: a restart writes nothing"
    with pytest.raises(SourceError, match="had 1 rows when the checkpoint was written, and has 2 now"):
        Spool(open_data([pa.record_batch({"ts": [1, 2]})]), tmp_path / "spool")


@pytest.mark.parametrize("raised", [SystemExit, asyncio.CancelledError, KeyboardInterrupt, ZeroDivisionError])
@pytest.mark.parametrize("where", ["reading", "writing"])
def test_whatever_ends_a_spool_is_said(
    raised: type[BaseException], where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> Any:
        raise raised("in a thread")

    if where == "writing":
        monkeypatch.setattr(Spool, "_file", failing)
    data = open_data([pa.record_batch({"ts": [1]})])
    if where == "reading":
        data = replace(data, start=failing, plain=None, peeked=None)
    spool = Spool(data, tmp_path / "spool")
    until = time.monotonic() + 10
    while spool.spooled.listing().failure is None and time.monotonic() < until:
        time.sleep(0.001)
    assert spool.spooled.complete().failure == f"{raised.__name__}: in a thread"


def test_an_error_that_cannot_say_what_it_is_ends_a_spool_too(tmp_path: Path) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise self

    def rows() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"ts": [1]})
        raise Mute

    spool = Spool(open_data(rows, schema=pa.schema({"ts": pa.int64()})), tmp_path)
    until = time.monotonic() + 5
    while spool.spooled.listing().failure is None and time.monotonic() < until:
        time.sleep(0.01)
    assert spool.spooled.listing().failure == "Mute"


def wait(spool: Spool) -> list[Any]:
    listing = spool.spooled.complete()
    assert listing.failure is None
    return [list(read_block(b, spool.data.schema)) for b, _ in following(listing, Position(), "ts")]


def test_a_spool_that_was_interrupted_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oop.engines.spark.spool.CROSSING_ROWS", 3)
    data = [e for i in range(9) for e in (pa.record_batch({"ts": [i, i]}), oop.Punctuation({"ts": i}))]
    spool = Spool(open_data(data), tmp_path)
    whole = wait(spool)
    names = [p.name for p in sorted(tmp_path.glob("*.arrow"))]
    (tmp_path / "closed.json").unlink()
    for name in names[2:]:
        (tmp_path / name).unlink()
    assert wait(Spool(open_data(data), tmp_path)) == whole
    assert [p.name for p in sorted(tmp_path.glob("*.arrow"))] == names


def test_an_iterator_that_can_be_read_once_is_not_read_again(tmp_path: Path) -> None:
    schema = pa.schema({"ts": pa.int64()})
    Spool(open_data(iter([pa.record_batch({"ts": [1]})]), schema=schema), tmp_path)
    while not list(tmp_path.glob("closed.json")):
        time.sleep(0.01)
    with pytest.raises(SourceError, match="gives its elements once"):
        Spool(open_data(iter([pa.record_batch({"ts": [1]})]), schema=schema), tmp_path)


def test_a_spool_that_cannot_write_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, body: Any) -> None:
        if path.suffix == ".arrow":
            raise OSError("no space left on device")
        path.write_bytes(body)

    monkeypatch.setattr("oop.engines.spark.spool._publish", full)
    spool = Spool(open_data([pa.record_batch({"ts": [1]})]), tmp_path)
    assert spool.spooled.complete().failure == "OSError: no space left on device"


@pytest.fixture
def full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Once it is set, files that are there can be overwritten, and no new one finds room, not even a small one."""
    is_full, open_descriptor, open_path = threading.Event(), os.open, Path.open

    def refuse(path: Any) -> None:
        if is_full.is_set() and tmp_path in Path(path).parents:
            raise OSError(errno.ENOSPC, "No space left on device")

    def descriptor(path: Any, flags: int, *mode: Any, **more: Any) -> int:
        if flags & os.O_TRUNC or (flags & os.O_CREAT and not Path(path).exists()):
            refuse(path)
        return open_descriptor(path, flags, *mode, **more)

    def opened(path: Path, mode: str = "r", *more: Any, **named: Any) -> Any:
        if "w" in mode:
            refuse(path)
        return open_path(path, mode, *more, **named)

    monkeypatch.setattr(os, "open", descriptor)
    monkeypatch.setattr(Path, "open", opened)
    return is_full


def test_a_spool_on_a_full_disk_still_says_how_it_ended(tmp_path: Path, full_disk: threading.Event) -> None:
    def rows(*_: Any) -> Iterator[pa.RecordBatch]:
        full_disk.set()
        yield pa.record_batch({"ts": [1]})

    data = open_data([pa.record_batch({"ts": [1]})])
    spool = Spool(replace(data, start=rows, plain=None, peeked=None), tmp_path)
    until = time.monotonic() + 5
    while spool.spooled.listing().failure is None and time.monotonic() < until:
        time.sleep(0.01)
    assert "No space left on device" in str(spool.spooled.listing().failure)
    assert [path.name for path in tmp_path.iterdir()] == ["closed.json"]


def test_a_disk_that_is_full_from_the_beginning_is_said_at_once(tmp_path: Path, full_disk: threading.Event) -> None:
    full_disk.set()
    with pytest.raises(SourceError, match=r"cannot be spooled to .*: .*No space left"):
        Spool(open_data([pa.record_batch({"ts": [1]})]), tmp_path)


def test_what_a_live_input_gives_leaves_soon(tmp_path: Path) -> None:
    """Though more comes all the time, in less time than anything waits."""
    enough = threading.Event()

    def live() -> Iterator[pa.RecordBatch]:
        while not enough.wait(0.005):
            yield pa.record_batch({"ts": [1]})

    spool = Spool(open_data(live, schema=pa.schema({"ts": pa.int64()})), tmp_path)
    deadline = time.monotonic() + 10
    while not spool.spooled.listing().paths and time.monotonic() < deadline:
        time.sleep(0.01)
    enough.set()
    assert spool.spooled.listing().paths
