"""Whole pipelines through the public interface, against DuckDB and plain Python on seeded data."""

from __future__ import annotations

import inspect
import math
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import oop
from oop.testing import Harness

INT_TIME = pa.schema({"ts": pa.int64()})
Row = dict[str, Any]


def source(data: Any, policy: Any = None, **options: Any) -> oop.Stream:
    policy = oop.ordered() if policy is None else policy
    return oop.source(data, **{"time": "ts", "punctuate": policy, **options})


def packets(rows: int = 2_000, seed: int = 1, disorder: int = 40, span: int = 3_000) -> pa.Table:
    """Rows in the order of arrival, each up to ``disorder`` behind, some from before 0."""
    rng = random.Random(seed)
    times = sorted((rng.randrange(-span // 3, span) for _ in range(rows)), key=lambda t: t + rng.randrange(disorder))
    return pa.table(
        {
            "ts": times,
            "src": [rng.choice(["a", "b", "c", None]) for _ in times],
            "port": [rng.randrange(3) for _ in times],
            "len": [rng.choice([None, rng.randrange(40, 1500)]) for _ in times],
        }
    )


PACKETS = packets()


def lit_windows(
    rows: Sequence[Row],
    range_: float,
    slide: float,
    keys: Sequence[str] = (),
    column: str | None = None,
    offset: float = 0,
) -> list[Row]:
    """Count, sum, min and max of each window and group: the definition in plain Python."""
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        wid = math.floor((row["ts"] - offset) / slide)
        while offset + wid * slide + range_ > row["ts"]:
            if offset + wid * slide <= row["ts"]:
                groups.setdefault((offset + wid * slide, *(row[k] for k in keys)), []).append(row)
            wid -= 1
    out = []
    for (start, *key), members in groups.items():
        values = [m[column] for m in members if m[column] is not None] if column else []
        out.append(
            {
                "window_start": start,
                "window_end": start + range_,
                **dict(zip(keys, key, strict=True)),
                "n": len(members),
                **({"total": sum(values) if values else None} if column else {}),
                **({"least": min(values, default=None), "most": max(values, default=None)} if column else {}),
            }
        )
    return out


def bag(rows: Sequence[Row]) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in rows)


def bag_of_text(rows: Sequence[Row]) -> Counter[str]:
    """A CSV file need not tell a null from an empty string."""
    return bag([{**row, "src": row["src"] or None} for row in rows])


def per_pair(stream: oop.Stream) -> oop.Stream:
    return stream.window(oop.sliding(100, every=30)).group_by("src", "port").agg(**stats("len"))


def stats(column: str) -> dict[str, Any]:
    return {"n": oop.count(), "total": oop.sum(column), "least": oop.min(column), "most": oop.max(column)}


def rows_of(stream: oop.Stream, **engine: Any) -> list[Row]:
    return stream.run(engine=oop.Embedded(check=True, **engine)).to_table().to_pylist()


EXPECTED = bag(lit_windows(PACKETS.to_pylist(), 100, 30, ["src", "port"], "len"))


# --- every kind of input gives the same answer


def with_promises(table: pa.Table, rows: int = 100) -> list[Any]:
    times = table.column("ts").to_numpy()
    least = np.minimum.accumulate(times[::-1])[::-1]
    out: list[Any] = []
    for at in range(0, len(times), rows):
        out += table.slice(at, rows).combine_chunks().to_batches()
        out.append(oop.Punctuation(below={"ts": int(least[at + rows])}) if at + rows < len(times) else oop.END)
    return out


def in_file(write: Callable[[Path], None], name: str) -> Callable[[Path], Any]:
    def make(folder: Path) -> Path:
        write(folder / name)
        return folder / name

    return make


def write_ipc(path: Path, open_: Callable[..., Any]) -> None:
    with open_(path, PACKETS.schema) as writer:
        for batch in PACKETS.to_batches(max_chunksize=300):
            writer.write_batch(batch)


def write_csv(path: Path) -> None:
    from pyarrow import csv

    csv.write_csv(PACKETS, path)


def write_json(path: Path) -> None:
    import json

    path.write_text("".join(json.dumps(row) + "\n" for row in PACKETS.to_pylist()), encoding="utf-8")


def two_files(folder: Path) -> list[Path]:
    paths = [folder / "a.parquet", folder / "b.parquet"]
    pq.write_table(PACKETS.slice(0, 900), paths[0])
    pq.write_table(PACKETS.slice(900), paths[1])
    return paths


def from_polars(folder: Path) -> Any:
    return pytest.importorskip("polars").from_arrow(PACKETS)


def from_pandas(folder: Path) -> Any:
    pytest.importorskip("pandas")
    return PACKETS.to_pandas(types_mapper={pa.int64(): pd_int64()}.get)


def pd_int64() -> Any:
    import pandas as pd

    return pd.Int64Dtype()


def from_duckdb(folder: Path) -> Any:
    duckdb = pytest.importorskip("duckdb")
    pq.write_table(PACKETS, folder / "packets.parquet")
    return duckdb.read_parquet(str(folder / "packets.parquet"))


INPUTS: dict[str, Callable[[Path], Any]] = {
    "Parquet": in_file(lambda p: pq.write_table(PACKETS, p, row_group_size=300), "p.parquet"),
    "IPC file": in_file(lambda p: write_ipc(p, pa.ipc.new_file), "p.arrow"),
    "IPC stream": in_file(lambda p: write_ipc(p, pa.ipc.new_stream), "p.arrows"),
    "CSV": in_file(write_csv, "p.csv"),
    "JSON lines": in_file(write_json, "p.jsonl"),
    "several files": two_files,
    "a glob": lambda folder: str(two_files(folder)[0].with_name("*.parquet")),
    "Table": lambda folder: PACKETS,
    "RecordBatch": lambda folder: PACKETS.combine_chunks().to_batches()[0],
    "reader": lambda folder: PACKETS.to_reader(max_chunksize=77),
    "list of batches": lambda folder: PACKETS.to_batches(max_chunksize=50),
    "list of tables": lambda folder: [PACKETS.slice(i, 190) for i in range(0, PACKETS.num_rows, 190)],
    "generator": lambda folder: (PACKETS.slice(i, 10) for i in range(0, PACKETS.num_rows, 10)),
    "with empty batches": lambda folder: [PACKETS.slice(0, 0), PACKETS, PACKETS.slice(0, 0)],
    "callable": lambda folder: lambda: iter(PACKETS.to_batches(max_chunksize=99)),
    "Polars": from_polars,
    "pandas": from_pandas,
    "DuckDB": from_duckdb,
}


@pytest.mark.parametrize("kind", INPUTS)
def test_every_kind_of_input(kind: str, tmp_path: Path) -> None:
    run = per_pair(source(INPUTS[kind](tmp_path), oop.slack(40))).run()
    assert bag_of_text(run.to_table().to_pylist()) == EXPECTED
    assert len(run.late) == 0


@pytest.mark.parametrize("kind", ["iterable", "callable", "IPC file", "IPC stream"])
def test_promises_in_the_data(kind: str, tmp_path: Path) -> None:
    elements = with_promises(PACKETS)
    data: Any = {"iterable": elements, "callable": lambda: iter(elements)}.get(kind)
    if data is None:
        data = tmp_path / ("p.arrow" if kind == "IPC file" else "p.arrows")
        with (pa.ipc.new_file if kind == "IPC file" else pa.ipc.new_stream)(data, PACKETS.schema) as writer:
            nothing = PACKETS.schema.empty_table().combine_chunks().to_batches() or [
                pa.RecordBatch.from_pylist([], schema=PACKETS.schema)
            ]
            for element in elements:
                if isinstance(element, oop.Punctuation):
                    metadata = {"oop.punctuation": element.to_json()}
                    writer.write_batch(nothing[0], custom_metadata=metadata)
                else:
                    writer.write_batch(element)
    run = per_pair(source(data, oop.punctuated())).run()
    found = list(run.elements())
    batches = [e for e in found if isinstance(e, pa.RecordBatch)]
    assert bag([row for b in batches for row in b.to_pylist()]) == EXPECTED
    assert len(run.late) == 0
    assert found[-1] is oop.END or found[-1].is_end
    assert len(batches) > 5, "results come as the stream goes on"


# --- streams with little in them


def elements_of(stream: oop.Stream) -> list[Any]:
    return [e if isinstance(e, oop.Punctuation) else e.to_pylist() for e in stream.run().elements()]


def tumbled(data: Any, policy: Any = None, **options: Any) -> oop.Stream:
    return source(data, policy, **options).window(oop.tumbling(10)).agg(n=oop.count())


@pytest.mark.parametrize("policy", [oop.ordered(), oop.slack(3), oop.slack(rows=2), oop.punctuated(), oop.at_end()])
def test_empty_streams(policy: Any) -> None:
    for data in ([], iter(()), INT_TIME.empty_table(), lambda: [], [INT_TIME.empty_table()] * 2):
        stream = tumbled(data, policy, schema=INT_TIME)
        run = stream.run()
        table = run.to_table()
        assert table.num_rows == 0
        assert table.schema == pa.schema({"window_start": pa.int64(), "window_end": pa.int64(), "n": pa.int64()})
        assert len(run.late) == 0
        assert run.late.to_table().num_rows == 0


def test_an_empty_iterable_without_schema_is_refused() -> None:
    with pytest.raises(oop.SourceError, match=r"schema=") as error:
        source([])
    assert_line(error)


def test_a_stream_of_only_promises() -> None:
    promises = [oop.Punctuation(below={"ts": t}) for t in (5, 25, 25, 10, 31)]
    found = elements_of(tumbled(promises, oop.punctuated(), schema=INT_TIME))
    assert found[-1] == oop.END
    starts = [p.below["window_start"] for p in found[:-1] if "window_start" in p.below]
    ends = [p.below["window_end"] for p in found[:-1] if "window_end" in p.below]
    assert starts == [0, 20, 30]
    assert ends == [10, 30, 40]


def test_promises_only_at_the_end() -> None:
    table = pa.table({"ts": [15, 5, 2, 31]})
    expected = [(0, 2), (10, 1), (30, 1)]
    for data, policy in (
        (table, oop.at_end()),
        (table, oop.punctuated()),
        ([table, oop.END], oop.punctuated()),
        ([table, oop.Punctuation(below={"ts": 100})], oop.punctuated()),
        ([table, oop.Punctuation(below={"ts": math.inf})], oop.punctuated()),
    ):
        run = tumbled(data, policy).run()
        assert [(r["window_start"], r["n"]) for r in run.to_table().to_pylist()] == expected
        assert len(run.late) == 0


def test_one_group_of_all_rows_ends_with_the_stream() -> None:
    assert rows_of(source(PACKETS, oop.at_end()).agg(n=oop.count())) == [{"n": PACKETS.num_rows}]


# --- what goes wrong in the middle


def test_a_schema_that_changes_loses_nothing_before_it() -> None:
    batches = [pa.table({"ts": [1, 12]}), pa.table({"ts": [25]}), pa.table({"ts": ["30"]})]
    found = []
    run = tumbled(iter(batches)).run()
    with pytest.raises(oop.SchemaMismatch, match="batch 2") as error:
        for batch in run:
            found += batch.to_pylist()
    assert [(r["window_start"], r["n"]) for r in found] == [(0, 1), (10, 1)]
    assert "ts" in str(error.value)
    assert_line(error)


@pytest.mark.parametrize(
    "changed",
    [pa.table({"ts": [3], "v": [1]}), pa.table({"v": [3]}), pa.table({"ts": [True]})],
    ids=["a new column", "a column less", "another type"],
)
def test_schemas_that_do_not_fit(changed: pa.Table) -> None:
    run = source([pa.table({"ts": [1, 2]}), changed]).run()
    found: list[Row] = []
    with pytest.raises(oop.SchemaMismatch):
        for batch in run:
            found += batch.to_pylist()
    assert found == [{"ts": 1}, {"ts": 2}]


def test_a_reader_that_fails_loses_nothing_before_it() -> None:
    def broken() -> Iterator[pa.Table]:
        yield pa.table({"ts": [1, 12]})
        raise OSError("the cable is out")

    found: list[Row] = []
    with pytest.raises(OSError, match="the cable is out") as error:
        for batch in tumbled(broken()).run():
            found += batch.to_pylist()
    assert found == [{"window_start": 0, "window_end": 10, "n": 1}]
    assert Path(__file__).name in "".join(error.value.__notes__)


def test_a_time_without_value_names_row_and_column() -> None:
    data = [pa.table({"ts": [1, 2]}), pa.table({"ts": pa.array([12, None, 25], pa.int64())})]
    found: list[Row] = []
    with pytest.raises(oop.TimeError, match=r"row 3 .*'ts'") as error:
        for batch in tumbled(data).run():
            found += batch.to_pylist()
    # the row before the bad one promises ts < 12, wherever batches were cut
    assert found == [{"window_start": 0, "window_end": 10, "n": 2}]
    found.clear()
    assert_line(error)
    for batch in source(data).run():
        found += batch.to_pylist()
        if len(found) == 3:
            break
    assert [r["ts"] for r in found] == [1, 2, 12]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None])
def test_times_that_are_no_time(bad: float | None) -> None:
    table = pa.table({"ts": pa.array([1.0, bad, 3.0], pa.float64()), "v": [1, 2, 3]})
    with pytest.raises(oop.TimeError, match=r"row 1 .*'ts'"):
        source(table).run().to_table()
    run = source(table, nulls="aside").run()
    assert run.to_table().column("v").to_pylist() == [1, 3]
    assert len(run.late) == 1
    assert run.late.to_table().column("v").to_pylist() == [2]


def test_rows_without_time_are_counted_beside_late_ones() -> None:
    table = pa.table({"ts": pa.array([5, None, 3, 9, None], pa.int64()), "v": [1, 2, 3, 4, 5]})
    run = source(table, nulls="aside").run()
    assert run.to_table().column("v").to_pylist() == [1, 4]
    assert sorted(run.late.to_table().column("v").to_pylist()) == [2, 3, 5]
    ledger = run.late.sources["table"]
    assert (ledger.late, ledger.without_time) == (1, 2)


def test_rows_are_numbered_as_they_came() -> None:
    """Rows set aside count too."""
    table = pa.table({"ts": pa.array([None, 5, None, 3], pa.int64())})
    for data in (table, [table.slice(i, 1) for i in range(4)]):
        with pytest.raises(oop.LateRow, match="row 3 "):
            source(data, nulls="aside", late="raise").run().to_table()


@pytest.mark.parametrize("batch_rows", [1, 2, 100])
def test_late_rows(batch_rows: int) -> None:
    table = pa.table({"ts": [5, 14, 7, 13, 30, 29, 2], "v": [1, 2, 3, 4, 5, 6, 7]})
    data = [table.slice(i, batch_rows) for i in range(0, 7, batch_rows)]
    run = source(data, oop.slack(2)).run()
    assert run.to_table().column("v").to_pylist() == [1, 2, 4, 5, 6]
    late = run.late.to_table().to_pylist()
    assert [(r["v"], r["broke"], r["late_by"]) for r in late] == [(3, "ts < 12", 5.0), (7, "ts < 28", 26.0)]

    found: list[Row] = []
    with pytest.raises(oop.LateRow, match=r"row 2 .*ts < 12") as error:
        for batch in source(data, oop.slack(2), late="raise").run():
            found += batch.to_pylist()
    assert [r["v"] for r in found] == [1, 2]
    assert_line(error)

    admitted = source(data, oop.slack(2), late="admit").window(oop.tumbling(10)).agg(v=oop.sum("v")).run()
    totals = {r["window_start"]: r["v"] for r in admitted.to_table().to_pylist()}
    unused = sum(b.late_unused for b in admitted.metrics.boxes)
    assert len(admitted.late) == 2
    assert sum(totals.values()) + {0: 0, 1: 7, 2: 10}[unused] == 28  # what came too late is counted, no more


def test_admitted_rows_enter_what_is_open() -> None:
    data = [
        pa.table({"ts": [1, 6], "v": [1, 2]}),
        oop.Punctuation(below={"ts": 12}),
        pa.table({"ts": [11, 6, 1], "v": [4, 8, 16]}),
    ]
    stream = source(data, oop.punctuated(), late="admit").window(oop.sliding(10, every=5)).agg(v=oop.sum("v"))
    run = stream.run()
    totals = [(r["window_start"], r["v"]) for r in run.to_table().to_pylist()]
    assert totals == [(-5, 1), (0, 3), (5, 2 + 4 + 8), (10, 4)]
    assert len(run.late) == 3
    assert run.metrics.box("Aggregate").late_unused == 1


def test_late_of_a_whole_pipeline() -> None:
    stream = source(pa.table({"ts": [5, 1]})).filter(oop.col("ts") > 0)
    assert stream.run().to_table().num_rows == 1
    assert stream.late("admit").run().to_table().num_rows == 2
    with pytest.raises(oop.LateRow):
        stream.late("raise").run().to_table()


# --- windows


@pytest.mark.parametrize(
    ("range_", "slide", "offset"), [(10, 10, 0), (10, 10, -3), (25, 10, 4), (7, 3, 0), (3, 8, 5), (100, 7, 1)]
)
@pytest.mark.parametrize("unit", ["int", "float", "timestamp", "date"])
def test_times_before_and_after_zero(range_: int, slide: int, offset: int, unit: str) -> None:
    numbers = packets(300, seed=range_, disorder=20, span=200)
    rows = numbers.to_pylist()
    expected = bag(lit_windows(rows, range_, slide, ["src"], "len", offset))
    types = {"int": pa.int64(), "float": pa.float64(), "timestamp": pa.timestamp("s", "Asia/Kolkata")}
    type_ = types.get(unit, pa.date32())
    column = numbers.column("ts")
    column = column.cast(pa.int32()).cast(type_) if unit == "date" else column.cast(type_)
    table = numbers.set_column(0, "ts", column)
    window = oop.sliding(range_, slide, offset)
    found = source(table, oop.slack(20)).window(window).group_by("src").agg(**stats("len")).run().to_table()
    assert found.schema.field("window_end").type == type_
    for name in ("window_start", "window_end"):
        plain = found.column(name).cast(pa.int32()) if unit == "date" else found.column(name)
        at = found.schema.get_field_index(name)
        found = found.set_column(at, name, plain.cast(pa.int64()))
    assert bag(found.to_pylist()) == expected


def test_durations_in_words_before_1970() -> None:
    start = datetime(1969, 12, 31, 23, 58, tzinfo=UTC)
    times = [start + timedelta(seconds=s) for s in (0, 59, 60, 121, 130)]
    for unit in ("s", "ms", "us", "ns"):
        table = pa.table({"ts": pa.array(times, pa.timestamp(unit, "UTC"))})
        found = source(table).window(oop.tumbling("1min")).agg(n=oop.count()).run().to_table()
        starts = found.column("window_start").cast(pa.timestamp("us", "UTC")).to_pylist()
        assert starts == [start, start + timedelta(minutes=1), start + timedelta(minutes=2)]
        assert found.column("n").to_pylist() == [2, 1, 2]
        found = source(table).window(oop.tumbling(timedelta(minutes=1))).agg(n=oop.count()).run().to_table()
        assert found.column("n").to_pylist() == [2, 1, 2]


def test_promises_as_datetimes() -> None:
    day = pa.table({"ts": pa.array([date(1969, 12, 30), date(1970, 1, 2)])})
    promise = oop.Punctuation(below={"ts": date(1970, 1, 1)})
    found = elements_of(source([day, promise], oop.punctuated()).window(oop.tumbling("24h")).agg(n=oop.count()))
    assert [r["window_start"] for r in found[0]] == [date(1969, 12, 30)]


def test_a_thousand_panes() -> None:
    """Windows of 1,000 s that begin every second, in several groups."""
    rng = np.random.default_rng(5)
    times = np.sort(rng.integers(0, 1_100, 3_000))
    table = pa.table({"ts": times, "k": rng.integers(0, 3, 3_000), "v": rng.integers(-50, 50, 3_000)})
    stream = source(table, oop.ordered(every=50)).window(oop.sliding(1_000, every=1)).group_by("k")
    began = time.perf_counter()
    found = stream.agg(n=oop.count(), s=oop.sum("v"), most=oop.max("v")).run().to_table()
    took = time.perf_counter() - began
    found = found.sort_by([("window_start", "ascending"), ("k", "ascending")])
    starts = np.arange(-999, 1_100)
    values, keys = table.column("v").to_numpy(), table.column("k").to_numpy()
    expected = []
    for start in starts[starts <= times[-1]]:
        low, high = np.searchsorted(times, [start, start + 1_000])
        for key in np.unique(keys[low:high]):
            inside = values[low:high][keys[low:high] == key]
            expected.append((start, start + 1_000, key, len(inside), inside.sum(), inside.max()))
    assert np.array_equal(np.array(expected), np.column_stack([c.to_numpy() for c in found.columns]))
    assert took < 30


def test_a_chain_of_two_windows() -> None:
    """Counts in 10 s, then the greatest of them in 60 s every 20 s; promises go all the way."""
    first = source(PACKETS, oop.slack(40)).window(oop.tumbling(10)).group_by("port").agg(n=oop.count())
    second = first.window(oop.sliding(60, every=20)).group_by("port").agg(most=oop.max("n"), cells=oop.count())
    inner = lit_windows(PACKETS.to_pylist(), 10, 10, ["port"])
    rows = [{"ts": r["window_start"], "port": r["port"], "n": r["n"]} for r in inner]
    expected = [
        {
            "window_start": r["window_start"],
            "window_end": r["window_end"],
            "port": r["port"],
            "most": r["most"],
            "cells": r["n"],
        }
        for r in lit_windows(rows, 60, 20, ["port"], "n")
    ]
    assert bag(rows_of(second)) == bag(expected)
    promises = [p for p in second.run().elements() if isinstance(p, oop.Punctuation)]
    assert {a for p in promises for a in p.below} == {"window_start", "window_end"}
    by_end = first.window(oop.tumbling(60), on="window_end").agg(n=oop.sum("n"))
    assert sum(r["n"] for r in rows_of(by_end)) == PACKETS.num_rows


def test_windows_on_several_attributes() -> None:
    """Netflow: exported in the order of their end, up to 60 s long (OOP paper, section 3.1, example 3)."""
    rng = random.Random(3)
    ends = sorted(rng.randrange(1_000) for _ in range(500))
    table = pa.table({"start": [e - rng.randrange(61) for e in ends], "end": ends, "bytes": list(range(500))})
    policies = {"end": oop.ordered(), "start": oop.slack(60)}
    flows = oop.source(table, time="end", punctuate=policies)
    for on in ("start", "end"):
        run = flows.window(oop.sliding(50, every=25), on=on).agg(n=oop.count(), b=oop.sum("bytes")).run()
        rows = [{"ts": r[on], "bytes": r["bytes"]} for r in table.to_pylist()]
        expected = [
            {"window_start": r["window_start"], "window_end": r["window_end"], "n": r["n"], "b": r["total"]}
            for r in lit_windows(rows, 50, 25, [], "bytes")
        ]
        assert bag(run.to_table().to_pylist()) == bag(expected)
        assert len(run.late) == 0
    short = oop.source(table, time="end", punctuate={"end": oop.ordered(), "start": oop.slack(20)}).run()
    short.to_table()
    greatest, late = -(10**9), 0
    for row in table.to_pylist():
        late += row["start"] < greatest - 20
        greatest = max(greatest, row["start"])
    assert len(short.late) == late > 0
    with pytest.raises(oop.NeverEmits, match="'start'"):
        oop.source(table, time="end", punctuate=oop.ordered()).window(oop.tumbling(9), on="start").agg(
            n=oop.count()
        ).run()


def test_a_second_attribute_may_be_null() -> None:
    table = pa.table({"ts": [1, 2, 3, 4], "end": pa.array([5, None, 9, 7], pa.int64())})
    run = source(table, {"ts": oop.ordered(), "end": oop.ordered()}).run()
    assert run.to_table().column("ts").to_pylist() == [1, 2, 3]
    assert run.late.to_table().column("broke").to_pylist() == ["end < 9"]


def test_group_by_a_progressing_attribute() -> None:
    stream = source(PACKETS, oop.slack(40))
    found = stream.group_by("ts", "port").agg(n=oop.count(), most=oop.max("len"))
    groups: dict[tuple[int, int], list[Row]] = {}
    for row in PACKETS.to_pylist():
        groups.setdefault((row["ts"], row["port"]), []).append(row)
    expected = [
        {
            "ts": t,
            "port": p,
            "n": len(rows),
            "most": max((r["len"] for r in rows if r["len"] is not None), default=None),
        }
        for (t, p), rows in groups.items()
    ]
    assert bag(rows_of(found)) == bag(expected)
    by_minute = rows_of(stream.group_by(minute=oop.col("ts") // 60).agg(n=oop.count()))
    assert {r["minute"]: r["n"] for r in by_minute} == Counter(r["ts"] // 60 for r in PACKETS.to_pylist())
    leaves_early = list(stream.group_by("ts").agg(n=oop.count()).run().elements())
    assert leaves_early[0].num_rows < PACKETS.num_rows


# --- plans that are not a line


def test_a_diamond_runs_its_source_once() -> None:
    read = 0

    def data() -> Iterator[pa.RecordBatch]:
        nonlocal read
        for batch in PACKETS.to_batches(max_chunksize=100):
            read += batch.num_rows
            yield batch

    stream = source(data, oop.slack(40), schema=PACKETS.schema)
    small = stream.filter(oop.col("len") < 500).with_columns(kind=oop.lit("small"))
    large = stream.filter(oop.col("len") >= 500).with_columns(kind=oop.lit("large"))
    both = oop.union(small, large).window(oop.tumbling(100)).group_by("kind").agg(n=oop.count())
    rows = [
        {"ts": r["ts"], "kind": "small" if r["len"] < 500 else "large"}
        for r in PACKETS.to_pylist()
        if r["len"] is not None
    ]
    for scheduler in (oop.MinCost(), oop.RoundRobin(train=10)):
        read = 0
        assert bag(rows_of(both, scheduler=scheduler)) == bag(lit_windows(rows, 100, 100, ["kind"]))
        assert read == PACKETS.num_rows
    assert "(the same as above)" in both.explain()


def test_a_union_with_itself_and_of_windows() -> None:
    stream = source(PACKETS, oop.slack(40))
    assert bag(rows_of(oop.union(stream, stream))) == Counter({k: 2 * n for k, n in bag(PACKETS.to_pylist()).items()})
    fine = stream.window(oop.tumbling(10)).agg(n=oop.count())
    coarse = stream.window(oop.tumbling(30)).agg(n=oop.count())
    both = rows_of(oop.union(fine, coarse))
    rows = PACKETS.to_pylist()
    assert bag(both) == bag(lit_windows(rows, 10, 10)) + bag(lit_windows(rows, 30, 30))


def test_union_takes_columns_in_any_order() -> None:
    a = source(pa.table({"ts": [1, 2], "v": [1, 2]}))
    b = source(pa.table({"v": [3], "ts": [3]}))
    assert sorted(rows_of(oop.union(a, b)), key=lambda r: r["ts"]) == [{"ts": t, "v": t} for t in (1, 2, 3)]
    for other in (pa.table({"ts": [1]}), pa.table({"ts": [1], "v": ["x"]}), pa.table({"ts": [1], "v": [1], "w": [1]})):
        with pytest.raises(oop.SchemaMismatch) as error:
            oop.union(a, source(other))
        assert_line(error)


def test_split_gives_each_row_to_one_output() -> None:
    stream = source(PACKETS, oop.slack(40))
    small, large, rest = stream.split(oop.col("len") < 200, oop.col("len") >= 1000)
    rows = PACKETS.to_pylist()
    assert bag(rows_of(small)) == bag([r for r in rows if r["len"] is not None and r["len"] < 200])
    assert bag(rows_of(large)) == bag([r for r in rows if r["len"] is not None and r["len"] >= 1000])
    assert bag(rows_of(rest)) == bag([r for r in rows if r["len"] is None or 200 <= r["len"] < 1000])
    assert bag(rows_of(oop.union(rest, small, large))) == bag(rows)
    counted = oop.union(rest, large).window(oop.tumbling(50)).agg(n=oop.count())
    kept = [r for r in rows if r["len"] is None or r["len"] >= 200]
    assert bag(rows_of(counted)) == bag(lit_windows(kept, 50, 50))


def test_steps_leave_the_stream_before_them_as_it_was() -> None:
    stream = source(pa.table({"ts": [1, 2, 30], "v": [10, 20, 30]}))
    windowed = stream.window(oop.tumbling(100))
    grouped = windowed.group_by(v=oop.col("v") // 20).agg(n=oop.count())
    assert rows_of(windowed.agg(s=oop.sum("v")))[0]["s"] == 60
    assert {r["v"]: r["n"] for r in rows_of(grouped)} == {0: 1, 1: 2}
    assert stream.schema.names == ["ts", "v"]


@pytest.mark.parametrize(
    "scheduler", [oop.MinCost(), oop.RoundRobin(), oop.RoundRobin(train=1), oop.RoundRobin(train=100)]
)
def test_schedulers_give_the_same_answer(scheduler: Any) -> None:
    parts = [source(PACKETS.slice(i * 700, 700).to_batches(max_chunksize=64), oop.slack(40)) for i in range(3)]
    assert bag(rows_of(per_pair(oop.union(*parts)), scheduler=scheduler)) == EXPECTED


# --- values of all types


KEYS: dict[str, pa.Array] = {
    "string": pa.array(["b", "a", None, "", "b", "ü"]),
    "large string": pa.array(["b", "a", None, "", "b", "ü"], pa.large_string()),
    "dictionary": pa.array(["b", "a", None, "", "b", "ü"]).dictionary_encode(),
    "dictionary of large": pa.array(["b", "a", None, "", "b", "ü"]).cast(pa.dictionary(pa.int32(), pa.large_string())),
    "dictionary of numbers": pa.array([7, 3, None, 7, 3, 9]).dictionary_encode(),
    "binary": pa.array([b"b", b"a", None, b"", b"b", b"\xff"]),
    "large binary": pa.array([b"b", b"a", None, b"", b"b", b"\xff"], pa.large_binary()),
    "boolean": pa.array([True, False, None, True, True, False]),
    "decimal": pa.array([Decimal(x) if x else None for x in ("1.10", "-3.30", None, "1.10", "9.99", "0.00")]),
    "timestamp": pa.array([5, -5, None, 5, 7, 0], pa.timestamp("us", "America/New_York")),
    "date": pa.array([5, -5, None, 5, 7, 0], pa.int32()).cast(pa.date32()),
    "time": pa.array([5, 4, None, 5, 7, 0], pa.int64()).cast(pa.time64("us")),
    "duration": pa.array([5, -5, None, 5, 7, 0], pa.duration("ms")),
    "uint64": pa.array([2**64 - 1, 0, None, 5, 5, 2**63], pa.uint64()),
    "int8": pa.array([-128, 127, None, 0, 0, -128], pa.int8()),
    "float": pa.array([1.5, -0.25, None, 1.5, 1e300, 0.0]),
    "float32": pa.array([1.5, -0.25, None, 1.5, 8.0, 0.0], pa.float32()),
}


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("window", [oop.tumbling(4), oop.sliding(4, every=2)], ids=str)
def test_keys_and_extremes_of_all_types(kind: str, window: Any) -> None:
    column = KEYS[kind]
    table = pa.table({"ts": [0, 1, 2, 3, 4, 5], "k": column})
    slide = 4 if "tumbling" in str(window) else 2
    rows = table.to_pylist()
    data = table.to_batches(max_chunksize=2)

    grouped = source(data).window(window).group_by("k").agg(n=oop.count()).run().to_table()
    assert grouped.schema.field("k").type == column.type
    assert bag(grouped.to_pylist()) == bag(lit_windows(rows, 4, slide, ["k"]))

    extremes = source(data).window(window).agg(least=oop.min("k"), most=oop.max("k")).run().to_table()
    value_type = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    assert extremes.schema.field("least").type == extremes.schema.field("most").type == value_type
    # lit_windows also sums, which not every type can
    expected = []
    for window_row in lit_windows(rows, 4, slide):
        low, high = window_row["window_start"], window_row["window_end"]
        inside = [r["k"] for r in rows if low <= r["ts"] < high and r["k"] is not None]
        ends = {"least": min(inside, default=None), "most": max(inside, default=None)}
        expected.append({"window_start": low, "window_end": high, **ends})
    assert bag(extremes.to_pylist()) == bag(expected)


def test_nan_is_one_group_and_the_greatest() -> None:
    table = pa.table({"ts": [0, 1, 2, 3], "v": [math.nan, -0.0, 0.0, float("nan")]})
    grouped = rows_of(source(table).window(oop.tumbling(10)).group_by("v").agg(n=oop.count()))
    assert sorted(r["n"] for r in grouped) == [2, 2]
    (row,) = rows_of(source(table).window(oop.tumbling(10)).agg(least=oop.min("v"), most=oop.max("v")))
    assert row["least"] == 0
    assert math.isnan(row["most"])


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        ([2**63 - 1, 1], pa.int64()),
        ([-(2**63), -1], pa.int64()),
        ([2**64 - 1, 1], pa.uint64()),
        ([Decimal(9 * 10**37)] * 2, pa.decimal128(38, 0)),
    ],
)
def test_a_sum_that_does_not_fit_is_an_error(values: list[Any], type_: pa.DataType) -> None:
    table = pa.table({"ts": [1, 2], "v": pa.array(values, type_)})
    for window in (oop.tumbling(10), oop.sliding(10, every=5)):
        stream = source(table).window(window).agg(s=oop.sum("v"))
        with pytest.raises(oop.OopError, match="fit") as error:
            stream.run().to_table()
        assert_line(error)


def test_a_sum_may_pass_the_limit_on_its_way() -> None:
    table = pa.table({"ts": [1, 2, 3], "v": [2**62, 2**62, -(2**62)]})
    for order in ([0, 1, 2], [0, 2, 1], [2, 1, 0]):
        stream = source(table.take(order), oop.at_end()).window(oop.tumbling(10)).agg(s=oop.sum("v"), m=oop.mean("v"))
        assert rows_of(stream)[0]["s"] == 2**62
        assert rows_of(stream)[0]["m"] == pytest.approx(2**62 / 3, rel=1e-15)


def test_decimals_are_exact() -> None:
    values = [Decimal("0.10")] * 3 + [Decimal("-0.30")]
    table = pa.table({"ts": [1, 2, 3, 4], "v": pa.array(values, pa.decimal128(5, 2))})
    (row,) = rows_of(source(table).window(oop.tumbling(10)).agg(s=oop.sum("v"), m=oop.mean("v"), v=oop.var("v")))
    assert row["s"] == Decimal("0.00")
    assert row["m"] == 0.0
    assert row["v"] == pytest.approx(0.04)


def test_all_aggregates_against_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    aggregates = {**stats("len"), "mean": oop.mean("len"), "var": oop.var("len"), "filled": oop.count("len")}
    found = source(PACKETS, oop.slack(40)).window(oop.tumbling(100)).group_by("src").agg(**aggregates)
    with duckdb.connect() as con:
        con.register("packets", PACKETS)
        expected = con.sql(
            """SELECT floor(ts / 100)::BIGINT * 100 AS s, floor(ts / 100)::BIGINT * 100 + 100 AS e, src, count(*),
                      sum(len)::BIGINT, min(len), max(len), avg(len), var_samp(len), count(len)
               FROM packets GROUP BY ALL"""
        ).fetchall()

    def order(row: tuple[Any, ...]) -> tuple[Any, ...]:
        return (row[0], row[2] or "")

    ours = sorted((tuple(r.values()) for r in rows_of(found)), key=order)
    theirs = sorted(expected, key=order)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert one[:7] == other[:7]
        assert one[9] == other[9]
        assert one[7:9] == (pytest.approx(other[7]), pytest.approx(other[8]))


# --- errors name the line


def assert_line(error: pytest.ExceptionInfo[BaseException]) -> None:
    """The error names a line of this file."""
    text = "\n".join([str(error.value), *getattr(error.value, "__notes__", ())])
    assert re.search(rf"{re.escape(Path(__file__).name)}:\d+", text), text


SMALL = pa.table({"ts": [1, 2], "v": [1, 2], "k": ["a", "b"]})


@pytest.mark.parametrize(
    ("build", "error", "says"),
    [
        (lambda s: s.filter(oop.col("vv") > 1), oop.UnknownColumn, "did you mean 'v'"),
        (lambda s: s.select("tss"), oop.UnknownColumn, "did you mean 'ts'"),
        (lambda s: s.with_columns(w=oop.col("kk")), oop.UnknownColumn, "did you mean 'k'"),
        (lambda s: s.split(oop.col("kk") == "a"), oop.UnknownColumn, "did you mean 'k'"),
        (lambda s: s.window(oop.tumbling(5)).group_by("kk"), oop.UnknownColumn, "did you mean 'k'"),
        (lambda s: s.window(oop.tumbling(5), on="tss"), oop.UnknownColumn, "did you mean 'ts'"),
        (lambda s: s.window(oop.tumbling(5)).agg(x=oop.sum("vs")), oop.UnknownColumn, "did you mean 'v'"),
        (lambda s: s.group_by("tsx"), oop.UnknownColumn, "did you mean 'ts'"),
        (lambda s: s.window(oop.tumbling(5)).agg(x=oop.sum("k")), oop.SchemaMismatch, "sum(k)"),
        (lambda s: s.filter(oop.col("v")), oop.SchemaMismatch, "true or false"),
        (lambda s: s.window(oop.tumbling(5)).group_by("k").agg(k=oop.count()), oop.SchemaMismatch, "'k'"),
        (lambda s: s.window(oop.tumbling(5)).agg(window_end=oop.count()), oop.SchemaMismatch, "'window_end'"),
        (lambda s: s.window(oop.tumbling(5)).group_by("k", "k"), oop.SchemaMismatch, "twice"),
        (lambda s: s.select("v").window(oop.tumbling(5)), oop.SchemaMismatch, "on="),
        (lambda s: s.window(oop.tumbling(5), on="k"), oop.SchemaMismatch, "'k' is string"),
        (lambda s: s.window(oop.tumbling(5), on="v").agg(n=oop.count()).run(), oop.NeverEmits, "'v'"),
        (lambda s: s.group_by("k").agg(n=oop.count()).run(), oop.NeverEmits, "'k'"),
        (lambda s: s.agg(n=oop.count()).run(), oop.NeverEmits, "at_end()"),
        (lambda s: s.with_columns(ts=-oop.col("ts")).group_by("ts").agg(n=oop.count()).run(), oop.NeverEmits, "'ts'"),
        (lambda s: s.with_columns(w=oop.col("k").cast("int64")).run().to_table(), oop.OopError, "cast(k, int64)"),
        (lambda s: s.with_columns(w=oop.col("v") // 0).run().to_table(), oop.OopError, "v // 0"),
        (lambda s: s.with_columns(w=oop.col("v") * 2**62).run().to_table(), oop.OopError, "overflow"),
    ],
)
def test_errors_say_what_where_and_what_to_do(build: Callable[[oop.Stream], Any], error: type, says: str) -> None:
    stream = source(SMALL)
    with pytest.raises(error) as raised:
        build(stream)
    line = build.__code__.co_firstlineno
    assert f"{Path(__file__).name}:{line}" in str(raised.value)
    assert says in str(raised.value)
    assert "__wid" not in str(raised.value), "a name that the user never wrote"


def test_never_emits_as_in_the_style() -> None:
    north = source(SMALL, oop.slack(5), name="north")
    south = oop.source(SMALL, time="ts", punctuate=None, name="south")
    line = inspect.currentframe().f_lineno + 1
    counted = oop.union(north, south).window(oop.tumbling(60)).group_by("k").agg(cars=oop.count())
    with pytest.raises(oop.NeverEmits) as error:
        counted.run()
    first, hint = str(error.value).split("\n")
    assert first.endswith(f"{Path(__file__).name}:{line} can never emit: input 'south' makes no promise about 'ts'.")
    assert first.startswith(".agg(cars=count) at ")
    assert hint.startswith("Hint: ")
    assert "punctuate=" in hint


def test_never_emits_names_the_groups() -> None:
    stream = source(SMALL, oop.ordered(by="k")).window(oop.tumbling(60))
    with pytest.raises(oop.NeverEmits, match=r"groups of 'k'[\s\S]*groups=") as error:
        stream.agg(n=oop.count()).run()
    assert_line(error)
    assert rows_of(stream.group_by("k").agg(n=oop.count()))
    fixed = source(SMALL, oop.ordered(by="k")).filter(oop.col("k") == "a")
    assert rows_of(fixed.window(oop.tumbling(60)).agg(n=oop.count())) == [{"window_start": 0, "window_end": 60, "n": 1}]


def test_the_end_unblocks_only_what_waits_for_it() -> None:
    both = oop.union(source(SMALL), source(SMALL, oop.at_end()))
    assert rows_of(both.window(oop.tumbling(60)).agg(n=oop.count()))[0]["n"] == 4


@pytest.mark.parametrize(
    ("build", "error"),
    [
        (lambda: oop.source(SMALL, time="t", punctuate=None), oop.UnknownColumn),
        (lambda: oop.source(SMALL, time="k", punctuate=None), oop.SchemaMismatch),
        (lambda: oop.source(SMALL, time="ts", punctuate={"vv": oop.ordered()}), oop.UnknownColumn),
        (lambda: oop.source(SMALL, time="ts", punctuate=oop.ordered(by="kk")), oop.UnknownColumn),
        (lambda: oop.source(5, time="ts", punctuate=None), oop.SourceError),
        (lambda: oop.source("nowhere.parquet", time="ts", punctuate=None), oop.SourceError),
    ],
)
def test_errors_of_sources_name_the_line(build: Callable[[], Any], error: type) -> None:
    with pytest.raises(error) as raised:
        build()
    assert f"{Path(__file__).name}:{build.__code__.co_firstlineno}" in str(raised.value)


@pytest.mark.parametrize(
    "build",
    [
        lambda: source(SMALL, oop.slack("5s")),
        lambda: source(SMALL, oop.timer(1, lull=5)),
        lambda: source(SMALL, late="sometimes"),
        lambda: source(SMALL).window(oop.tumbling("5s")),
        lambda: source(SMALL).window(oop.tumbling(2.5)),
        lambda: source(SMALL).window(oop.tumbling(0)),
        lambda: source(SMALL).window(oop.sliding(5, every=-1)),
        lambda: source(SMALL).run(order="sideways"),
    ],
)
def test_values_that_make_no_sense(build: Callable[[], Any]) -> None:
    with pytest.raises(ValueError):
        build()


# --- running


@pytest.mark.parametrize("name", ["out.parquet", "out.arrow", "out.arrows", "out.csv", "folder/"])
def test_sinks_by_path(name: str, tmp_path: Path) -> None:
    to = str(tmp_path) + "/" + name
    run = per_pair(source(PACKETS, oop.slack(40))).run(to=to)
    assert run.metrics.box("Source").rows_in == PACKETS.num_rows
    policy = oop.punctuated() if name.endswith(("arrow", "arrows")) else oop.at_end()
    back = source(to.rstrip("/"), policy, time="window_start").run()
    assert bag_of_text(back.to_table().to_pylist()) == EXPECTED
    assert len(back.late) == 0


def test_sinks_that_are_called() -> None:
    batches: list[pa.RecordBatch] = []
    per_pair(source(PACKETS, oop.slack(40))).run(to=batches.append)
    assert bag([r for b in batches for r in b.to_pylist()]) == EXPECTED


def test_a_run_that_fails_leaves_no_file(tmp_path: Path) -> None:
    bad = source(pa.table({"ts": [5, 1]}), late="raise")
    with pytest.raises(oop.LateRow):
        bad.run(to=tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []


def test_metrics() -> None:
    stream = source(PACKETS.to_batches(max_chunksize=100), oop.slack(40), name="all")
    run = per_pair(stream.filter(oop.col("port") > 0)).run()
    table = run.to_table()
    metrics = run.metrics
    kept = sum(1 for r in PACKETS.to_pylist() if r["port"] > 0)
    inputs, filter_, bucket, aggregate = (metrics.box(n) for n in ("Source all", "Filter", "Bucket", "Aggregate"))
    assert (inputs.rows_in, inputs.rows_out) == (PACKETS.num_rows, PACKETS.num_rows)
    assert (filter_.rows_in, filter_.rows_out) == (PACKETS.num_rows, kept)
    assert filter_.selectivity == kept / PACKETS.num_rows
    assert (bucket.rows_out, aggregate.rows_in, aggregate.rows_out) == (kept, kept, table.num_rows)
    assert aggregate.buffered_rows == 0
    assert 0 < aggregate.peak_buffered_rows <= kept
    assert aggregate.peak_buffered_rows <= metrics.peak_rows <= kept
    assert aggregate.peak_state_bytes > 0
    assert all(b.seconds >= 0 and b.cost_per_row is not None for b in metrics.boxes)
    assert inputs.promises_out > 5
    assert [a.rows for a in metrics.arcs] == [PACKETS.num_rows, kept, kept, table.num_rows]
    assert all(a.queued_rows == 0 for a in metrics.arcs)
    assert "Aggregate" in str(metrics)
    with pytest.raises(KeyError, match="Aggregate"):
        metrics.box("Join")


def test_a_small_slack_holds_less_than_the_end() -> None:
    peaks = [
        per_pair(source(PACKETS.to_batches(max_chunksize=50), policy)).run
        for policy in (oop.slack(40), oop.slack(1000), oop.at_end())
    ]
    held = []
    for start in peaks:
        run = start()
        run.to_table()
        held.append(run.metrics.box("Aggregate").peak_buffered_rows)
    assert held == sorted(held)
    assert held[0] < held[2] / 2


def test_explain_as_in_the_style() -> None:
    table = pa.table({"ts": pa.array([1], pa.timestamp("s")), "segment": ["x"]})
    north, mid, south = (
        source(table, policy, name=name)
        for name, policy in (("north", oop.slack("5s")), ("mid", oop.ordered()), ("south", oop.at_end()))
    )
    cars = oop.union(north, mid, south).window(oop.tumbling("1min")).group_by("segment").agg(cars=oop.count())
    lines = cars.explain().split("\n")
    assert [re.split(r"\s{2,}", line.strip())[0] for line in lines] == [
        "Aggregate cars=count() by segment",
        "└─ Bucket tumbling 1min on ts",
        "└─ Union of 3",
        "├─ Source north",
        "├─ Source mid",
        "└─ Source south",
    ]
    assert "emits a window when wid < W is promised" in lines[0]
    assert "becomes wid" in lines[1]
    assert "promises the least of its inputs" in lines[2]
    assert lines[3].endswith("slack 5s   late: drop")
    assert lines[4].endswith("ordered   late: drop")
    assert lines[5].endswith("at end   late: drop")


def test_stop_is_not_the_end() -> None:
    closed = False
    given = 0

    def endless() -> Iterator[pa.RecordBatch]:
        nonlocal closed, given
        try:
            while True:
                yield pa.record_batch({"ts": [given, given + 1]})
                given += 2
        finally:
            closed = True

    run = tumbled(endless, schema=INT_TIME).run()
    found = []
    for element in run.elements():
        found.append(element)
        if isinstance(element, pa.RecordBatch) and element.column("window_start")[-1].as_py() >= 50:
            run.stop()
    assert closed
    assert not any(isinstance(e, oop.Punctuation) and e.is_end for e in found)
    rows = [r for e in found if isinstance(e, pa.RecordBatch) for r in e.to_pylist()]
    assert all(r["n"] == 10 for r in rows), "an open window stays unfinished"
    assert given < 100


def test_results_come_before_more_is_read() -> None:
    """A source that is a generator is not read ahead of its results."""
    read = 0

    def slowly() -> Iterator[pa.RecordBatch]:
        nonlocal read
        for t in range(0, 1000, 5):
            read = t
            yield pa.record_batch({"ts": [t]})

    for batch in tumbled(slowly(), schema=INT_TIME).run():
        end = batch.column("window_end")[-1].as_py()
        assert read < end + 10


def test_a_run_of_a_generator_cannot_be_repeated() -> None:
    stream = source(iter([SMALL]))
    assert stream.run().to_table().num_rows == 2
    with pytest.raises(oop.SourceError, match="callable"):
        stream.run().to_table()
    again = source(lambda: iter([SMALL]))
    assert [again.run().to_table().num_rows for _ in range(3)] == [2, 2, 2]


def test_a_result_stays_as_it_was_given() -> None:
    """A window of one pane shares it with the next; late rows that are admitted still go into it."""
    h = Harness(
        lambda s: s.window(oop.sliding(20, every=10)).agg(n=oop.count(), low=oop.min("v"), high=oop.max("v")),
        {"ts": "int64", "v": "int64"},
        late="admit",
    )
    h.push({"ts": [12, 13], "v": [5, 6]})
    h.promise(ts=20)
    (given,) = [e for e in h.out() if isinstance(e, pa.RecordBatch)]
    before = given.to_pylist()
    h.push({"ts": [14] * 5, "v": [1, 2, 3, 90, 91]})
    assert given.to_pylist() == before
    h.end()
    assert [r["n"] for r in h.rows()] == [7]
