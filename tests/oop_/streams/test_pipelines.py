"""Windows, and plans that are not a line, give what their definition in plain Python says on seeded data."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from tests.oop_.streams.pipelines import (
    EXPECTED,
    PACKETS,
    Row,
    assert_line,
    bag,
    elements_of,
    lit_windows,
    packets,
    per_pair,
    rows_of,
    source,
    stats,
)

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
