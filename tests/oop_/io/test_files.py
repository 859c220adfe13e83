"""Files: several of them as one input, promises in IPC, and text in all its dialects."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oop.errors import SchemaMismatch, SourceError
from oop.io import text as text_files
from oop.io.opening import open_data
from oop.punctuation import END, Punctuation
from tests.oop_.io.inputs import BATCHES, TABLE, P, batches_of, put, rows_of, until_error, write, write_ipc

# Several files


def test_directory_glob_and_list(tmp_path: Path) -> None:
    for i in (2, 0, 1):
        pq.write_table(TABLE[i * 100 : i * 100 + 100], tmp_path / f"p{i}.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".p9.parquet.tmp").touch()
    for data in (tmp_path, str(tmp_path), f"{tmp_path}/p*.parquet", f"{tmp_path}/**/*.parquet"):
        given = open_data(data)
        assert rows_of(given) == TABLE[:300].to_pylist()
        assert (given.rows, given.label) == (300, "p0.parquet and 2 more")
    backwards = [tmp_path / "p1.parquet", str(tmp_path / "p0.parquet")]
    assert rows_of(open_data(backwards)) == TABLE[100:200].to_pylist() + TABLE[:100].to_pylist()


def test_a_name_with_magic_in_it_is_a_name_first(tmp_path: Path) -> None:
    assert rows_of(open_data(write(tmp_path / "a[1].csv"))) == TABLE.to_pylist()


def test_directories_that_are_not_clear(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="holds no file"):
        open_data(tmp_path)
    write(tmp_path / "a.csv")
    (tmp_path / "notes.txt").touch()
    with pytest.raises(SourceError, match=r"notes\.txt"):
        open_data(tmp_path)


def test_files_of_several_formats_and_column_orders(tmp_path: Path) -> None:
    pq.write_table(TABLE[:10].select(["k", "ts"]), tmp_path / "b.parquet")
    paths = [write(tmp_path / "a.csv"), tmp_path / "b.parquet", write(tmp_path / "c.jsonl.gz")]
    assert rows_of(open_data(paths)) == TABLE.to_pylist() + TABLE[:10].to_pylist() + TABLE.to_pylist()


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".csv", ".jsonl"])
def test_files_whose_schemas_disagree_are_both_named(tmp_path: Path, ending: str) -> None:
    first, second = tmp_path / f"first{ending}", tmp_path / f"second{ending}"
    write(first)
    other = pa.table({"ts": ["x"], "k": ["a"]})
    if ending == ".parquet":
        pq.write_table(other, second)
    elif ending == ".arrow":
        write_ipc(second, other.to_batches(), False, other.schema)
    else:
        put(second, b"ts,k\nx,a\n" if ending == ".csv" else b'{"ts": "x", "k": "a"}\n')
    with pytest.raises(SchemaMismatch) as caught:
        open_data([first, second])
    text = str(caught.value)
    assert str(first) in text and str(second) in text and "column 'ts' is string" in text and "int64" in text


def test_text_types_of_the_first_file_hold_for_the_others(tmp_path: Path) -> None:
    paths = [put(tmp_path / "a.csv", b"ts,x\n1,1.5\n"), put(tmp_path / "b.csv", b"x,ts\n2,2\n")]
    assert rows_of(open_data(paths)) == [{"ts": 1, "x": 1.5}, {"ts": 2, "x": 2.0}]
    paths = [put(tmp_path / "a.jsonl", b'{"ts": 1, "k": "a"}\n'), put(tmp_path / "b.jsonl", b'{"ts": 2}\n')]
    assert rows_of(open_data(paths)) == [{"ts": 1, "k": "a"}, {"ts": 2, "k": None}]


# Promises in IPC


@pytest.mark.parametrize("stream", [False, True], ids=["file", "stream"])
def test_promises_in_ipc(tmp_path: Path, stream: bool) -> None:
    group = Punctuation(below={"ts": 9}, where={"k": "k1"})
    empty = pa.RecordBatch.from_pylist([], schema=TABLE.schema)
    elements = [P, BATCHES[0], group, empty, BATCHES[1], END]
    path = write_ipc(tmp_path / "a.arrow", elements, stream)
    assert list(open_data(path).elements()) == elements
    opened = (lambda: pa.ipc.open_stream(str(path))) if stream else (lambda: pa.ipc.open_file(str(path)))
    assert list(open_data(opened()).elements()) == elements
    assert list(open_data(opened).elements()) == elements
    if stream:
        assert list(open_data(iter([opened()])).elements()) == elements


def test_a_stream_of_only_promises(tmp_path: Path) -> None:
    path = write_ipc(tmp_path / "a.arrows", [P, END], True)
    given = open_data(path)
    assert given.schema == TABLE.schema
    assert list(given.elements()) == [P, END]


def test_the_end_of_one_file_is_not_the_end_of_all(tmp_path: Path) -> None:
    a = write_ipc(tmp_path / "a.arrow", [BATCHES[0], P, END], False)
    b = write_ipc(tmp_path / "b.arrows", [BATCHES[1], END], True)
    assert list(open_data([a, b]).elements()) == [BATCHES[0], P, BATCHES[1], END]


def test_a_promise_that_is_no_promise(tmp_path: Path) -> None:
    path = tmp_path / "a.arrows"
    with pa.ipc.new_stream(str(path), TABLE.schema) as writer:
        writer.write_batch(BATCHES[0])
        writer.write_batch(BATCHES[0][:0], custom_metadata={"oop.punctuation": "ts < 5"})
    rows, error = until_error(open_data(path))
    assert rows == BATCHES[0].to_pylist()
    assert str(path) in str(error) and "batch 1" in str(error) and "below" in str(error)


# Text as it comes


@pytest.mark.parametrize("block", [10, 30, 1 << 20])
def test_csv_with_newlines_in_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(text_files, "BLOCK_BYTES", block)
    expected = [{"ts": i, "k": f'a "{i}"\nb, c'} for i in range(30)]
    lines = "".join(f'{i},"a ""{i}""\nb, c"\n' for i in range(30))
    path = put(tmp_path / "a.csv", f"ts,k\n{lines}".encode())
    assert rows_of(open_data(path)) == expected
    path = put(tmp_path / "b.csv", f"ts,k\n{lines}1,2,3\n".encode())
    rows, error = until_error(open_data(path))
    assert rows == expected and "line 62" in str(error)
    path = put(tmp_path / "c.csv", f'ts,k\n{lines}30,"cut\nsh'.encode())
    rows, error = until_error(open_data(path))
    assert rows == expected and "ends inside a quoted value" in str(error)


@pytest.mark.parametrize("block", [10, 30, 1 << 20])
def test_csv_with_a_stray_quote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(text_files, "BLOCK_BYTES", block)
    path = put(tmp_path / "a.csv", b'ts,k\n1,5" pipe\n' + b"2,x\n" * 40)
    assert rows_of(open_data(path)) == [{"ts": 1, "k": '5" pipe'}] + [{"ts": 2, "k": "x"}] * 40


@pytest.mark.parametrize("data", [b"ts,k\n1,a", b"\xef\xbb\xbfts,k\r\n1,a\r\n", b"ts,k\n\n1,a\n\n", b'"ts","k"\n1,a\n'])
def test_csv_dialects(tmp_path: Path, data: bytes) -> None:
    assert rows_of(open_data(put(tmp_path / "a.csv", data))) == [{"ts": 1, "k": "a"}]


def test_csv_of_only_a_header(tmp_path: Path) -> None:
    for data in (b"ts,k", b"ts,k\n"):
        path = put(tmp_path / "a.csv", data)
        assert open_data(path).schema.names == ["ts", "k"]
        given = open_data(path, schema=TABLE.schema)
        assert given.schema == TABLE.schema and rows_of(given) == []


def test_json_that_is_not_lines(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"a\.json: line 1 (.|\n)*one object on each line"):
        open_data(put(tmp_path / "a.json", b'[{"ts": 1},\n{"ts": 2}]'))
    with pytest.raises(SourceError, match="empty"):
        open_data(put(tmp_path / "a.json", b"\n\n"))


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet", ".arrow"])
def test_declared_types_of_files(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"a{ending}")
    declared = pa.schema({"k": pa.dictionary(pa.int32(), pa.string()), "ts": pa.int64()})
    given = open_data(path, schema=declared)
    assert given.schema == declared
    assert {e.schema for e in batches_of(given)} == {declared}
    assert [(row["ts"], row["k"]) for row in rows_of(given)] == [(r["ts"], r["k"]) for r in TABLE.to_pylist()]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_declared_columns_that_the_file_lacks(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"a{ending}")
    for columns in (["ts"], ["ts", "k", "z"]):
        with pytest.raises(SchemaMismatch, match=f"a{ending}: column '[kz]'"):
            open_data(path, schema=pa.schema({name: TABLE.schema.types[name == "k"] for name in columns}))


def test_heavy_parts_of_pyarrow_are_loaded_when_used() -> None:
    code = "import sys, oop.io.opening, oop.io.sinks; print([m for m in sys.modules if m.startswith('pyarrow.')])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for part in ("dataset", "parquet", "csv", "json"):
        assert f"'pyarrow.{part}'" not in loaded
