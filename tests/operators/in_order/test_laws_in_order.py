"""The laws of plans that run in order, on streams with two times: promises about one, the other, or both together."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.testing import Harness, check_operator
from oop.testing.laws import bag
from tests.operators import fuzz

N = {"n": oop.count(), "v": oop.min("v"), "x": oop.max("x")}
TIMES = [pa.int64(), pa.int32(), pa.float64(), pa.timestamp("ms")]
RIGHT = oop.tumbling(5)
POLICY: Any = oop.punctuated(on=["ts", "ts_right"])
Plan = Callable[..., oop.Stream]


def two_readers(a: oop.Stream, b: oop.Stream) -> oop.Stream:
    both = a.union(b)
    return oop.union(*(both.window(RIGHT, on=on).agg(n=oop.count()) for on in ("ts", "ts_right")))


def split(a: oop.Stream, b: oop.Stream) -> oop.Stream:
    one, other = a.union(b).split(oop.col("k") == 1)
    by_one, by_other = one.window(RIGHT, on="ts_right"), other.window(RIGHT, on="ts")
    return oop.union(by_one.agg(n=oop.count()), by_other.agg(n=oop.count()))


def renamed(s: oop.Stream) -> oop.Stream:
    return s.select("k", t=oop.col("ts"), u=oop.col("ts_right"))


PLANS: dict[str, Plan] = {
    "window": lambda a, b: a.union(b).window(RIGHT, on="ts_right").agg(**N),
    "sliding": lambda a, b: a.union(b).window(oop.sliding(6, every=2), on="ts_right").group_by("k").agg(**N),
    "session": lambda a, b: a.union(b).window(oop.session(2), on="ts_right").group_by("k").agg(n=oop.count()),
    "filter": lambda a, b: a.union(b).filter(oop.col("v") >= 0).window(RIGHT, on="ts_right").agg(**N),
    "derived": lambda a, b: a.union(b).with_columns(t=oop.col("ts_right")).window(RIGHT, on="t").agg(**N),
    "greatest": lambda a, b: (
        a.union(b)
        .select("k", t=oop.greatest(oop.col("ts"), oop.col("ts_right")))
        .window(RIGHT, on="t")
        .agg(n=oop.count())
    ),
    "least": lambda a, b: (
        a.union(b).select("k", t=oop.least(oop.col("ts"), oop.col("ts_right"))).window(RIGHT, on="t").agg(n=oop.count())
    ),
    "dedup": lambda a, b: a.union(b).select("ts_right", "k").dedup(),
    "dedup by the time": lambda a, b: (
        a.union(b).dedup("ts", "ts_right", keep="last").window(RIGHT, on="ts_right").agg(**N)
    ),
    "passing dedup": lambda a, b: (
        a.select("ts", "ts_right", "k").dedup().window(RIGHT, on="ts_right").agg(n=oop.count())
    ),
    "passing dedup of both": lambda a, b: (
        a.union(b).select("ts", "ts_right", "k").dedup().window(RIGHT, on="ts_right").agg(n=oop.count())
    ),
    "groups": lambda a, b: a.union(b).group_by("ts_right", "k").agg(**N),
    "groups of both": lambda a, b: a.union(b).group_by("ts_right", "ts").agg(**N),
    "groups, then a window": lambda a, b: (
        a.union(b).group_by("ts", "ts_right").agg(n=oop.count()).window(RIGHT, on="ts_right").agg(n=oop.sum("n"))
    ),
    "join": lambda a, b: a.union(b).join(renamed(b), on="k", within=(-1, 2), times=("ts_right", "t")),
    "join of two unions": lambda a, b: a.union(b).join(
        renamed(a.union(b)), on="k", within=(-1, 2), times=("ts_right", "u"), how="left"
    ),
    "join and group": lambda a, b: (
        a.join(renamed(b), on="k", within=(-1, 2), times=("ts", "t")).group_by("ts_right", "ts").agg(n=oop.count())
    ),
    "join and groups of neither time": lambda a, b: (
        a.join(renamed(b), on="k", within=(-1, 2), times=("ts", "t")).group_by("ts_right", "u").agg(n=oop.count())
    ),
    "unbounded join": lambda a, b: (
        a.join(renamed(b), on="k", unbounded=True, times=("ts", "t")).group_by("ts", "t").agg(n=oop.count())
    ),
    "greatest of a join": lambda a, b: (
        a.join(renamed(b), on="k", within=(-1, 2), times=("ts", "t"))
        .select(g=oop.greatest(oop.col("ts"), oop.col("t")))
        .window(RIGHT, on="g")
        .agg(n=oop.count())
    ),
    "two readers": two_readers,
    "split": split,
    "union of unions": lambda a, b: a.union(b).union(b).window(RIGHT, on="ts_right").agg(**N),
    "union alone": lambda a, b: a.union(b),
    "ends": lambda a, b: (
        oop.union(*(s.window(RIGHT).agg(n=oop.count()) for s in (a, b)))
        .window(oop.tumbling(10), on="window_end")
        .agg(n=oop.sum("n"))
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_laws_of_an_order_of_another_attribute(name: str) -> None:
    for seed in range(max(fuzz.CASES // 8, 8)):
        rng = random.Random(f"{name} {seed}")
        time = rng.choice(TIMES)
        streams = [fuzz.random_stream(rng, time, right=True, grouped=rng.random() < 0.3) for _ in range(2)]
        out_of_order = Harness(PLANS[name], *(fuzz.schema_of(time, right=True),) * 2, punctuate=POLICY)
        for port, stream in enumerate(streams):
            out_of_order.feed(*stream, port=port)
        out_of_order.end()
        check_operator(PLANS[name], *streams, seed=seed, punctuate=POLICY, order="iop", expected=out_of_order.rows())


POLICIES: list[Any] = [
    {"ts": oop.ordered(), "ts_right": oop.slack(20)},
    {"ts": oop.slack(12), "ts_right": oop.ordered()},
    {"ts": oop.slack(9), "ts_right": oop.slack(15)},
    {"ts": oop.slack(rows=3), "ts_right": oop.slack(rows=5)},
    oop.at_end(),
]


@pytest.mark.parametrize("name", PLANS)
def test_the_answer_is_the_same_whatever_sources_go_by(name: str) -> None:
    for seed in range(max(fuzz.CASES // 10, 10)):
        rng = random.Random(f"{name} {seed}")
        time, policy = rng.choice([pa.int64(), pa.float64()]), POLICIES[seed % len(POLICIES)]
        streams = [fuzz.random_stream(rng, time, right=True) for _ in range(2)]
        sources = [
            oop.source(
                [e for e in stream if isinstance(e, pa.RecordBatch)],
                time="ts",
                punctuate=policy,
                schema=fuzz.schema_of(time, right=True),
                name=f"s{number}",
            )
            for number, stream in enumerate(streams)
        ]
        plan = PLANS[name](*sources)
        expected, found, as_programs = (
            bag(plan.run(order=order, engine=oop.Embedded(check=check, threads=1)).to_table().to_pylist())
            for order, check in (("oop", True), ("iop", True), ("iop", False))
        )
        assert found == expected, f"seed {seed}, {policy}"
        assert as_programs == expected, f"seed {seed}, {policy}, as programs"
