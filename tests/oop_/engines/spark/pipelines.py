"""Pipelines that both engines must answer alike, over streams as `tests.operators.fuzz` makes them."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

import oop
from oop.operators.core.operator import Element
from oop.punctuation import Range

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


def _rows_beside_others(a: oop.Stream) -> oop.Stream:
    """One source whose rows are counted for one stage and not for the others."""
    some, others = a.split(oop.col("k") == 1)
    counts = others.select("k", "link").window(oop.rows(5)).group_by("link").agg(n=oop.count()).select("link", "n")
    return oop.union(counts, _counted(a).select("link", "n"), some.select("link", n="k"))


def _chain(a: oop.Stream, b: oop.Stream) -> oop.Stream:
    joined = a.join(b, on="link", within=(-3, 4)).window(oop.tumbling(4)).group_by("link").agg(n=oop.count())
    return joined.filter(oop.col("n") < 40).window(oop.tumbling(12)).agg(windows=oop.count(), n=oop.sum("n"))


def _join(**options: object) -> Pipeline:
    def pipeline(a: oop.Stream, b: oop.Stream) -> oop.Stream:
        return a.join(b, **{"on": "link", "within": (-3, 4), **options})

    return pipeline


def _per_day(a: oop.Stream) -> oop.Stream:
    """A unit of time is an hour; days change their length with the clock."""
    hours = a.with_columns(t=(oop.col("ts").cast("int64") * 3_600_000_000).cast("timestamp[us]"))
    return hours.window(oop.calendar("day", tz="Europe/Berlin"), on="t").group_by("link").agg(n=oop.count())


_MEAN = oop.aggregate(
    (0, 0.0), lambda s, x: (s[0] + 1, s[1] + x), lambda a, b: (a[0] + b[0], a[1] + b[1]), lambda s: s[1] / s[0]
)
_RATE = oop.aggregate(0, lambda s, k: s + k, final=lambda s, start, end: s / (end - start))  # no merge


ONE: dict[str, Pipeline] = {
    "source": lambda a: a,
    "filter and project": lambda a: a.filter(oop.col("k") == 1).select("ts", "link", w=oop.col("k") * 3),
    "tumbling": _counted,
    "sliding": lambda a: a.window(oop.sliding(9, every=4)).group_by("k").agg(n=oop.count(), m=oop.min("v")),
    "first and last": lambda a: (
        a.window(oop.tumbling(6))
        .group_by("link")
        .agg(v=oop.first("v"), x=oop.last("x", by="k"), w=oop.last("link"), n=oop.count_distinct("v"))
    ),
    "lists and quantiles": lambda a: (
        a.window(oop.sliding(8, every=4))
        .group_by("k")
        .agg(m=oop.median("v"), t=oop.top("x", 2), c=oop.collect("link", 3), n=oop.count_distinct("link"))
        .select("window_start", "k", "m", "n", "t", "c")
    ),
    "gaps": lambda a: a.window(oop.sliding(2, every=5)).group_by("link", "k").agg(n=oop.count()),
    "no keys": lambda a: a.window(oop.tumbling(7)).agg(n=oop.count("v"), x=oop.mean("x")),
    "calendar": _per_day,
    "landmark": lambda a: (
        a.window(oop.landmark(-20, every=7, changes=True)).group_by("link").agg(n=oop.count(), v=oop.max("v"))
    ),
    "sessions": lambda a: a.window(oop.session(4)).group_by("link").agg(n=oop.count(), v=oop.max("v"), x=oop.sum("x")),
    "sessions of sessions": lambda a: (
        a.window(oop.session(2)).group_by("k").agg(n=oop.count()).window(oop.session(9)).agg(n=oop.sum("n"))
    ),
    "group by time": lambda a: a.group_by("ts", "k").agg(n=oop.count()),
    "split and union": _diamond,
    "two windows": lambda a: _counted(a).window(oop.tumbling(20)).agg(n=oop.sum("n")),
    "described": lambda a: a.describe("ts", every=4).window(oop.tumbling(5)).agg(n=oop.count()),
    "static table": lambda a: (
        a.join(NAMES, on="k", how="left").window(oop.tumbling(5)).group_by("name").agg(n=oop.count())
    ),
    "early results": lambda a: _counted(a).emit("on_change").filter(oop.col("emit") == "final"),
    "early results in steps": lambda a: (
        a.group_by("ts", "k").agg(n=oop.count()).emit(every=3).filter(oop.col("emit") == "final")
    ),
    # when a late row comes, and so for which windows it is counted, is up to the engine
    "accounts": lambda a: (
        a.window(oop.tumbling(5)).group_by("link").agg(n=oop.count(), late=oop.late()).select("window_start", "n")
    ),
    "rows": lambda a: a.filter(oop.col("k") == 1).window(oop.rows(7, every=3)).group_by("link").agg(n=oop.count()),
    "rows beside others": _rows_beside_others,
    "rows by partition": lambda a: a.window(oop.rows(3, every=2, by="link")).agg(n=oop.count(), v=oop.max("v")),
    "a stage for two": _shared_aggregate,
    "user-defined": lambda a: a.window(oop.sliding(9, every=4)).group_by("link").agg(m=_MEAN("x"), n=oop.count()),
    "user-defined without merge": lambda a: a.window(oop.sliding(9, every=4)).group_by("k").agg(r=_RATE("k")),
    "dedup": lambda a: a.dedup("ts", "link").select("ts", "link"),
    "the last within a span": lambda a: a.dedup("link", keep="last", within=3),
    "sorted": lambda a: a.sort("v").window(oop.tumbling(5)).agg(n=oop.count()),
    "bsort": lambda a: a.bsort(3, by="link"),
    "windows of bsort": lambda a: _counted(a.bsort(2)),
    "self-join": lambda a: a.select("ts", "link").join(a.filter(oop.col("k") == 1), on="link", within=(0, 5)),
}
TWO: dict[str, Pipeline] = {
    "union": lambda a, b: _counted(oop.union(a, b)),
    "rows of a union": lambda a, b: oop.union(a, b).number().window(oop.rows(5)).agg(n=oop.count()),
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
    "resample": lambda a, b: a.resample(b, within=3, by="link", n=oop.count(), x=oop.sum("x"), v=oop.last("v")),
    "numbered": lambda a, b: oop.union(a, b).number("rank").select("ts", "k", "rank").filter(oop.col("k") == 1),
}


SHIFT = 2520 * 4
"""Cases stand one after the other in one stream, this far apart in time: a multiple of every window."""


def shifted(elements: list[Element], case: int) -> list[Element]:
    """A stream of int64 times moved to the place of its case; its end becomes a promise about all before the next."""
    by = case * SHIFT
    found: list[Element] = []
    for element in elements:
        if isinstance(element, pa.RecordBatch):
            times = pa.compute.add(element.column("ts"), by)
            found.append(element.set_column(0, element.schema.field(0), times))
        elif not element.is_end:
            where = {c: Range(p.low + by, p.high + by) if c == "ts" else p for c, p in element.where.items()}
            below = {a: b + by for a, b in element.below.items()}
            if not below and "ts" not in where:  # about a group that has ended, here: in this case
                below = {"ts": by + SHIFT // 2}
            found.append(oop.Punctuation(below, where))
    return [*found, oop.Punctuation({"ts": by + SHIFT // 2})]


def together(pipelines: dict[str, Pipeline], *inputs: oop.Stream) -> oop.Stream:
    """Many pipelines as one plan: each row is the pipeline's name and its columns as text."""
    made = {name: pipeline(*inputs) for name, pipeline in pipelines.items()}
    width = max(len(stream.schema) for stream in made.values())
    rows = []
    for name, stream in made.items():
        # lists have no text: the simulated runs compare them
        texts = [oop.col(f.name).cast("string") for f in stream.schema if not pa.types.is_nested(f.type)]
        texts += [oop.lit("")] * (width - len(texts))
        rows.append(stream.select(pipeline=oop.lit(name), **{f"c{i}": text for i, text in enumerate(texts)}))
    return oop.union(rows[0], *rows[1:]) if len(rows) > 1 else rows[0]
