"""Real streams against DuckDB on the same rows: three links of a network, and cars in JSON."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import oop
from tests.oop_.streams.real_streams import DATA, aggregates, assert_same, by_duckdb, read, run_windows

duckdb = pytest.importorskip("duckdb")
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no real streams at {DATA}")

LINKS = ("link_C", "link_M1", "link_M2")
SECOND = 1_000_000


@pytest.fixture(scope="module")
def links() -> dict[str, pa.Table]:
    return {name: read(f"{name}.csv.gz") for name in LINKS}


def moved(table: pa.Table, delay: int, share: float, seed: int) -> pa.Table:
    """A part of the rows arrives up to ``delay`` later than its time says, as in the paper's experiments."""
    rng = np.random.default_rng(seed)
    arrival = table.column("ts_us").to_numpy() + np.where(
        rng.random(table.num_rows) < share, rng.integers(0, delay + 1, table.num_rows), 0
    )
    return table.take(np.argsort(arrival, kind="stable"))


# --- links: Q1 over the union of Control, Main1 and Main2


@pytest.mark.parametrize(
    ("keys", "range_", "slide", "offset"),
    [
        ((), 10 * SECOND, 10 * SECOND, 0),
        (("src", "dst"), 60 * SECOND, 60 * SECOND, 7 * SECOND),
        (("proto",), 60 * SECOND, 20 * SECOND, 0),
        (("proto", "dport"), 50 * SECOND, 30 * SECOND, 0),
        (("proto",), 5 * SECOND, 20 * SECOND, 0),
    ],
)
def test_union_of_links(
    links: dict[str, pa.Table], keys: tuple[str, ...], range_: int, slide: int, offset: int
) -> None:
    streams = [oop.source(links[n], time="ts_us", punctuate=oop.ordered(), name=n) for n in LINKS]
    found, run = run_windows(oop.union(*streams), keys, "len", range_, slide, offset)
    assert len(run.late) == 0
    whole = pa.concat_tables(links.values())
    assert_same(found, by_duckdb(whole, "ts_us", keys, "len", range_, slide, offset), keys)


@pytest.mark.parametrize("every", [None, "1s"])
def test_union_of_links_with_delays(links: dict[str, pa.Table], every: str | None) -> None:
    """Rows moved by up to 3 s and a link that is 20 s behind as a whole: no row is lost, nothing is sorted."""
    delays = {"link_C": 0, "link_M1": 3 * SECOND, "link_M2": 3 * SECOND}
    streams = []
    for seed, (name, delay) in enumerate(delays.items()):
        table = moved(links[name], delay, 0.1, seed)
        table = table.set_column(0, "ts_us", table.column("ts_us").cast(pa.timestamp("us")))
        policy = oop.slack("3s", every) if delay else oop.ordered(every)
        streams.append(oop.source(table, time="ts_us", punctuate=policy, name=name))
    stream = oop.union(*streams).window(oop.tumbling("30s")).group_by("src", "dst")
    run = stream.agg(**aggregates("len")).run()
    found = run.to_table()
    assert len(run.late) == 0
    whole = pa.concat_tables(links.values())
    keys = ("src", "dst")
    assert_same(found, by_duckdb(whole, "ts_us", keys, "len", 30 * SECOND, 30 * SECOND), keys)


# --- cars: JSON lines


@pytest.mark.parametrize(("range_", "slide"), [(600, 600), (900, 300)])
def test_cars(range_: int, slide: int) -> None:
    table = read("cars.json.gz")
    assert table.schema.field("timestamp").type == pa.timestamp("s")
    with duckdb.connect() as con:
        theirs = con.read_json(str(DATA / "cars.json.gz")).to_arrow_table()
    assert theirs.num_rows == table.num_rows
    keys = ("event_type", "location")
    for slack, is_enough in (("23s", True), ("1s", False)):
        stream = oop.source(DATA / "cars.json.gz", time="timestamp", punctuate=oop.slack(slack))
        found, run = run_windows(stream, keys, "driver_id", range_, slide)
        assert (len(run.late) == 0) == is_enough
        if is_enough:
            assert_same(found, by_duckdb(table, "timestamp", keys, "driver_id", range_, slide), keys)
