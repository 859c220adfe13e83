"""A file that is missing, cut short or damaged gives the rows before the damage, and says where it is."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pytest

from oop.errors import SourceError
from oop.io import text as text_files
from oop.io.opening import open_data
from tests.oop_.io.inputs import BATCHES, ENDINGS, TABLE, N, P, put, rows_of, until_error, write, write_ipc


def test_missing_empty_unknown(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    for name in ("nowhere.parquet", "*.parquet"):
        with pytest.raises(SourceError, match="no such file"):
            open_data(tmp_path / name)
    for name in ("a.txt", "a.parquet.gz"):
        (tmp_path / name).write_text("x")
        with pytest.raises(SourceError, match=r"unknown ending(.|\n)*\.parquet"):
            open_data(tmp_path / name)
    for ending in ENDINGS:
        path = tmp_path / f"empty{ending}"
        path.write_bytes(gzip.compress(b"") if ending.endswith(".gz") else b"")
        with pytest.raises(SourceError, match=r"empty(.|\n)*is empty"):
            open_data(path)


def test_a_file_that_goes_away_before_the_run(tmp_path: Path) -> None:
    for ending in (".parquet", ".arrow", ".csv"):
        path = write(tmp_path / f"a{ending}")
        given = open_data(path)
        path.unlink()
        assert str(path) in str(until_error(given)[1])


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".feather"])
@pytest.mark.parametrize("keep", [3, 0.5, -1])
def test_files_without_their_footer(tmp_path: Path, ending: str, keep: float) -> None:
    path = write(tmp_path / f"a{ending}")
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep) if isinstance(keep, float) else keep])
    with pytest.raises(SourceError, match=r"cannot be read(.|\n)*Hint: .*write it again") as caught:
        open_data(path)
    assert str(path) in str(caught.value)


def test_parquet_damaged_inside(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet")
    data = bytearray(path.read_bytes())
    data[8:600] = b"\xff" * 592
    path.write_bytes(data)
    assert str(path) in str(until_error(open_data(path))[1])


def test_an_ipc_stream_cut_short_gives_the_batches_before(tmp_path: Path) -> None:
    path = write_ipc(tmp_path / "a.arrows", [BATCHES[0], P, BATCHES[1], BATCHES[2]], True)
    path.write_bytes(path.read_bytes()[:-200])
    rows, error = until_error(open_data(path))
    assert rows == TABLE[:200].to_pylist()
    assert str(path) in str(error) and "cut short" in str(error)
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(SourceError, match="cut short"):
        open_data(path)


@pytest.mark.parametrize("block", [40, 1000, 1 << 20])
@pytest.mark.parametrize("zipped", ["", ".gz"])
@pytest.mark.parametrize(
    ("ending", "bad", "said"),
    [
        (".csv", "1,2,3", "Expected 2 columns, got 3"),
        (".csv", "1", "Expected 2 columns, got 1"),
        (".csv", "x,k1", "invalid value 'x'"),
        (".jsonl", '{"ts": 1, "k"', "JSON parse error"),
        (".jsonl", '{"ts": "x", "k": "k1"}', "line 801"),
        (".jsonl", '{"ts": 1, "z": 2}', "line 801"),
    ],
)
def test_text_gives_exactly_the_rows_before_a_bad_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, bad: str, said: str, zipped: str, block: int
) -> None:
    monkeypatch.setattr(text_files, "BLOCK_BYTES", block)
    lines = write(tmp_path / f"a{ending}").read_text().splitlines()
    lines[800] = bad  # JSON has no header, so this is its row 800
    path = put(tmp_path / f"b{ending}{zipped}", "\n".join(lines).encode())
    given = open_data(path, schema=TABLE.schema)
    rows, error = until_error(given)
    assert rows == TABLE[: 799 if ending == ".csv" else 800].to_pylist()
    assert f"{path}: line 801 " in str(error) and said in str(error)
    assert f"{len(rows)} rows were read before it" in str(error)


def test_a_bad_line_in_the_first_block_without_a_schema(tmp_path: Path) -> None:
    path = put(tmp_path / "a.csv", b"ts,k\n1,a\n2,b\n3\n4,d\n")
    rows, error = until_error(open_data(path))
    assert rows == [{"ts": 1, "k": "a"}, {"ts": 2, "k": "b"}]
    assert "line 4" in str(error)
    path = put(tmp_path / "a.jsonl", b'{"ts": 1}\n{"ts": 2}\n{"ts"')
    rows, error = until_error(open_data(path))
    assert rows == [{"ts": 1}, {"ts": 2}]
    assert "line 3" in str(error)


def test_a_type_guessed_from_the_first_block_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "BLOCK_BYTES", 40)
    path = put(tmp_path / "a.csv", b"ts,x\n" + b"1,1\n" * 50 + b"2,2.5\n")
    rows, error = until_error(open_data(path))
    assert len(rows) == 50 and "line 52" in str(error) and "schema=" in str(error)
    declared = pa.schema({"ts": pa.int64(), "x": pa.float64()})
    assert rows_of(open_data(path, schema=declared))[-1] == {"ts": 2, "x": 2.5}


@pytest.mark.parametrize("ending", [".csv.gz", ".jsonl.gz"])
@pytest.mark.parametrize("block", [1000, 1 << 20])
def test_gzip_cut_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, block: int) -> None:
    monkeypatch.setattr(text_files, "BLOCK_BYTES", block)
    path = write(tmp_path / f"a{ending}")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    rows, error = until_error(open_data(path))
    assert 100 < len(rows) < N and rows == TABLE[: len(rows)].to_pylist()
    assert str(path) in str(error) and "cut short" in str(error)
    path.write_bytes(data[:5])
    with pytest.raises(SourceError, match="cut short"):
        open_data(path)


def test_gzip_of_several_members(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"ts\n1\n") + gzip.compress(b"2\n"))
    assert rows_of(open_data(tmp_path / "a.csv.gz")) == [{"ts": 1}, {"ts": 2}]
