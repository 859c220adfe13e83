"""Keys, extremes and sums are right for values of all types, and all aggregates are those of DuckDB."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import oop
from tests.oop_.streams.pipelines import PACKETS, assert_line, bag, lit_windows, rows_of, source, stats

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
