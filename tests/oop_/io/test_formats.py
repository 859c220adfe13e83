"""A new file format is one class: sources, sinks and their messages know it as soon as it is defined."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.io.formats import FORMATS, File, Format, format_of
from oop.io.ipc import InputElement

ENDING = ".lists"


def define_lists() -> None:
    """A format of this test's own: a JSON list of the column names, then one for each row."""

    class Lists(Format):
        endings = (ENDING,)
        can_write = True

        def open(self, path: Path, schema: pa.Schema | None) -> File:
            names, *rows = map(json.loads, path.read_text().splitlines())
            table = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])

            def read(types: pa.Schema, batch_rows: int) -> Iterator[InputElement]:
                yield from table.to_batches(batch_rows)

            return File(path, table.schema, table.num_rows, read)

        def writer(self, file: pa.NativeFile, schema: pa.Schema) -> Any:
            return ListsWriter(file, schema)

    class ListsWriter:
        def __init__(self, file: pa.NativeFile, schema: pa.Schema) -> None:
            self.file = file
            self.file.write(f"{json.dumps(schema.names)}\n".encode())

        def write_batch(self, batch: pa.RecordBatch) -> None:
            for row in batch.to_pylist():
                self.file.write(f"{json.dumps(list(row.values()))}\n".encode())

        def close(self) -> None:
            pass


@pytest.fixture
def lists() -> Iterator[str]:
    """The ending of the test's format, which is known until the test is over."""
    define_lists()
    yield ENDING
    del FORMATS[ENDING]


def test_a_new_format_is_read_and_written(tmp_path: Path, lists: str) -> None:
    first, second = tmp_path / f"first{lists}", tmp_path / f"second{lists}"
    table = pa.table({"ts": [1, 2, 12], "k": ["a", "b", "a"]})
    oop.source(table, time="ts", punctuate=oop.ordered()).run(to=first)
    stream = oop.source(first, time="ts", punctuate=oop.ordered())
    assert stream.run().to_table() == table
    stream.window(oop.tumbling(10)).agg(n=oop.count()).run(to=second)
    assert second.read_text() == '["window_start", "window_end", "n"]\n[0, 10, 2]\n[10, 20, 1]\n'


def test_messages_name_a_new_format(tmp_path: Path, lists: str) -> None:
    (tmp_path / "x.txt").write_text("ts\n1\n")
    with pytest.raises(oop.SourceError, match=rf"unknown ending '\.txt'.*\nHint: .*\{lists}"):
        oop.source(tmp_path / "x.txt", time="ts", punctuate=oop.ordered())
    with pytest.raises(oop.WrongArgument, match=rf"endings are .*\{lists}"):
        oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.ordered()).run(to=tmp_path / "y.txt")


def test_an_ending_names_one_format() -> None:
    with pytest.raises(TypeError, match=r"\.csv already names the format Csv"):

        class Other(Format):
            endings = (".csv",)


def test_compressed_files_are_known_by_the_ending_before() -> None:
    assert format_of(Path("a.csv.gz")) is format_of(Path("A.CSV")) is FORMATS[".csv"]
    assert format_of(Path("a.parquet.gz")) is None
    assert format_of(Path("a.gz")) is None
