"""Every kind of input gives its rows as often as it can, is looked at without loss, and says what it cannot be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import oop
from oop.errors import SourceError
from oop.io import text as text_files
from oop.io.opening import open_data
from oop.punctuation import END, Punctuation
from tests.oop_.io.inputs import BATCHES, ENDINGS, TABLE, N, P, batches_of, rows_of, until_error, write


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
