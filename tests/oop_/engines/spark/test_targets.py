"""`run(to=…)` means the same on both engines: the same results, the same errors; what Spark cannot has a way out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.io.formats import FORMATS
from tests.oop_.io.test_formats import ENDING, define_lists

TABLE = pa.table(
    {
        "ts": pa.array([1, 2, 3, 14, 25], pa.timestamp("ms")),
        "n": pa.array([1, 2, 3, 4, 5], pa.uint32()),
        "k": pa.array(["a", "b", None, "a", "b"]).dictionary_encode(),
    }
)


def rows() -> oop.Stream:
    return oop.source(TABLE, time="ts", punctuate=oop.ordered())


def read(path: Path) -> pa.Table:
    """What is there, in an order that does not depend on the engine."""
    found = oop.source(path, time="ts", punctuate=oop.at_end()).run().to_table()
    return found.sort_by("n").combine_chunks()


@pytest.fixture
def lists() -> Iterator[str]:
    define_lists()
    yield ENDING
    del FORMATS[ENDING]


@pytest.mark.parametrize("name", ["out.parquet", "out.CSV", "folder/", "folder"])
def test_files_and_folders_hold_the_same(spark: Any, tmp_path: Path, name: str) -> None:
    for engine, folder in ((oop.Embedded(), "embedded"), (oop.Spark(spark, shards=1), "spark")):
        (tmp_path / folder).mkdir()
        run = rows().run(engine, to=f"{tmp_path}/{folder}/{name}")
        if "folder" in name and isinstance(engine, oop.Spark):
            run.awaitTermination()
    assert (tmp_path / "embedded" / name).is_dir() == (tmp_path / "spark" / name).is_dir() == ("folder" in name)
    if "folder" in name:
        assert read(tmp_path / "embedded" / name).select(["ts"]).num_rows == 5
        assert read(tmp_path / "spark" / name)["n"].to_pylist() == read(tmp_path / "embedded" / name)["n"].to_pylist()
    else:
        assert read(tmp_path / "spark" / name) == read(tmp_path / "embedded" / name)
    assert not [p for p in (tmp_path / "spark").iterdir() if p.name.endswith(".tmp")]


def test_a_new_format_on_spark(spark: Any, tmp_path: Path, lists: str) -> None:
    table = pa.table({"ts": [1, 2, 12], "k": ["a", "b", "a"]})
    first, second = tmp_path / f"first{lists}", tmp_path / f"second{lists}"
    oop.source(table, time="ts", punctuate=oop.ordered()).run(to=first)
    oop.source(first, time="ts", punctuate=oop.ordered()).run(oop.Spark(spark, shards=1), to=second)
    assert sorted(second.read_text().splitlines()) == sorted(first.read_text().splitlines())


class Writes:
    def __init__(self) -> None:
        self.got: list[Any] = []

    def write(self, batch: pa.RecordBatch) -> None:
        self.got += batch.to_pylist()
        self.schema = batch.schema


class Closes(Writes):
    def close(self) -> None:
        self.got.append("close")

    def abort(self) -> None:
        self.got.append("abort")


def test_objects_and_callables_get_the_same(spark: Any) -> None:
    for sink in (Writes(), Closes()):
        rows().run(oop.Spark(spark, shards=1), to=sink)
        other = type(sink)()
        rows().run(to=other)
        assert (sink.got, sink.schema) == (other.got, other.schema)
    sink = Writes()
    rows().run(oop.Spark(spark, shards=1), to=sink.write).awaitTermination()
    assert (sink.got, sink.schema) == (TABLE.to_pylist(), rows().schema)


def test_what_fails_leaves_no_file(spark: Any, tmp_path: Path) -> None:
    bad = oop.source(pa.table({"ts": [9, 1]}), time="ts", punctuate=oop.ordered(), late="raise")
    sink = Closes()
    for engine in (oop.Embedded(), oop.Spark(spark, shards=1)):
        with pytest.raises(oop.LateRow, match="row 1 breaks the promise ts < 9"):
            bad.run(engine, to=tmp_path / "out.parquet")
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(oop.LateRow):
            bad.run(engine, to=sink)
        assert sink.got[-1] == "abort"


WRONG: dict[str, Callable[[Path], Any]] = {
    "an ending": lambda folder: folder / "out.txt",
    "an ending that is only read": lambda folder: folder / "out.jsonl",
    "compressed": lambda folder: folder / "out.csv.gz",
    "no folder": lambda folder: folder / "nowhere" / "out.csv",
    "a number": lambda folder: 7,
    "no path": lambda folder: "out\0.csv",
    "a file in a file system far away": lambda folder: "s3a://bucket/out.parquet",
    "nothing may be written": lambda folder: "/proc/nope/out/",
    "of another run": lambda folder: folder / "occupied",
}


def test_what_is_wrong_is_wrong_on_both(spark: Any, tmp_path: Path) -> None:
    rows().run(to=f"{tmp_path}/occupied/")
    for name, make in WRONG.items():
        said = []
        for engine in (oop.Embedded(), oop.Spark(spark, shards=1)):
            with pytest.raises(oop.OopError) as wrong:
                rows().run(engine, to=make(tmp_path))
            said.append((type(wrong.value), str(wrong.value)))
        assert said[0] == said[1], name
        assert "\nHint: " in said[0][1], name


def test_what_spark_cannot_write_has_a_way_out(tmp_path: Path) -> None:
    """Found before a session is started."""

    class Waits(Writes):
        def promise(self, promise: oop.Punctuation) -> None:
            pass

    durable = oop.Spark(checkpoint=tmp_path / "checkpoint")
    for engine, to, match in (
        (oop.Spark(), tmp_path / "out.arrow", r"no promises, which \.arrow holds.*\nHint: write \.parquet or a folder"),
        (oop.Spark(), Waits(), r"no promises.*\nHint: pass its write alone"),
        (durable, tmp_path / "out.csv", r"out\.csv is one file.*\nHint: write a folder: to='out/'"),
        (durable, Writes(), r"may end and go on.*\nHint: pass its write alone"),
        (durable, None, r"needs a sink that lasts\nHint: .*to='out/'"),
    ):
        with pytest.raises(oop.WrongArgument, match=match):
            rows().run(engine, to=to)


def test_what_only_spark_can_write_has_a_way_out() -> None:
    with pytest.raises(oop.WrongArgument, match=r"s3a://bucket/out/ is on another.*\nHint: run it with engine=oop\.Sp"):
        rows().run(to="s3a://bucket/out/")


def test_a_checkpoint_goes_on_in_its_folder(spark: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for checkpoint in ("checkpoint", "checkpoint"):
        rows().run(oop.Spark(spark, shards=1, checkpoint=tmp_path / checkpoint), to=out).awaitTermination()
        assert read(out).num_rows == 5
    with pytest.raises(FileExistsError, match="of another run"):
        rows().run(oop.Spark(spark, shards=1, checkpoint=tmp_path / "other"), to=out)
