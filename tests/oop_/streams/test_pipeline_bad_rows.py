"""A schema, a reader, a time or a row that goes wrong in the middle of a stream loses nothing that came before it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import oop
from tests.oop_.streams.pipelines import Row, assert_line


def source(data: Any, policy: Any = None, **options: Any) -> oop.Stream:
    """Written here too, since errors name this line."""
    policy = oop.ordered() if policy is None else policy
    return oop.source(data, **{"time": "ts", "punctuate": policy, **options})


def tumbled(data: Any, policy: Any = None, **options: Any) -> oop.Stream:
    return source(data, policy, **options).window(oop.tumbling(10)).agg(n=oop.count())


def test_an_empty_iterable_without_schema_is_refused() -> None:
    with pytest.raises(oop.SourceError, match=r"schema=") as error:
        source([])
    assert_line(error)


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
