"""Files, paths and promises that are hostile, or a mistake: each gives an error of ours with a remedy."""

from __future__ import annotations

import gzip
import os
import random
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.errors import OopError, SourceError, TimeError
from oop.io.json_depth import MOST_NESTED, check_json

TEXT = "ts,k\n1,a\n2,b\n"


def run(data: Any, **options: Any) -> pa.Table:
    source = oop.source(data, **{"time": "ts", "punctuate": oop.ordered(), **options})
    return source.window(oop.tumbling(10)).agg(n=oop.count()).run().to_table()


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_text_in_another_encoding(tmp_path: Path, encoding: str, zipped: bool) -> None:
    path = tmp_path / ("a.csv.gz" if zipped else "a.csv")
    body = TEXT.encode(encoding)
    path.write_bytes(gzip.compress(body) if zipped else body)
    for schema in (None, pa.schema({"ts": pa.int64(), "k": pa.string()})):
        with pytest.raises(
            SourceError, match=r"a\.csv.*line 1.*UTF-(16|32).*not UTF-8(?s:.*)Hint: convert it: .*iconv"
        ):
            run(path, schema=schema)


def test_a_file_of_very_many_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("ts," + ",".join(f"c{i}" for i in range(10_000)) + "\n1" + ",2" * 10_000 + "\n")
    assert len(oop.source(path, time="ts", punctuate=oop.ordered()).schema) == 10_001


JSON = [
    '{"ts": 1, "a": ' + "[" * 100_000 + "]" * 100_000 + "}",
    '{"ts": 1, "a": ' + '{"a": ' * 50_000 + "1" + "}" * 50_000 + "}",
    '{"ts": 1, "a": ' + '{"]": ' * 50_000 + "1" + "}" * 50_000 + "}",
    "[\n" * 100_000,
    "null",
    "  null",
    '{"ts": 1} null',
    '"x"',
    "[1]",
    "NaN",
    '{"ts": 1',
]


@pytest.mark.parametrize("number", range(len(JSON)))
def test_json_lines_that_would_end_the_process(tmp_path: Path, number: int) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"ts": 1}\n' + JSON[number] + "\n")
    for schema in (None, pa.schema({"ts": pa.int64()})):
        with pytest.raises(SourceError, match=r"a\.jsonl: line \d+ cannot be read(?s:.*)Hint: "):
            run(path, schema=schema)


def test_brackets_and_nulls_inside_of_strings_are_text() -> None:
    deep = "[" * 500
    for text in (f'{{"a": "{deep}"}}', f'{{"a": "\\"{deep}"}}', '{"a": "} null"}', '{"a": "\\\\", "b": [null]}\n' * 99):
        check_json(text.encode())


def test_depth_against_a_count_by_hand() -> None:
    refused = 0
    for seed in range(200):
        rng = random.Random(seed)
        text, depth, most = "", 0, 0
        for _ in range(rng.randint(100, 400)):  # a third of them are too deep, some by one
            if rng.random() < 0.2:
                text += '"' + "".join(rng.choice(["[", "}", "\\\\", '\\"', "x"]) for _ in range(3)) + '"'
            elif rng.random() < 0.7:
                text, depth = text + rng.choice("[{"), depth + 1
            elif depth:
                text, depth = text + rng.choice("]}"), depth - 1
            most = max(most, depth)
        if most > MOST_NESTED:
            refused += 1
            with pytest.raises(pa.ArrowInvalid, match="nested more than"):
                check_json(text.encode())
        else:
            check_json(text.encode())
    assert 50 < refused < 150


PROMISES: list[str | bytes] = [
    "",
    "null",
    "[]",
    "[" * 100_000,
    '{"below": ' * 5000,
    '{"below": {"ts": %s}}' % ("9" * 400),
    '{"below": {"ts": -%s}}' % ("9" * 400),
    '{"below": {"ts": %s}}' % ("9" * 5000),
    '{"below": {"ts": NaN}}',
    '{"below": {"ts": true}}',
    '{"below": {"ts": null}}',
    '{"below": {"ts": "5"}}',
    '{"below": {"ts": [1]}}',
    '{"below": {"ts": {"$": "decimal", "v": "5"}}}',
    '{"below": {"ts": 1}, "where": {"k": [["a"]]}}',
    '{"below": {"ts": 1}, "where": {"k": {"$": "date", "v": "x"}}}',
    '{"below": {"ts": 1}, "where": {"k": {"$": "decimal", "v": "1E+999999999"}}}',
    '{"below": {"ts": 1}, "where": {"k": {"$": "decimal", "v": "sNaN"}}}',
    '{"below": {"ts": 1}, "where": {"k": {"$": "timedelta", "v": "%s"}}}' % ("9" * 5000),
    '{"below": {"ts": 1}, "where": {"k": %s}}' % ("9" * 400),
    '{"below": {"ts": 1}, "not_in": {"k": [1, {"$": "decimal", "v": "1E+999999999"}]}}',
    '{"end": false}',
    b'\xff\xfe{"below": {"ts": 1}}',
    b'{"below": {"ts": 1}, "where": {"k": "\xff"}}',
]


@pytest.mark.parametrize("number", range(len(PROMISES)))
def test_promises_in_files(tmp_path: Path, number: int) -> None:
    path, batch = tmp_path / "a.arrows", pa.record_batch({"ts": [1, 2], "k": [1, 2]})
    with pa.ipc.new_stream(str(path), batch.schema) as writer:
        writer.write_batch(batch)
        writer.write_batch(batch.slice(0, 0), custom_metadata={b"oop.punctuation": PROMISES[number]})
    with pytest.raises(OopError, match=r"(?s:.*)\nHint: "):
        run(path, punctuate=oop.punctuated())


def test_a_bound_beyond_all_times_given_by_hand() -> None:
    elements = [pa.record_batch({"ts": [1]}), oop.Punctuation({"ts": 10**400})]
    with pytest.raises(TimeError, match="beyond all times"):
        run(elements, punctuate=oop.punctuated())


def test_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo.csv")
    os.symlink("nowhere", "broken.csv")
    os.symlink("loop.csv", "loop.csv")
    os.symlink("/dev/zero", "zero.csv")
    for name in ("text.parquet", "text.arrow", "text.arrows", "unknown.txt", "none"):
        Path(name).write_text(TEXT)
    Path("empty.arrow").touch()
    Path("folder").mkdir()
    os.symlink("nowhere", "folder/a.csv")
    names = [
        *(path.name for path in tmp_path.iterdir()),
        "a\0b.csv",
        "x" * 5000 + ".csv",
        "fifo.csv/a.csv",
        "\udcff.csv",
    ]
    for name in [*names, "[", "~nobody-here/a.csv", "", "s3://bucket/a.parquet"]:
        with pytest.raises(OopError, match=r"(?s:.*)\nHint: "):
            run(name)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_a_file_that_may_not_be_read() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        path.write_text(TEXT)
        os.seteuid(65534)
        try:
            for data in (path, f"{folder}/*.csv", folder):
                with pytest.raises(SourceError, match=r"may not be read by this user"):
                    run(data)
        finally:
            os.seteuid(0)


def test_a_file_that_goes_away_while_it_is_read(tmp_path: Path) -> None:
    """It stays readable until it is closed; another under its name is not mixed in."""
    path = tmp_path / "a.arrow"
    oop.source(pa.table({"ts": range(300_000)}), time="ts", punctuate=oop.ordered()).run(to=path)
    found = oop.source(path, time="ts", punctuate=oop.punctuated()).run()
    first = next(iter(found))
    path.unlink()
    rest = sum(batch.num_rows for batch in found)
    assert first.num_rows + rest == 300_000
