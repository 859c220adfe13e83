"""The laws under lists and ranges (OOP paper, section 3.2), where keys are data attributes that they speak of."""

from __future__ import annotations

import random
from collections import Counter

import pytest

import oop
from oop.testing import Harness, check_operator
from tests.operators import fuzz
from tests.operators.fuzz import CASES, TIMES
from tests.operators.test_laws import each, some_threads

POLICY = oop.punctuated(on=["ts", "k", "v", "x"], by="link")
IN_RANGE = (oop.col("k") >= 1) & (oop.col("k") < 2)

GROUPS = [["k"], ["link"], ["v"], ["x"], ["link", "k"], ["k", "ts"], ["v", "link"]]


@pytest.mark.parametrize("keys", GROUPS, ids=" ".join)
def test_groups_of_data_attributes(keys):
    """A group-by and a dedup let go what promises about data attributes cover, and nothing else changes."""

    def case(rng: random.Random, seed: int) -> None:
        elements = fuzz.random_stream(rng, TIMES["int64"])
        rows = fuzz.on_time(elements)
        found = Counter(tuple(r[k] for k in keys) for r in rows)
        expected = [{**dict(zip(keys, group, strict=True)), "n": n} for group, n in found.items()]

        def grouped(s):
            return s.group_by(*keys).agg(n=oop.count())

        check_operator(grouped, elements, seed=seed, punctuate=POLICY, threads=some_threads(rng), expected=expected)
        keep = rng.choice(["any", "first", "last"])

        def distinct(s):
            return s.dedup(*keys, keep=keep).select(*keys)

        expected = [{k: row[k] for k in keys} for row in expected]
        check_operator(distinct, elements, seed=seed, punctuate=POLICY, expected=expected)

    each(range(CASES // 20), case)


def test_groups_leave_with_the_promise_that_covers_them():
    """Prompt: a group that one promise covers is not held; one that all of them together do not cover is."""

    def case(rng: random.Random, seed: int) -> None:
        keys = rng.choice(GROUPS)
        harness = Harness(
            lambda s: s.group_by(*keys).agg(n=oop.count()), fuzz.schema_of(TIMES["int64"]), punctuate=POLICY
        )
        given, open_groups = oop.Frontier(), set()
        for element in fuzz.random_stream(rng, TIMES["int64"]):
            if isinstance(element, oop.Punctuation):
                given.advance(element)
            else:
                rows = [r for r in element.to_pylist() if not given.covers_row(r)]
                open_groups |= {tuple(r[k] for k in keys) for r in rows}
            harness.feed(element)
            groups = {g: dict(zip(keys, g, strict=True)) for g in open_groups}
            about_keys = [p for p in given.promises() if p.patterns().keys() <= set(keys)]
            most = [g for g, row in groups.items() if not any(p.matches(row) for p in about_keys)]
            open_groups = {g for g, row in groups.items() if not given.covers(oop.Punctuation({}, row))}
            assert len(open_groups) <= harness.buffered_rows <= len(most), (element, open_groups)

    each(range(CASES // 3), case)


def test_plans_under_lists_and_ranges():
    def case(rng: random.Random, seed: int) -> None:
        elements = fuzz.random_stream(rng, TIMES[rng.choice(["int64", "float64"])])
        k, window = oop.col("k"), rng.choice([oop.tumbling(5), oop.sliding(9, every=4), oop.session(3)])
        pipelines = [
            lambda s: s.filter(IN_RANGE).window(window).agg(n=oop.count()),
            lambda s: s.filter(k >= 1).window(window).group_by("link").agg(n=oop.count()),
            lambda s: s.with_columns(m=k * 2 - 1).window(window).group_by("m").agg(n=oop.count()),
            lambda s: s.select("ts", m=k // 2, h=oop.col("x") * 0.5).group_by("m", "h").agg(n=oop.count()),
            lambda s: s.window(window).group_by("k", "link").agg(n=oop.count()).filter(IN_RANGE),
            lambda s: s.select("k", "link", minute=oop.col("ts") // 4).dedup("minute", "k").select("minute"),
        ]
        chosen = rng.choice(pipelines)
        if isinstance(window, oop.windows.Window) and rng.random() < 0.5:
            check_operator(chosen, elements, seed=seed, punctuate=POLICY, threads=some_threads(rng))
        else:
            check_operator(chosen, elements, seed=seed, punctuate=POLICY)

    each(range(CASES // 3), case)


@pytest.mark.parametrize("how", ["inner", "left", "full", "semi", "anti"])
def test_joins_under_lists_and_ranges(how):
    def case(rng: random.Random, seed: int) -> None:
        keys = rng.choice(["k", "link", ["k", "link"]])
        left, right = (fuzz.random_stream(rng, TIMES["int64"]) for _ in range(2))

        def pipeline(a, b):
            return a.join(b, on=keys, within=(-3, 5), how=how)

        check_operator(pipeline, left, right, seed=seed, punctuate=POLICY)

    each(range(CASES // 20), case)


def test_unions_under_lists_and_ranges():
    def case(rng: random.Random, seed: int) -> None:
        streams = [fuzz.random_stream(rng, TIMES["int64"]) for _ in range(2)]
        rows = [r for elements in streams for r in fuzz.on_time(elements)]
        found = Counter(r["k"] for r in rows)

        def pipeline(a, b):
            return a.union(b).group_by("k").agg(n=oop.count())

        expected = [{"k": k, "n": n} for k, n in found.items()]
        check_operator(pipeline, *streams, seed=seed, punctuate=POLICY, expected=expected)

    each(range(CASES // 10), case)
