"""Real flights against DuckDB: by landing, in windows on the departure, with exact, honest and too small promises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import oop
from tests.oop_.streams.real_streams import (
    DATA,
    assert_same,
    by_duckdb,
    check_parted,
    lateness,
    parted,
    read,
    run_windows,
)

duckdb = pytest.importorskip("duckdb")
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no real streams at {DATA}")


@pytest.fixture(scope="module")
def flights() -> pa.Table:
    return read("flights_nyc13_by_landing.csv.gz")


def low_water(times: np.ndarray, rows: int) -> Iterator[int]:
    """After each ``rows`` rows: the least time that is still to come (an exact promise)."""
    least = np.minimum.accumulate(times[::-1])[::-1]
    for at in range(rows, len(times), rows):
        yield int(least[at])


@pytest.mark.parametrize(
    ("keys", "range_", "slide", "rows"),
    [
        (("carrier",), 1440, 1440, 400_000),
        (("origin", "carrier"), 60, 60, 50_000),
        (("origin",), 1440, 360, 100_000),
        ((), 100, 70, 50_000),
    ],
)
def test_flights_with_exact_promises(
    flights: pa.Table, keys: tuple[str, ...], range_: int, slide: int, rows: int
) -> None:
    flights = flights.slice(0, rows)
    times = flights.column("dep_min").to_numpy()
    elements: list[Any] = []
    bounds = list(low_water(times, 1000))
    for i, at in enumerate(range(0, flights.num_rows, 1000)):
        elements.append(flights.slice(at, 1000))
        if i < len(bounds):
            elements.append(oop.Punctuation(below={"dep_min": bounds[i]}))
    stream = oop.source(elements, time="dep_min", punctuate=oop.punctuated())
    found, run = run_windows(stream, keys, "distance", range_, slide)
    assert len(run.late) == 0
    assert_same(found, by_duckdb(flights, "dep_min", keys, "distance", range_, slide), keys)


@pytest.mark.parametrize("slack", [0, 60, 300])
def test_flights_with_too_little_slack(flights: pa.Table, slack: int) -> None:
    """The late rows are just those below the greatest time before them, less the slack; the rest is counted."""
    part = flights.slice(0, 60_000)
    numbered = part.append_column("_row", pa.array(np.arange(part.num_rows)))
    with duckdb.connect() as con:
        con.register("part", numbered)
        before = "max(dep_min) OVER (ORDER BY _row ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
        marked = con.sql(f"SELECT *, coalesce(dep_min < {before} - {slack}, false) AS _late FROM part ORDER BY _row")
        marked = marked.to_arrow_table()
    late = marked.filter(marked.column("_late"))
    kept = marked.filter(pc.invert(marked.column("_late")))
    assert late.num_rows > 0

    stream = oop.source(numbered, time="dep_min", punctuate=oop.slack(slack))
    found, run = run_windows(stream, ("carrier",), "distance", 1440, 1440)
    assert len(run.late) == late.num_rows
    aside = run.late.to_table()
    assert aside.column("_row").to_pylist() == late.column("_row").to_pylist()
    assert pc.min(aside.column("late_by")).as_py() > 0
    assert_same(found, by_duckdb(kept, "dep_min", ("carrier",), "distance", 1440, 1440), ("carrier",))


def test_flights_grouped_by_the_minute_of_departure(flights: pa.Table) -> None:
    """A progressing attribute as a key needs no window."""
    part = flights.slice(0, 15_000)
    slack = lateness(part, "dep_min")
    run = (
        oop.source(part, time="dep_min", punctuate=oop.slack(slack, every=60))
        .group_by("dep_min", "origin")
        .agg(n=oop.count(), far=oop.max("distance"))
        .run()
    )
    found = run.to_table()
    assert len(run.late) == 0
    with duckdb.connect() as con:
        con.register("part", part)
        expected = con.sql("SELECT dep_min, origin, count(*), max(distance) FROM part GROUP BY ALL").fetchall()
    assert sorted(zip(*(c.to_pylist() for c in found.columns), strict=True)) == sorted(expected)


def test_flights_by_the_day_of_departure(flights: pa.Table) -> None:
    keys = ("carrier", "origin")
    expected = by_duckdb(flights, "dep_min", keys, "distance", 1440, 1440)
    for policy in (
        oop.slack(lateness(flights, "dep_min"), every=60),
        oop.slack(lateness(flights, "dep_min", "origin"), every=60, by="origin"),
    ):
        source = oop.source(flights, time="dep_min", punctuate=policy)
        found, run = run_windows(source, keys, "distance", 1440, 1440)
        assert len(run.late) == 0
        assert_same(found, expected, keys)


@pytest.mark.parametrize("by", [None, "origin"])
def test_flights_by_the_day_with_too_little_slack(flights: pa.Table, by: str | None) -> None:
    run = check_parted(flights, "dep_min", ("carrier", "origin"), "distance", 1440, 120, by)
    needed = run.late.needed_slack()
    assert needed.of(1.0).slack == lateness(flights, "dep_min", by)
    assert sum(run.late.histogram().counts) == needed.late > 0
    need = needed.of(0.99)
    assert need.exact
    enough = parted(flights.append_column("_row", pa.array(np.arange(len(flights)))), "dep_min", int(need.slack), by)[1]
    assert flights.num_rows - len(enough) >= 0.99 * flights.num_rows
