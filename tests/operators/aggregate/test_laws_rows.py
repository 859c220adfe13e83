"""Laws (oop/testing/laws.py) of windows of rows: numbers are the input's, whatever stands between it and the window.

Another order of the rows would give them other numbers, so only batches are cut anew: every policy here is other than
`punctuated()` by itself.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa

import oop
from oop.testing import check_operator, resplit
from oop.testing.laws import bag
from tests.operators import fuzz
from tests.operators.fuzz import TIMES
from tests.operators.test_laws import each, some_threads

Row = dict[str, Any]
Way = tuple[Callable[[oop.Stream], oop.Stream], Callable[[Row], list[Row]]]

NAMES = pa.table({"k": [1, 2, 2], "name": ["one", "two", "zwei"]})


def positive(row: Row) -> bool:
    return row["v"] is not None and row["v"] > 0


WAYS: list[Way] = [
    (lambda s: s, lambda r: [r]),
    (lambda s: s.filter(oop.col("v") > 0), lambda r: [r] if positive(r) else []),
    (lambda s: s.select("link", "k", "v", "x"), lambda r: [r]),
    (lambda s: s.with_columns(v=oop.col("v") - 1), lambda r: [{**r, "v": None if r["v"] is None else r["v"] - 1}]),
    (lambda s: s.split(oop.col("v") > 0)[0], lambda r: [r] if positive(r) else []),
    (
        lambda s: s.split(oop.col("v") > 0, oop.col("link") == "A")[2],
        lambda r: [r] if not positive(r) and r["link"] != "A" else [],
    ),
    (lambda s: s.join(NAMES, on="k"), lambda r: [r] * {1: 1, 2: 2}.get(r["k"], 0)),
    (lambda s: s.describe("ts", every=5), lambda r: [r]),
]


def judged(elements: list[Any], policy: Any, keys: list[str]) -> list[tuple[Row, bool, bool]]:
    """Every row in order, whether it breaks a promise, by definition from the rows and promises before it; and whether
    a promise has ended its group."""
    found: list[tuple[Row, bool, bool]] = []
    given = oop.Frontier()
    greatest = None
    for element in elements:
        if isinstance(element, oop.Punctuation):
            given.advance(element)
            continue
        for row in fuzz.physical_rows(element):
            late = given.covers_row(row)
            if isinstance(policy, int):
                late = greatest is not None and row["ts"] < greatest - policy
                greatest = row["ts"] if greatest is None else max(greatest, row["ts"])
            found.append((row, late, given.bound("ts", {k: row[k] for k in keys}) == math.inf))
    return found


def counted(rng: random.Random, seed: int) -> None:
    late = rng.choice(["drop", "drop", "admit"])
    range_ = rng.randint(1, 9)
    every = rng.choice([range_, rng.randint(1, range_), range_ + rng.randint(1, 4)])
    offset = rng.randint(-7, 7)
    elements = fuzz.random_stream(rng, TIMES[rng.choice(["int64", "float64", "zoned"])])
    slack = rng.choice([0, 5, "at end", "carried", "none"])
    if slack != "carried":
        elements = [e for e in elements if not isinstance(e, oop.Punctuation)]
    policy = {"carried": {"ts": oop.punctuated()}, "at end": oop.at_end(), "none": {}}.get(slack)
    if policy is None:
        unit = "us" if elements and pa.types.is_timestamp(elements[0].schema.field("ts").type) else ""
        policy = oop.slack(f"{slack}{unit}" if unit else slack)
    way, model = rng.choice(WAYS)
    keys = rng.choice([[], ["k"], ["link", "k"]])
    wanted = fuzz.some_aggregates(rng)
    if way is WAYS[2][0]:  # without the time there is no first and last
        wanted = {n: a for n, a in wanted.items() if n not in ("fv", "ll", "lx", "all")} or {"n": oop.count()}
    placed = [
        (made, w)
        for number, (row, is_late, is_over) in enumerate(judged(elements, slack, keys))
        if not is_late or (late == "admit" and not is_over)
        for made in model(row)
        for w in fuzz.windows_of(number, range_, every, offset)
    ]
    rows = fuzz.window_rows(placed, keys, range_, every, offset, pa.int64(), wanted)

    def pipeline(s: oop.Stream) -> oop.Stream:
        window = oop.rows(range_, every=every, offset=offset)
        return way(s).window(window).group_by(*keys).agg(**wanted)

    threads = some_threads(rng)
    check_operator(pipeline, elements, seed=seed, punctuate=policy, late=late, threads=threads, expected=rows)
    if late == "admit" and slack != "carried" and seed % 10 == 0:
        # of windows of time it depends on the moment whether an admitted row still counts; not here
        source = oop.source(resplit(elements, seed), time="ts", punctuate=policy, late=late, schema=elements[0].schema)
        engine = oop.Embedded(threads=threads, scheduler=oop.RoundRobin(train=rng.choice([1, 5])))
        assert bag(pipeline(source).run(engine=engine).to_table().to_pylist()) == bag(rows)


def test_windows_of_rows(seeds: range) -> None:
    each(seeds, counted)


def test_windows_of_rows_beside_others() -> None:
    """One source, read once, whose rows are counted on one way and not on the others."""

    def pipeline(s: oop.Stream) -> oop.Stream:
        some = s.filter(oop.col("v") > 0)
        counts = some.window(oop.rows(4, every=2)).group_by("link").agg(n=oop.count())
        times = some.window(oop.tumbling(5)).group_by("link").agg(n=oop.count())
        both = s.select("ts", "link").join(some, on="link", within=(-2, 2)).select("link", n="k")
        again = counts.window(oop.tumbling(8)).group_by("link").agg(n=oop.sum("n")).window(oop.tumbling(16))
        total = again.agg(n=oop.sum("n")).select("n", link=oop.lit("all"))
        return oop.union(counts.select("link", "n"), times.select("link", "n"), both, total)

    def case(rng: random.Random, seed: int) -> None:
        elements = fuzz.random_stream(rng, TIMES["int64"])
        policy = {"ts": oop.punctuated()}
        check_operator(pipeline, elements, seed=seed, punctuate=policy, threads=some_threads(rng))

    each(range(fuzz.CASES // 25), case)
