"""Every kind of input gives the same rows; what is damaged, consumed or of another schema says so."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

import oop
from oop.errors import SchemaMismatch, SourceError
from oop.io import text as text_files
from oop.io.data import Data
from oop.io.opening import open_data
from oop.punctuation import END, Punctuation

N = 1_000
TABLE = pa.table({"ts": list(range(N)), "k": [f"k{i % 7}" for i in range(N)]})
BATCHES = TABLE.to_batches(max_chunksize=100)
P = Punctuation(below={"ts": 5})


def batches_of(given: Data) -> list[pa.RecordBatch]:
    return [e for e in given.elements() if not isinstance(e, Punctuation)]


def rows_of(given: Data) -> list[dict[str, Any]]:
    return [row for batch in batches_of(given) for row in batch.to_pylist()]


def until_error(given: Data) -> tuple[list[dict[str, Any]], Exception]:
    """The rows that came, and the error that then did."""
    rows: list[dict[str, Any]] = []
    with pytest.raises((SourceError, SchemaMismatch)) as caught:
        for element in given.elements():
            rows += [] if isinstance(element, Punctuation) else element.to_pylist()
    return rows, caught.value


def write_ipc(path: Path, elements: list[Any], stream: bool, schema: pa.Schema = TABLE.schema) -> Path:
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(str(path), schema) as writer:
        for element in elements:
            if isinstance(element, Punctuation):
                empty = pa.RecordBatch.from_pylist([], schema=schema)
                writer.write_batch(empty, custom_metadata={"oop.punctuation": element.to_json()})
            else:
                writer.write_batch(element)
    return path


def write(path: Path) -> Path:
    name = path.name.removesuffix(".gz")
    if name.endswith((".parquet", ".pq")):
        pq.write_table(TABLE, path)
    elif name.endswith((".arrow", ".feather", ".ipc", ".arrows")):
        write_ipc(path, list(BATCHES), stream=name.endswith(".arrows"))
    elif name.endswith((".csv", ".tsv")):
        delimiter = "\t" if name.endswith(".tsv") else ","
        sink = pa.BufferOutputStream()
        arrow_csv.write_csv(TABLE, sink, arrow_csv.WriteOptions(delimiter=delimiter))
        put(path, sink.getvalue().to_pybytes())
    else:
        put(path, "".join(json.dumps(row) + "\n" for row in TABLE.to_pylist()).encode())
    return path


def put(path: Path, data: bytes) -> Path:
    path.write_bytes(gzip.compress(data) if path.name.endswith(".gz") else data)
    return path


ENDINGS = [".parquet", ".pq", ".arrow", ".feather", ".ipc", ".arrows", ".csv", ".tsv", ".json", ".jsonl"]
ENDINGS += [".ndjson", ".csv.gz", ".tsv.gz", ".json.gz", ".jsonl.gz", ".CSV"]


@pytest.mark.parametrize("block", [50, 1 << 20])
@pytest.mark.parametrize("ending", ENDINGS)
def test_files_give_their_rows_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, block: int
) -> None:
    monkeypatch.setattr(text_files, "BLOCK_BYTES", block)
    path = write(tmp_path / f"a{ending.lower()}").rename(tmp_path / f"x{ending}")
    given = open_data(path, batch_rows=64)
    assert (given.kind, given.label) == ("file", path.name)
    assert given.rows == (N if ending in (".parquet", ".pq") else None)
    assert given.schema == TABLE.schema
    for _ in range(2):
        assert rows_of(given) == TABLE.to_pylist()
    assert max(e.num_rows for e in batches_of(given)) <= 64
    assert rows_of(open_data(str(path), schema=TABLE.schema)) == TABLE.to_pylist()


class Frames:
    """An iterable that can be iterated again and is not a list."""

    def __iter__(self) -> Iterator[Any]:
        yield from BATCHES


class Exports:
    """An object that exports one Arrow array."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.batch = batch

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self.batch.__arrow_c_array__()


OBJECTS: dict[str, tuple[Callable[[], Any], str, str, int | None]] = {
    "table": (lambda: TABLE, "memory", "table", N),
    "batch": (lambda: TABLE.combine_chunks().to_batches()[0], "memory", "batch", N),
    "array": (lambda: Exports(TABLE.combine_chunks().to_batches()[0]), "memory", "batch", N),
    "pandas": (lambda: TABLE.to_pandas(), "memory", "pandas DataFrame", N),
    "polars": (lambda: pl.from_arrow(TABLE), "memory", "polars DataFrame", N),
    "duckdb": (lambda: duckdb.from_arrow(TABLE), "memory", "duckdb DuckDBPyRelation", None),
    "list": (lambda: list(BATCHES), "memory", "iterable", N),
    "tuple": (lambda: (TABLE[:10], *TABLE[10:].to_batches()), "memory", "iterable", N),
    "arrays": (lambda: [Exports(b) for b in BATCHES], "memory", "iterable", None),
    "frames": (lambda: [pl.from_arrow(b) for b in BATCHES], "memory", "iterable", None),
    "iterable": (Frames, "live", "iterable", None),
    "callable": (lambda: lambda: iter(BATCHES), "live", "callable", None),
    "callable table": (lambda: lambda: TABLE, "live", "callable", None),
    "callable reader": (lambda: lambda: TABLE.to_reader(), "live", "callable", None),
}


@pytest.mark.parametrize("declared", [None, TABLE.schema], ids=["found", "declared"])
@pytest.mark.parametrize("name", OBJECTS)
def test_objects_give_their_rows_each_time(name: str, declared: pa.Schema | None) -> None:
    make, kind, label, rows = OBJECTS[name]
    given = open_data(make(), schema=declared, batch_rows=64)
    assert (given.kind, given.label, given.count_rows()) == (kind, label, rows)
    for _ in range(2):
        assert rows_of(given) == TABLE.to_pylist()
    for element in batches_of(given):
        assert element.num_rows <= 64 and element.schema.equals(given.schema, check_metadata=True)
    if declared is not None:
        assert given.schema == declared


def test_slices_share_memory_and_small_batches_stay() -> None:
    batch = TABLE.combine_chunks().to_batches()[0]
    cut = batches_of(open_data(batch, batch_rows=300))
    assert [b.num_rows for b in cut] == [300, 300, 300, 100]
    assert {b.column(0).buffers()[1].address for b in cut} == {batch.column(0).buffers()[1].address}
    assert [b.num_rows for b in batches_of(open_data([batch[:7], batch[:0], batch[:3]]))] == [7, 0, 3]


def test_polars_strings_come_in_a_type_that_arrow_can_filter() -> None:
    frame = pl.DataFrame({"k": ["a", "b"], "c": pl.Series(["x", "y"], dtype=pl.Categorical)})
    given = open_data(frame)
    assert given.schema.field("k").type == pa.string()
    (batch,) = batches_of(given)
    assert batch.filter(pa.array([False, True])).to_pylist() == [{"k": "b", "c": "y"}]


def test_relations_of_one_duckdb_connection_are_read_side_by_side() -> None:
    with duckdb.connect() as connection:
        left, right = (connection.sql("select range as ts from range(5000)") for _ in range(2))
        a, b = open_data(left, batch_rows=10), open_data(right, batch_rows=10)
        together = list(zip(a.elements(), b.elements(), strict=True))
        assert len(together) == 500
        assert connection.sql("select 1").fetchall() == [(1,)]


# Used once


def generator() -> Iterator[Any]:
    yield from BATCHES


@pytest.mark.parametrize("make", [generator, lambda: TABLE.to_reader(), lambda: iter([TABLE])])
@pytest.mark.parametrize("declared", [None, TABLE.schema], ids=["found", "declared"])
def test_what_gives_its_rows_once_says_so_the_second_time(make: Callable[[], Any], declared: pa.Schema | None) -> None:
    given = open_data(make(), schema=declared)
    assert given.kind == "live"
    assert rows_of(given) == TABLE.to_pylist()
    with pytest.raises(SourceError, match=r"already consumed(.|\n)*callable"):
        given.elements()


def test_an_exporter_of_a_drained_stream_is_found_out() -> None:
    class Once:
        def __init__(self) -> None:
            self.reader = TABLE.to_reader()

        def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
            return self.reader.__arrow_c_stream__()

    given = open_data(Once())
    assert rows_of(given) == TABLE.to_pylist()
    assert "already consumed" in str(until_error(given)[1])


def test_a_callable_is_called_once_for_each_run() -> None:
    calls = []

    def make() -> Iterator[Any]:
        calls.append(1)
        return iter(BATCHES)

    given = open_data(make)
    assert len(calls) == 1
    assert rows_of(given) == rows_of(given) == TABLE.to_pylist()
    assert len(calls) == 2


# Peeking


def test_peeking_reads_one_batch_and_loses_nothing() -> None:
    taken = []

    def live() -> Iterator[Any]:
        for element in [P, Punctuation(below={"ts": 7}), *BATCHES, END]:
            taken.append(element)
            yield element

    given = open_data(live())
    assert len(taken) == 3
    assert list(given.elements()) == [P, Punctuation(below={"ts": 7}), *BATCHES, END]


def test_a_declared_schema_leaves_the_iterable_alone() -> None:
    def live() -> Iterator[Any]:
        raise AssertionError("touched")
        yield

    class Live:
        def __iter__(self) -> Iterator[Any]:
            raise AssertionError("touched")

    for data in (live(), live, Live()):
        given = open_data(data, schema=TABLE.schema)
        with pytest.raises(AssertionError, match="touched"):
            list(given.elements())


@pytest.mark.parametrize("data", [[], iter([]), [P, END], lambda: []])
def test_no_batch_and_no_schema(data: Any) -> None:
    with pytest.raises(SourceError, match=r"no batch(.|\n)*schema="):
        open_data(data)


def test_no_batch_with_a_schema_is_an_empty_stream() -> None:
    assert list(open_data([], schema=TABLE.schema).elements()) == []
    assert list(open_data([P, END], schema=TABLE.schema).elements()) == [P, END]
    assert open_data([TABLE[:0]]).schema == TABLE.schema
    assert rows_of(open_data(TABLE.schema.empty_table())) == []


# Wrong things


@pytest.mark.parametrize("data", [None, 7, b"bytes", {"ts": [1]}, pl.LazyFrame({"ts": [1]}), pd.Series([1])])
def test_what_cannot_be_read(data: Any) -> None:
    with pytest.raises(SourceError, match=r"cannot read a (.|\n)*RecordBatch"):
        open_data(data)


@pytest.mark.parametrize(("wrong", "name"), [({"ts": 1}, "dict"), ("a.csv", "str"), (None, "NoneType")])
def test_a_wrong_element_is_named_after_what_came_before(wrong: object, name: str) -> None:
    rows, error = until_error(open_data([BATCHES[0], P, wrong, BATCHES[1]]))
    assert rows == BATCHES[0].to_pylist()
    assert f"element 2 (from 0) is a {name}" in str(error)


def test_a_spark_frame_needs_the_spark_engine() -> None:
    field = {"name": "ts", "type": "long", "nullable": True}
    schema = SimpleNamespace(jsonValue=lambda: {"fields": [field]})
    members = {"__module__": "pyspark.sql.dataframe", "mapInArrow": None, "isStreaming": True, "schema": schema}
    frame = type("DataFrame", (), members)()
    stream = oop.source(frame, time="ts", punctuate=oop.ordered())
    assert stream.schema == pa.schema({"ts": pa.int64()})
    with pytest.raises(SourceError, match="only on the Spark engine"):
        stream.run().to_table()


def test_batch_rows_must_be_positive() -> None:
    with pytest.raises(ValueError, match="batch_rows"):
        open_data(TABLE, batch_rows=0)


def test_an_error_of_the_users_own_iterable_is_left_alone() -> None:
    def live() -> Iterator[Any]:
        yield BATCHES[0]
        raise ConnectionResetError("gone")

    with pytest.raises(ConnectionResetError, match="gone"):
        list(open_data(live()).elements())


# Schemas between batches


def test_a_schema_that_changes_loses_nothing_before_it() -> None:
    changed = pa.record_batch({"ts": [1.5], "k": ["a"]})
    rows, error = until_error(open_data([BATCHES[0], P, BATCHES[1], changed, BATCHES[2]]))
    assert rows == TABLE[:200].to_pylist()
    assert isinstance(error, SchemaMismatch)
    assert "batch 2 (from 0) of iterable: column 'ts' is double, the stream has int64" in str(error)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"ts": [1]}, "column 'k' is missing; the stream has it as string"),
        ({"ts": [1], "k": ["a"], "z": [1]}, "column 'z' (int64) is new; the stream has ts, k"),
        ({"ts": pa.array([1], pa.int32()), "k": ["a"]}, "column 'ts' is int32, the stream has int64"),
        ({"ts": pa.array([1], pa.timestamp("s")), "k": ["a"]}, "column 'ts' is timestamp[s]"),
    ],
)
def test_what_differs_is_said(columns: dict[str, Any], said: str) -> None:
    assert said in str(until_error(open_data([BATCHES[0], pa.record_batch(columns)]))[1])


@pytest.mark.parametrize(
    "other",
    [
        {"k": ["a"], "ts": [1]},
        {"ts": [1], "k": pa.array(["a"]).dictionary_encode()},
        {"ts": [1], "k": pa.array(["a"], pa.large_string())},
        {"ts": [1], "k": pa.array(["a"], pa.string_view())},
        {"ts": pa.array([1]).dictionary_encode(), "k": ["a"]},
        {"ts": [1], "k": pc.run_end_encode(pa.array(["a"]))},
        {"ts": pc.run_end_encode(pa.array([1])), "k": pc.run_end_encode(pa.array(["a"]))},
    ],
)
def test_order_and_encoding_may_differ(other: dict[str, Any]) -> None:
    batch = pa.record_batch(other)
    for data in ([BATCHES[0], batch], [batch, BATCHES[0]]):
        given = open_data(data)
        assert {e.schema for e in batches_of(given)} == {given.schema}
        assert {"ts": 1, "k": "a"} in rows_of(given)


def test_a_small_dictionary_is_widened() -> None:
    """Its indices fit one batch, not what several batches or a window hold together."""
    schema = pa.schema({"k": pa.dictionary(pa.int8(), pa.string())})
    many = pa.record_batch({"k": [str(i) for i in range(1000)]})
    given = open_data([many], schema=schema)
    assert given.schema.field("k").type == pa.dictionary(pa.int32(), pa.string())
    assert len(rows_of(given)) == 1000


def _inside(nested: str, texts: list[str], index: pa.DataType) -> pa.Array:
    coded = pa.array(texts).dictionary_encode().cast(pa.dictionary(index, pa.string()))
    if nested == "struct":
        return pa.StructArray.from_arrays([coded], ["x"])
    ends = pa.array(range(len(texts) + 1), pa.int32())
    if nested == "map":
        return pa.MapArray.from_arrays(ends, pa.array(texts), coded)
    if nested == "large list":
        return pa.LargeListArray.from_arrays(ends.cast(pa.int64()), coded)
    return pa.ListArray.from_arrays(ends, coded) if nested == "list" else pa.FixedSizeListArray.from_arrays(coded, 1)


@pytest.mark.parametrize("nested", ["struct", "list", "large list", "fixed list", "map"])
def test_small_dictionaries_inside_of_other_values_are_widened(nested: str) -> None:
    def some(first: int, index: pa.DataType) -> pa.RecordBatch:
        texts = [f"v{i}" for i in range(first, first + 100)]
        return pa.record_batch({"ts": range(100), "k": _inside(nested, texts, index)})

    batches = [some(0, pa.int8()), some(100, pa.uint8()), some(200, pa.int64())]
    left, right = (oop.source(batches, time="ts", punctuate=oop.slack(500)) for _ in range(2))
    assert oop.union(left, right).sort().run().to_table().num_rows == 600
    assert left.join(right, within=(0, 0)).run().to_table().num_rows == 900
    assert oop.source(batches, time="ts", punctuate=oop.ordered()).run().to_table().num_rows == 102
    with pytest.raises(oop.OopError, match="has no order"):
        left.dedup("ts", keep="first")


@pytest.mark.parametrize("late", ["drop", "admit", "raise"])
@pytest.mark.parametrize("encode", [pc.run_end_encode, pc.dictionary_encode])
def test_encoded_columns_and_late_rows(encode: Callable[[pa.Array], pa.Array], late: str) -> None:
    """pyarrow cannot filter runs, and a late row is filtered out."""
    times, keys = [5, 9, 2, None, 12, 3], ["a", "a", "b", "b", None, "b"]
    table = pa.table({"ts": times, "k": encode(pa.array(keys)), "n": encode(pa.array([1, 1, 1, 2, None, 2]))})
    options: dict[str, Any] = {"time": "ts", "name": "s", "late": late, "nulls": "aside"}
    for data in (table, [b for i in (0, 2, 4) for b in table.slice(i, 2).to_batches()]):
        stream = oop.source(data, punctuate=oop.ordered(), **options).filter(oop.col("k") != "x")
        run = stream.window(oop.tumbling(10)).group_by("k").agg(n=oop.sum("n")).run()
        if late == "raise":
            with pytest.raises(oop.LateRow, match=r"ts=2, k='b', n=1"):
                run.to_table()
            continue
        found = {(r["window_start"], r["k"]): r["n"] for r in run.to_table().to_pylist()}
        assert found == {"admit": {(0, "a"): 2, (0, "b"): 3}, "drop": {(0, "a"): 2}}[late]
        assert [(r["ts"], r["k"], r["n"]) for r in run.late["s"].to_pylist() if r["ts"]] == [(2, "b", 1), (3, "b", 2)]
        assert [(r["k"], r["n"]) for r in run.late["s"].to_pylist() if not r["ts"]] == [("b", 2)]


def test_a_time_in_runs_is_a_time() -> None:
    times = pc.run_end_encode(pa.array([5, 5, 3, 20]))
    run = oop.source(pa.table({"ts": times}), time="ts", punctuate=oop.ordered()).run()
    assert run.to_table().to_pydict() == {"ts": [5, 5, 20]}
    assert len(run.late) == 1


def test_metadata_and_nullability_are_ignored() -> None:
    strict = pa.schema([pa.field("ts", pa.int64(), nullable=False, metadata={"a": "b"})], metadata={"c": "d"})
    loose = pa.record_batch({"ts": [None, 2]}, schema=pa.schema({"ts": pa.int64()}))
    given = open_data([pa.record_batch({"ts": [1]}, schema=strict), loose])
    assert [row["ts"] for row in rows_of(given)] == [1, None, 2]
    assert len({str(e.schema) for e in batches_of(given)}) == 1


def test_a_column_of_only_nulls_takes_the_declared_type() -> None:
    nulls = pa.record_batch({"ts": [3], "k": pa.nulls(1)})
    assert rows_of(open_data([BATCHES[0], nulls]))[-1] == {"ts": 3, "k": None}


def test_two_columns_of_one_name() -> None:
    twice = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], names=["ts", "ts"])
    with pytest.raises(SchemaMismatch, match="two columns are named 'ts'"):
        open_data(twice)
    with pytest.raises(SchemaMismatch, match="two columns are named 'ts'"):
        list(open_data([twice], schema=pa.schema({"ts": pa.int64()})).elements())


@pytest.mark.parametrize("data", [TABLE, TABLE.to_reader()])
def test_a_declared_schema_is_checked_where_the_real_one_is_known(data: Any) -> None:
    with pytest.raises(SchemaMismatch, match="column 'k' is string, the declared schema has int64"):
        open_data(data, schema=pa.schema({"ts": pa.int64(), "k": pa.int64()}))


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


# Damage


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
