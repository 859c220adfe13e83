"""The laws of plans over two times: their greatest and least, promises about both, and plans that describe."""

from __future__ import annotations

import random

import oop
from oop.testing import check_operator
from tests.operators import fuzz
from tests.operators.fuzz import TIMES, TOGETHER
from tests.operators.test_laws import each, some_threads

GREATEST, LEAST = oop.greatest(oop.col("ts"), oop.col("ts_right") - 5), oop.least(oop.col("ts"), oop.col("ts_right"), 9)


def extremes(row):
    if row["ts_right"] is None:
        return {"later": None, "earlier": None}
    return {"later": max(row["ts"], row["ts_right"] - 5), "earlier": min(row["ts"], row["ts_right"], 9)}


def test_greatest_and_least_of_two_times(seeds):
    def case(rng, seed):
        elements = fuzz.random_stream(rng, TIMES[rng.choice(["int64", "float64"])], right=True)
        pipeline, names = rng.choice(
            [
                (lambda s: s.select("link", later=GREATEST, earlier=LEAST), ["link", "later", "earlier"]),
                (lambda s: s.select(later=GREATEST), ["later"]),
                (lambda s: s.select("ts", earlier=LEAST), ["ts", "earlier"]),
                (lambda s: s.with_columns(later=GREATEST).select("ts_right", "later"), ["ts_right", "later"]),
                (
                    lambda s: s.with_columns(earlier=LEAST).filter(oop.col("link") == "A").select("earlier", "link"),
                    ["earlier", "link"],
                ),
            ]
        )
        kept = [{**r, **extremes(r)} for r in fuzz.on_time(elements)]
        if names == ["earlier", "link"]:
            kept = [r for r in kept if r["link"] == "A"]
        check_operator(pipeline, elements, seed=seed, expected=[{n: r[n] for n in names} for r in kept])

    each(seeds, case)


def some_policy(rng: random.Random) -> oop.Policy:
    """What a source says that its promises are about decides whether the plan describes them, never the answer."""
    return oop.punctuated(on=["ts", "ts_right"], by=rng.choice([None, "link"]))


def test_windows_and_groups_under_joint_promises():
    def case(rng, seed):
        elements = fuzz.random_stream(rng, TIMES["int64"], right=True)
        there = oop.col("ts_right").is_not_null()
        pipelines = [
            lambda s: s.group_by("ts", "ts_right").agg(n=oop.count()),
            lambda s: (
                s.group_by("ts", "ts_right", "link").agg(n=oop.count()).window(oop.tumbling(4)).agg(n=oop.sum("n"))
            ),
            lambda s: (
                s.filter(there)
                .with_columns(t=GREATEST)
                .window(oop.tumbling(6), on="t")
                .agg(n=oop.count(), v=oop.min("v"))
            ),
            lambda s: (
                s.filter(there)
                .select("link", "v", t=LEAST // 2)
                .window(oop.sliding(4, every=2), on="t")
                .group_by("link")
                .agg(n=oop.count())
            ),
            lambda s: s.with_columns(t=GREATEST).group_by("t", "ts").agg(n=oop.count()).select("t", "n"),
        ]
        policy = some_policy(rng)
        check_operator(rng.choice(pipelines), elements, seed=seed, punctuate=policy, threads=some_threads(rng))

    each(range(TOGETHER), case)


def test_plans_that_describe():
    """Group-wise promises help the first of two windows, their least the second; in a diamond both."""

    def case(rng, seed):
        elements = fuzz.random_stream(rng, TIMES["int64"], right=True)

        def per_link(s):
            return s.window(oop.tumbling(5)).group_by("link").agg(n=oop.count())

        def diamond(s):
            links = per_link(s)
            every = links.window(oop.tumbling(10)).agg(n=oop.sum("n")).with_columns(link=oop.lit("all"))
            fine = links.window(oop.tumbling(10)).group_by("link").agg(n=oop.sum("n"))
            return every.select("window_start", "link", "n").union(fine.select("window_start", "link", "n"))

        def routes(s):
            many, few = per_link(s).split(oop.col("n") > 1)
            return (
                many.window(oop.tumbling(10)).agg(n=oop.sum("n")).union(few.window(oop.tumbling(5)).agg(n=oop.sum("n")))
            )

        def to_one_link(s):
            return per_link(s).filter(oop.col("link") == "A").window(oop.tumbling(10)).agg(n=oop.sum("n"))

        def second(s):
            return per_link(s).window(oop.sliding(10, every=5)).agg(n=oop.sum("n"))

        pipeline = rng.choice([diamond, routes, to_one_link, second])
        policy = some_policy(rng)
        check_operator(pipeline, elements, seed=seed, punctuate=policy, threads=some_threads(rng))

    each(range(TOGETHER), case)


def test_describe_by_hand(seeds):
    def case(rng, seed):
        time = TIMES[rng.choice(["int64", "float64"])]
        elements = fuzz.random_stream(rng, time, right=True)
        rows = fuzz.on_time(elements)
        every = rng.choice([None, 1, 4, 7])
        by = rng.choice([(), "link", ("link", "k")])
        attributes = rng.choice([(), ("ts",), ("ts_right",), ("ts", "ts_right")])
        after, keep = rng.choice(
            [
                (lambda s: s, lambda r: True),
                (lambda s: s.filter(oop.col("link") == "B"), lambda r: r["link"] == "B"),
                (lambda s: s.split(oop.col("v") > 0)[0], lambda r: r["v"] is not None and r["v"] > 0),
            ]
        )
        rows = [r for r in rows if keep(r)]
        check_operator(lambda s: after(s.describe(*attributes, by=by, every=every)), elements, seed=seed, expected=rows)
        check_operator(lambda s: after(s).describe(*attributes, by=by, every=every), elements, seed=seed, expected=rows)

    each(seeds, case)


def test_windows_behind_a_describe_by_hand():
    def case(rng, seed):
        elements = fuzz.random_stream(rng, TIMES["int64"], right=True)
        every, by = rng.choice([None, 3, 5]), rng.choice(["link", ()])

        def pipeline(s):
            return s.describe("ts", by=by, every=every).window(oop.tumbling(5)).group_by("link").agg(n=oop.count())

        check_operator(pipeline, elements, seed=seed, threads=some_threads(rng))

    each(range(TOGETHER), case)
