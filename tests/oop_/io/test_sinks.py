"""What a sink wrote can be read back; half of it is never seen."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from oop.errors import SchemaMismatch, SinkError
from oop.io import sinks
from oop.io.data import Data
from oop.io.opening import open_data
from oop.io.sinks import open_sink
from oop.punctuation import END, Punctuation

SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.string()})
A = pa.record_batch({"ts": [1, 2], "k": ["a", None]}, schema=SCHEMA)
B = pa.record_batch({"ts": [3], "k": ["c"]}, schema=SCHEMA)
P = Punctuation(below={"ts": 3}, where={"k": "a"})
ENDINGS = [".parquet", ".pq", ".arrow", ".ipc", ".feather", ".arrows"]


def fill(to: Any, schema: pa.Schema = SCHEMA) -> None:
    sink = open_sink(to, schema)
    for element in (A, P, B, END):
        if isinstance(element, Punctuation):
            sink.promise(element)
        else:
            sink.write(element)
    sink.close()


def batches_of(given: Data) -> list[pa.RecordBatch]:
    return [e for e in given.elements() if not isinstance(e, Punctuation)]


def names(path: Path) -> list[str]:
    return sorted(p.name for p in path.iterdir())


@pytest.mark.parametrize("ending", ENDINGS)
def test_files_read_back(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out{ending}"
    fill(path)
    assert names(tmp_path) == [path.name]
    elements = list(open_data(path).elements())
    if ending in (".parquet", ".pq"):
        assert pa.Table.from_batches(elements) == pa.Table.from_batches([A, B])
    else:
        assert elements == [A, P, B, END]


@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_text_reads_back(tmp_path: Path, ending: str) -> None:
    batch = pa.record_batch({"ts": [1, 2], "k": ["a, b\tc", 'say "c"\nd']}, schema=SCHEMA)
    path = tmp_path / f"out{ending}"
    sink = open_sink(str(path), SCHEMA)
    sink.write(batch)
    sink.promise(P)
    sink.close()
    assert list(open_data(path).elements()) == [batch]


@pytest.mark.parametrize("ending", [*ENDINGS, ".csv"])
def test_no_rows_still_give_the_columns(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out{ending}"
    open_sink(path, SCHEMA).close()
    given = open_data(path, schema=SCHEMA)
    assert sum(e.num_rows for e in batches_of(given)) == 0


@pytest.mark.parametrize("ending", [*ENDINGS, ".csv"])
def test_a_file_appears_whole_or_not_at_all(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out{ending}"
    sink = open_sink(path, SCHEMA)
    sink.write(A)
    assert not path.exists()
    sink.abort()
    assert names(tmp_path) == []
    sink.close()
    sink.abort()
    assert names(tmp_path) == []
    with pytest.raises(ValueError, match="is closed"):
        sink.write(A)
    with pytest.raises(ValueError, match="is closed"):
        sink.promise(P)


def test_an_older_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.arrow"
    fill(path)
    before = path.read_bytes()
    sink = open_sink(path, SCHEMA)
    sink.write(B)
    sink.abort()
    assert path.read_bytes() == before
    sink = open_sink(path, SCHEMA)
    sink.write(B)
    sink.close()
    sink.close()
    sink.abort()
    assert list(open_data(path).elements()) == [B]


@pytest.mark.parametrize("ending", [*ENDINGS, ".csv"])
def test_a_close_that_fails_leaves_nothing_behind(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out{ending}"
    sink = open_sink(path, SCHEMA)
    sink.write(A)
    path.mkdir()  # so that the rename fails
    with pytest.raises(OSError, match="out"):
        sink.close()
    assert names(tmp_path) == [path.name]


def test_two_sinks_of_one_name_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "out.arrow"
    first, second = open_sink(path, SCHEMA), open_sink(path, SCHEMA)
    first.write(A)
    second.write(B)
    first.close()
    assert list(open_data(path).elements()) == [A]
    second.close()
    assert list(open_data(path).elements()) == [B]
    assert names(tmp_path) == ["out.arrow"]


@pytest.mark.parametrize("ending", [*ENDINGS, ".csv"])
def test_dictionaries_that_change_from_batch_to_batch(tmp_path: Path, ending: str) -> None:
    schema = pa.schema({"ts": pa.int64(), "k": pa.dictionary(pa.int32(), pa.string())})
    path = tmp_path / f"out{ending}"
    fill(path, schema)
    given = open_data(path, schema=schema)
    rows = [row for e in batches_of(given) for row in e.to_pylist()]
    assert rows == [{"ts": 1, "k": "a"}, {"ts": 2, "k": None}, {"ts": 3, "k": "c"}]


def test_a_batch_of_another_schema(tmp_path: Path) -> None:
    sink = open_sink(tmp_path / "out.parquet", SCHEMA)
    sink.write(A.select(["k", "ts"]))
    with pytest.raises(SchemaMismatch, match=r"writing out\.parquet: column 'k' is missing"):
        sink.write(A.select(["ts"]))
    sink.abort()


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"out\.txt.*\.arrows.*\.csv.*\.parquet"):
        open_sink(tmp_path / "out.txt", SCHEMA)
    with pytest.raises(FileNotFoundError, match="no directory"):
        open_sink(tmp_path / "no" / "out.csv", SCHEMA)
    with pytest.raises(TypeError, match="not a int"):
        open_sink(7, SCHEMA)
    with pytest.raises(SchemaMismatch, match=r"out\.csv with x list<item: int64>.*\nHint: write \.arrow"):
        open_sink(tmp_path / "out.csv", pa.schema({"x": pa.list_(pa.int64())})).write(pa.record_batch({"x": [[1]]}))


@pytest.mark.parametrize("name", ["out/", "out.d/", "out", "there.d"])
def test_parts_are_rolled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A path is a folder by its slash, without an ending, or because it is one."""
    monkeypatch.setattr(sinks, "PART_ROWS", 10)
    out, slash = tmp_path / "new" / name, "/" if name.endswith("/") else ""
    if name.startswith("there"):
        out.mkdir(parents=True)
    sink = open_sink(f"{out}{slash}", SCHEMA)
    batch = pa.record_batch({"ts": list(range(7)), "k": ["x"] * 7}, schema=SCHEMA)
    for _ in range(3):
        sink.write(batch)
        sink.promise(P)
    assert [n for n in names(out) if n.startswith("part")] == ["part-00000.parquet", "part-00001.parquet"]
    sink.close()
    sink.close()
    assert names(out) == [f"part-0000{i}.parquet" for i in range(3)]
    given = open_data(out)
    assert given.rows == 21
    assert [ts for e in batches_of(given) for ts in e["ts"].to_pylist()] == list(range(7)) * 3
    with pytest.raises(ValueError, match="is closed"):
        sink.write(A)
    with pytest.raises(FileExistsError, match=r"part-00000\.parquet of another run"):
        open_sink(out, SCHEMA)


def test_an_exact_number_of_parts_has_no_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "PART_ROWS", 2)
    sink = open_sink(f"{tmp_path}/", SCHEMA)
    sink.write(A)
    sink.close()
    assert names(tmp_path) == ["part-00000.parquet"]


def test_an_aborted_directory_keeps_whole_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinks, "PART_ROWS", 2)
    sink = open_sink(f"{tmp_path}/", SCHEMA)
    sink.write(A)
    sink.write(B)
    sink.abort()
    sink.close()
    assert names(tmp_path) == ["part-00000.parquet"]


def test_an_empty_directory_answer_has_one_part(tmp_path: Path) -> None:
    open_sink(f"{tmp_path}/out/", SCHEMA).close()
    given = open_data(tmp_path / "out")
    assert (given.schema, given.rows) == (SCHEMA, 0)


def test_callables_and_objects() -> None:
    got: list[Any] = []
    fill(got.append)
    assert got == [A, B]

    class Writes:
        def __init__(self) -> None:
            self.got: list[Any] = []

        def write(self, batch: pa.RecordBatch) -> None:
            self.got.append(batch)

    class Full(Writes):
        def promise(self, punct: Punctuation) -> None:
            self.got.append(punct)

        def close(self) -> None:
            self.got.append("close")

        def abort(self) -> None:
            self.got.append("abort")

    plain, full = Writes(), Full()
    fill(plain)
    fill(full)
    assert plain.got == [A, B]
    assert full.got == [A, P, B, END, "close"]
    open_sink(plain, SCHEMA).abort()
    open_sink(full, SCHEMA).abort()
    assert full.got[-1] == "abort"


def test_a_folder_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its files could be looked for by name; a superuser may list any, so the refusal is a made one."""

    def refused(self: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "glob", lambda self, pattern: iter(()))
    monkeypatch.setattr(Path, "iterdir", refused)
    with pytest.raises(SinkError, match=r"cannot write .*: Permission denied"):
        sinks.DirectorySink(tmp_path / "out", pa.schema({"ts": pa.int64()}))
