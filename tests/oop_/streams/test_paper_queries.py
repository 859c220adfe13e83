"""The queries Q1 to Q9 of the OOP paper, and the plan of its figure 3, against DuckDB on the same rows.

The queries are those of examples/. Rows arrive out of order within slack, links behind one another: generated packets,
and the links of shared/data, where it is there, with delay added as in the paper's experiments.
"""

from __future__ import annotations

import os
import runpy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop

duckdb = pytest.importorskip("duckdb")

ROOT = Path(__file__).resolve().parents[3]
DATA = Path(os.environ.get("OOP_SHARED", ROOT.parent / "shared")) / "data"
SYN, SYN_ACK, ACK = 2, 18, 16
PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000}


@cache
def example(name: str) -> Callable[..., oop.Stream]:
    return runpy.run_path(str(ROOT / "examples" / f"{name}.py"))["query"]


@dataclass(frozen=True)
class Query:
    """An example, the links that it takes, and the same in SQL, where ``{s}`` is a second in the unit of ts."""

    example: str
    links: tuple[str, ...]
    sql: str
    arguments: tuple[Any, ...] = ()

    def over(self, streams: Mapping[str, oop.Stream]) -> oop.Stream:
        return example(self.example)(*(streams[name] for name in self.links), *self.arguments)


REPLY = "M1.src = M2.dst AND M1.dst = M2.src AND M1.sport = M2.dport AND M1.dport = M2.sport"
ALL = "(FROM M1 UNION ALL FROM M2 UNION ALL FROM C)"


def per_window(length: str, rows: str, keys: str = "", counted: str = "count(*)") -> str:
    return f"SELECT ts // ({length}) * ({length}) AS w, w + {length}, {keys} {counted} FROM {rows} GROUP BY ALL"


def band_count(n: str) -> str:
    near = f"M1.ts > M2.ts - {n} AND M1.ts <= M2.ts + {n}"
    return per_window("60 * {s}", f"(SELECT M1.ts FROM M1, M2 WHERE {near} AND {REPLY})")


QUERIES = {
    "Q1": Query("q1_union_count", ("C", "M1", "M2"), per_window("60 * {s}", ALL)),
    "Q2": Query(
        "q2_sliding_join",
        ("M1", "M2"),
        """SELECT M1.*, M2.* FROM M1, M2
           WHERE M1.src = M2.dst AND M2.ts > M1.ts - 120 * {s} AND M2.ts < M1.ts + 180 * {s}""",
    ),
    "Q3": Query(
        "q3_connections",
        ("M1", "M2"),
        f"""WITH S0 AS (SELECT * REPLACE (ts // {{s}} AS ts) FROM M1 WHERE flags = {SYN}),
                 S1 AS (SELECT * REPLACE (ts // {{s}} AS ts) FROM M2 WHERE flags = {SYN_ACK})
            SELECT S0.ts, S1.ts, count(*) FROM S0, S1
            WHERE S0.dst = S1.src AND S0.dport = S1.sport AND S0.ts < S1.ts AND abs(S1.ts - S0.ts) < 120
            GROUP BY ALL""",
    ),
    "Q4": Query("q4_count_pairs", ("M1",), per_window("60 * {s}", "M1", "src, dst,")),
    "Q5": Query("q5_union_pairs", ("M1", "M2"), per_window("60 * {s}", "(FROM M1 UNION ALL FROM M2)", "src, dst,")),
    "Q6": Query(
        "q6_window_join",
        ("M1", "C", "M2", "C"),  # A, B, C, D
        f"""SELECT M1.src, M1.dst, M1.ts FROM (FROM M1 UNION ALL FROM C) M1, (FROM M2 UNION ALL FROM C) M2
            WHERE M1.ts // (10 * {{s}}) = M2.ts // (10 * {{s}}) AND {REPLY}""",
    ),
    "Q7, n = 1 s": Query("q7_band_join_count", ("M1", "M2"), band_count("{s}"), ("1s",)),
    "Q7, n = 30 s": Query("q7_band_join_count", ("M1", "M2"), band_count("30 * {s}"), ("30s",)),
    "Q8": Query(
        "q8_equality_join",
        ("M1", "M2", "C"),
        f"""SELECT M1.src, M1.dst, M1.ts FROM M1, (FROM M2 UNION ALL FROM C) M2 WHERE M1.ts = M2.ts AND {REPLY}""",
    ),
    "Q9": Query(
        "q9_sliding_count",
        ("M1", "M2", "C"),
        f"""WITH minutes AS (SELECT unnest(range(-5, (SELECT max(ts) // (60 * {{s}}) + 1 FROM {ALL}))) AS minute),
                 windows AS (SELECT minute * 60 * {{s}} AS w FROM minutes)
            SELECT w, w + 300 * {{s}}, count(*), max(len) FROM windows, {ALL} WHERE ts >= w AND ts < w + 300 * {{s}}
            GROUP BY ALL""",
    ),
    "figure 3": Query(
        "split_union",
        ("M1",),
        per_window("10 * {s}", "(FROM M1 WHERE len < 500 OR (sport * 31 + dport * 17) % 10 < 4)"),
        (oop.col("len") < 500, (oop.col("sport") * 31 + oop.col("dport") * 17) % 10 < 4),
    ),
}


@dataclass(frozen=True)
class Link:
    """Rows as they arrive, and how far behind the greatest time before it a row may be."""

    rows: pa.Table
    arrival: np.ndarray
    late: int

    def feed(self, tick: int, end: int) -> list[pa.Table]:
        """Cut by arrival, all links at the same places, so that they advance side by side."""
        edges = np.searchsorted(self.arrival, np.arange(0, end + tick, tick))
        return [self.rows.slice(a, b - a) for a, b in pairwise(edges)]


def delayed(rows: pa.Table, rng: np.random.Generator, late: int, share: float, skew: int) -> Link:
    """A share of the rows comes up to ``late`` after its time says, and the link as a whole ``skew`` behind others."""
    times = rows.column("ts").cast(pa.int64()).to_numpy()
    is_late = rng.random(len(times)) < share
    arrival = times + skew + np.where(is_late, rng.integers(0, late + 1, len(times)), 0)
    order = np.argsort(arrival, kind="stable")
    return Link(rows.take(order), arrival[order], late)


def check(query: Query, links: Mapping[str, Link], tick: int, threads: int, expected: pa.Table) -> None:
    end = max(int(link.arrival[-1]) for link in links.values()) + 1
    streams = {}
    for name, link in links.items():
        fed = link.feed(tick, end)
        policy = oop.slack(link.late, every=tick) if link.late else oop.ordered(every=tick)
        streams[name] = oop.source(lambda fed=fed: iter(fed), time="ts", punctuate=policy, name=name)
    run = query.over(streams).run(oop.Embedded(threads=threads, check=True))
    found = run.to_table()
    assert len(run.late) == 0
    assert all(box.buffered_rows == 0 for box in run.metrics.boxes)
    assert found.num_rows > 0, "nothing is compared"
    assert_same_bag(found, expected)


def by_duckdb(query: Query, links: Mapping[str, Link], unit: str) -> pa.Table:
    with duckdb.connect() as con:
        for name, link in links.items():
            con.register(name, with_numbers(link.rows))
        return con.sql(query.sql.format(s=PER_SECOND[unit])).to_arrow_table()


def assert_same_bag(found: pa.Table, expected: pa.Table) -> None:
    """The same rows, each as many times; columns by place."""
    assert found.num_columns == expected.num_columns
    with duckdb.connect() as con:
        for name, table in (("found", found), ("expected", expected)):
            numbered = with_numbers(table)
            con.register(name, numbered.rename_columns([f"c{i}" for i in range(numbered.num_columns)]))
        assert con.sql("FROM found EXCEPT ALL FROM expected LIMIT 3").fetchall() == [], "too much"
        assert con.sql("FROM expected EXCEPT ALL FROM found LIMIT 3").fetchall() == [], "missing"
    assert found.num_rows == expected.num_rows


def with_numbers(table: pa.Table) -> pa.Table:
    """Times as integers in their unit."""
    for i, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pa.int64()))
    return table


# --- generated packets


MINUTES = 12
ROWS = 2_000


@cache
def generated(seed: int) -> dict[str, Link]:
    """M2 answers M1, within half a minute; both with whole seconds, so that many pairs lie at the ends of a band.

    M1 is 20 s late at most, M2 40 s and 45 s behind M1 as a whole, C has little traffic and is in order, 10 s behind.
    """
    rng = np.random.default_rng(seed)
    called = rng.integers(0, MINUTES * 60, ROWS)
    client, server = rng.integers(0, 40, ROWS), rng.integers(100, 125, ROWS)
    port, service = rng.integers(1024, 1026, ROWS), rng.choice([22, 80], ROWS)
    after = rng.choice([0, 0, 1, 1, 2, 5, 29, 30], ROWS)
    opens = rng.random(ROWS) < 0.4
    m1 = table(called, client, port, server, service, np.where(opens, SYN, ACK), rng)
    answered = np.flatnonzero(rng.random(ROWS) < 0.9)
    replies = [column[answered] for column in (called + after, server, service, client, port)]
    m2 = table(*replies, np.where(opens, SYN_ACK, ACK)[answered], rng)
    few = rng.choice(answered, 100)
    c = table(*(column[few] for column in (called, server, service, client, port)), np.full(100, ACK), rng)
    return {
        "M1": delayed(m1, rng, 20, 0.1, 0),
        "M2": delayed(m2, rng, 40, 0.2, 45),
        "C": delayed(c, rng, 0, 0, 10),
    }


def table(ts: Any, src: Any, sport: Any, dst: Any, dport: Any, flags: Any, rng: np.random.Generator) -> pa.Table:
    columns = {
        "src": src,
        "sport": sport,
        "dst": dst,
        "dport": dport,
        "len": rng.integers(40, 1500, len(ts)),
        "flags": flags,
    }
    return pa.table({"ts": pa.array(ts, pa.timestamp("s")), **columns})


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", QUERIES)
def test_generated_packets(name: str, seed: int) -> None:
    links = generated(seed)
    query = QUERIES[name]
    expected = by_duckdb(query, links, "s")
    for threads in (1, 2):
        check(query, links, 15, threads, expected)


# --- the links of shared/data


EVERY = {
    "Q2": 40,
    "Q6": 20,
    "Q7, n = 1 s": 4,
    "Q7, n = 30 s": 20,
}  # of the rows: one flow has most of them, and squares them


@cache
def real(unit: str, every: int) -> dict[str, Link]:
    """M1 up to 3 s late, M2 up to 8 s and 20 s behind as a whole, C in order and 5 s behind."""
    per_second = PER_SECOND[unit]
    found = {}
    given = {"M1": (3, 0.1, 0), "M2": (8, 0.1, 20), "C": (0, 0.0, 5)}
    for seed, (name, (late, share, skew)) in enumerate(given.items()):
        rows = oop.source(DATA / f"link_{name}.csv.gz", time="ts_us", punctuate=oop.at_end()).run().to_table()
        rows = rows.take(np.arange(0, rows.num_rows, every))
        times = pa.array(rows.column("ts_us").to_numpy() // (1_000_000 // per_second), pa.timestamp(unit))
        rows = rows.set_column(0, "ts", times)
        found[name] = delayed(rows, np.random.default_rng(seed), late * per_second, share, skew * per_second)
    return found


@pytest.mark.skipif(not DATA.is_dir(), reason=f"no real streams at {DATA}")
@pytest.mark.parametrize("name", QUERIES)
def test_links(name: str) -> None:
    unit = "ms" if name == "Q8" else "us"  # few packets of both links are of the same microsecond
    links = real(unit, EVERY.get(name, 1))
    query = QUERIES[name]
    expected = by_duckdb(query, links, unit)
    for threads in (1, 2):
        check(query, links, 15 * PER_SECOND[unit], threads, expected)
