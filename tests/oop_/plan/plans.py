"""Plans of every kind over two streams, and what the tests of in-order runs ask of a harness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa

import oop
from oop import aurora
from oop.testing import Harness

Row = dict[str, Any]
Plan = Callable[..., oop.Stream]
N = {"n": oop.count(), "v": oop.min("v"), "x": oop.max("x")}


def twice(plan: Callable[[oop.Stream], oop.Stream]) -> Plan:
    return lambda a, b: plan(a)


PLANS: dict[str, Plan] = {
    "filter": twice(lambda a: a.filter(oop.col("v") >= 0)),
    "tumbling": twice(lambda a: a.window(oop.tumbling(7, offset=2)).group_by("link", "k").agg(**N)),
    "gaps": twice(lambda a: a.window(oop.sliding(3, every=7)).group_by("k").agg(**N)),
    "sliding": twice(lambda a: a.window(oop.sliding(9, every=4)).group_by("link").agg(**N)),
    "sliding that does not divide": twice(lambda a: a.window(oop.sliding(7, every=3)).agg(**N)),
    "user": twice(lambda a: a.window(oop.sliding(6, every=2)).agg(n=oop.aggregate(0, lambda s, v: s + v % 7)("v"))),
    "window on window": twice(
        lambda a: (
            a.window(oop.sliding(6, every=2))
            .group_by("k")
            .agg(n=oop.count())
            .window(oop.tumbling(8))
            .agg(m=oop.max("n"), s=oop.sum("n"))
        )
    ),
    "session": twice(lambda a: a.window(oop.session(3)).group_by("k").agg(**N)),
    "session and window": twice(
        lambda a: a.window(oop.session(2)).group_by("k").agg(n=oop.count()).window(oop.tumbling(9)).agg(s=oop.sum("n"))
    ),
    "landmark": twice(lambda a: a.window(oop.landmark(-60, every=20)).group_by("k").agg(n=oop.count())),
    "group by time": twice(lambda a: a.group_by("ts", "k").agg(**N)),
    "rows": twice(lambda a: a.window(oop.rows(5, every=2)).agg(**N)),
    "rows of partitions": twice(lambda a: a.window(oop.rows(3, by="k")).agg(**N)),
    "dedup": twice(lambda a: a.select("ts", "k").dedup()),
    "dedup last": twice(lambda a: a.dedup("ts", "k", keep="last")),
    "dedup within": twice(lambda a: a.dedup("k", within=4, keep="first")),
    "sort": twice(lambda a: a.sort("k", "link", "v", "x")),
    "early": twice(
        lambda a: (
            a.window(oop.sliding(9, every=4)).agg(n=oop.count()).emit("on_change").filter(oop.col("emit") == "final")
        )
    ),
    "split": twice(lambda a: oop.union(*a.split(oop.col("k") == 1)).window(oop.tumbling(6)).agg(n=oop.count())),
    "projected": twice(
        lambda a: a.select(t=oop.col("ts"), k=oop.col("k")).window(oop.tumbling(5), on="t").agg(n=oop.count())
    ),
    "union": lambda a, b: a.union(b),
    "union and window": lambda a, b: a.union(b).window(oop.sliding(8, every=4)).group_by("k").agg(**N),
    "numbers": lambda a, b: a.union(b).number().window(oop.rows(4)).agg(**N),
    "diamond": lambda a, b: a.union(a.filter(oop.col("k") == 1), b).window(oop.tumbling(6)).agg(n=oop.count()),
    **{
        how: lambda a, b, how=how: a.join(b.filter(oop.col("v") != 0), on="link", within=(-2, 3), how=how)
        for how in ("inner", "left", "right", "full", "semi", "anti")
    },
    "join and window": lambda a, b: (
        a.join(b, on="k", within=(0, 4)).window(oop.tumbling(5)).group_by("link").agg(n=oop.count())
    ),
    "right join and window": lambda a, b: (
        a.join(b, on="k", within=(0, 4), how="right").window(oop.tumbling(5)).agg(n=oop.count())
    ),
    "band alone": lambda a, b: a.join(b, within=(1, 2)),
    "open band": lambda a, b: a.join(b, on="k", within=(-2, 2), closed="neither", where=oop.col("v") >= 0),
    "window join": lambda a, b: a.join(b, on="k", window=oop.tumbling(4), how="left"),
    "join of a join": lambda a, b: a.join(b, on="k", within=(0, 2)).select("ts", "k").join(b, on="k", within=(-2, 2)),
    "groups of pairs": lambda a, b: a.join(b, on="k", within=(-1, 3)).group_by("ts", "ts_right").agg(n=oop.count()),
    "aurora aggregate": twice(lambda a: aurora.Aggregate(N, oop.Order("ts", slack=2), size=6, advance=3)(a)),
    "aurora by group": twice(lambda a: aurora.Aggregate(N, oop.Order("ts", 1, group_by="link"), 6, 6)(a)),
    "aurora rows": twice(lambda a: aurora.Aggregate(N, oop.Order("Tup#"), size=3, advance=1)(a)),
    "aurora tumble": twice(lambda a: aurora.Tumble({"n": oop.count()}, ["link"])(a)),
    "aurora join": lambda a, b: aurora.Join(
        oop.col("k") == oop.col("k_right"), size=2, left=oop.Order("ts", 2), right=oop.Order("ts", 2)
    )(a, b),
    "bsort": twice(lambda a: a.bsort(slack=3).select("ts", "k")),
    **{
        f"{how} join with a table": lambda a, b, how=how: (
            a.join(pa.table({"k": [2, 2], "w": [7, 8]}), on="k", how=how)
            .window(oop.sliding(6, every=2))
            .agg(n=oop.count())
        )
        for how in ("inner", "left", "anti")
    },
    "grown": lambda a, b: a.join(b, on="link", unbounded=True).select("ts", "ts_right", "link"),
}

UNORDERED = [plan for name, plan in PLANS.items() if name in ("grown", "rows of partitions") or "aurora" in name]
"""Nothing tells when their order is known: state grows, each partition counts for itself, or arrival decides."""


def bag(rows: list[Row]) -> Counter[str]:
    return Counter(str(sorted(row.items())) for row in rows)


SCHEMA = {"ts": "int64", "k": "int64"}


def held(h: Harness) -> dict[str, int]:
    """Rows that are held now, by operator."""
    return {box.node.spec.name: box.held for box in h.run._boxes if box.held}


def push(h: Harness, times: list[int], port: int = 0, k: int = 1) -> None:
    h.push({"ts": times, "k": [k] * len(times)}, port=port)
