"""Pipelines that both engines must answer alike, over streams as `tests.operators.fuzz` makes them."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

import oop

Pipeline = Callable[..., oop.Stream]
NAMES = pa.table({"k": [1, 2, 3], "name": ["one", "two", "three"]})


def _counted(stream: oop.Stream) -> oop.Stream:
    return stream.window(oop.tumbling(5)).group_by("link").agg(n=oop.count(), v=oop.max("v"), x=oop.sum("x"))


def _diamond(a: oop.Stream) -> oop.Stream:
    small, others = a.split(oop.col("k") == 1)
    return oop.union(small.select("ts", "k"), others.select("ts", k=oop.lit(9)), a.select("ts", "k"))


def _shared_aggregate(a: oop.Stream) -> oop.Stream:
    """A stage that feeds two others, one of which feeds the other."""
    counts = a.window(oop.tumbling(4)).group_by("link").agg(n=oop.count())
    wide = counts.window(oop.tumbling(8)).group_by("link").agg(m=oop.sum("n"))
    return counts.join(wide, on="link", within=(-8, 8))


def _chain(a: oop.Stream, b: oop.Stream) -> oop.Stream:
    joined = a.join(b, on="link", within=(-3, 4)).window(oop.tumbling(4)).group_by("link").agg(n=oop.count())
    return joined.filter(oop.col("n") < 40).window(oop.tumbling(12)).agg(windows=oop.count(), n=oop.sum("n"))


def _join(**options: object) -> Pipeline:
    def pipeline(a: oop.Stream, b: oop.Stream) -> oop.Stream:
        return a.join(b, **{"on": "link", "within": (-3, 4), **options})

    return pipeline


ONE: dict[str, Pipeline] = {
    "source": lambda a: a,
    "filter and project": lambda a: a.filter(oop.col("k") == 1).select("ts", "link", w=oop.col("k") * 3),
    "tumbling": _counted,
    "sliding": lambda a: a.window(oop.sliding(9, every=4)).group_by("k").agg(n=oop.count(), m=oop.min("v")),
    "gaps": lambda a: a.window(oop.sliding(2, every=5)).group_by("link", "k").agg(n=oop.count()),
    "no keys": lambda a: a.window(oop.tumbling(7)).agg(n=oop.count("v"), x=oop.mean("x"), d=oop.var("x")),
    "group by time": lambda a: a.group_by("ts", "k").agg(n=oop.count()),
    "split and union": _diamond,
    "two windows": lambda a: _counted(a).window(oop.tumbling(20)).agg(n=oop.sum("n")),
    "described": lambda a: a.describe("ts", every=4).window(oop.tumbling(5)).agg(n=oop.count()),
    "static table": lambda a: (
        a.join(NAMES, on="k", how="left").window(oop.tumbling(5)).group_by("name").agg(n=oop.count())
    ),
    "a stage for two": _shared_aggregate,
    "self-join": lambda a: a.select("ts", "link").join(a.filter(oop.col("k") == 1), on="link", within=(0, 5)),
}
TWO: dict[str, Pipeline] = {
    "union": lambda a, b: _counted(oop.union(a, b)),
    "union after an aggregate": lambda a, b: (
        _counted(a)
        .select("window_start", "n")
        .union(b.window(oop.tumbling(5)).agg(n=oop.count()).select("window_start", "n"))
    ),
    "join": _join(),
    "join without keys": _join(on=None),
    "left": _join(how="left"),
    "full": _join(how="full", within=(0, 0)),
    "semi": _join(how="semi"),
    "anti": _join(how="anti"),
    "window join": _join(within=None, window=oop.tumbling(6)),
    "group by both times": lambda a, b: a.join(b, on="k", within=(-3, 4)).group_by("ts", "ts_right").agg(n=oop.count()),
    "chain": _chain,
}
