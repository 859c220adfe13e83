"""The laws in oop/testing/laws.py, for every operator there is, under the disorder fuzzer."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable

import oop
from oop.operators.groups import store as groups
from oop.testing import check_operator
from tests.operators import fuzz
from tests.operators.fuzz import TIMES, TOGETHER


def each(seeds: range, case: Callable[[random.Random, int], None]) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        groups.SPREAD = rng.choice([4, 64])  # slices of one slot and wide ones, in streams this short
        try:
            case(rng, seed)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
        finally:
            groups.SPREAD = 64


def some_time(rng: random.Random):
    return TIMES[rng.choice(list(TIMES))]


def test_source(seeds):
    def case(rng, seed):
        time = some_time(rng)
        elements = fuzz.random_stream(rng, time)
        rows = fuzz.typed(fuzz.on_time(elements), fuzz.schema_of(time))
        check_operator(lambda s: s, elements, seed=seed, expected=rows)

    each(seeds, case)


def test_source_admits_late_rows_marked(seeds):
    def case(rng, seed):
        elements = fuzz.random_stream(rng, TIMES["int64"])
        everything = [r for e in elements if not isinstance(e, oop.Punctuation) for r in e.to_pylist()]
        check_operator(lambda s: s, elements, seed=seed, late="admit", expected=everything)

    each(seeds, case)


def test_filter(seeds):
    def case(rng, seed):
        elements = fuzz.random_stream(rng, TIMES["int64"])
        predicate, keep = rng.choice(
            [
                (oop.col("v") > 0, lambda r: r["v"] is not None and r["v"] > 0),
                (oop.col("link") == "A", lambda r: r["link"] == "A"),
                ((oop.col("link") == "B") & (oop.col("k") == 1), lambda r: r["link"] == "B" and r["k"] == 1),
                (oop.col("ts") // 2 * 2 == oop.col("ts"), lambda r: r["ts"] % 2 == 0),
            ]
        )
        rows = [r for r in fuzz.on_time(elements) if keep(r)]
        check_operator(lambda s: s.filter(predicate), elements, seed=seed, expected=rows)

    each(seeds, case)


def test_select_and_with_columns(seeds):
    def case(rng, seed):
        elements = fuzz.random_stream(rng, TIMES["int64"])
        pipeline, model = rng.choice(
            [
                (lambda s: s.select("ts", "k"), lambda r: {"ts": r["ts"], "k": r["k"]}),
                (lambda s: s.select("k", when="ts"), lambda r: {"k": r["k"], "when": r["ts"]}),
                (
                    lambda s: s.with_columns(m=oop.col("ts") // 5, d=oop.col("ts") + 3, link=oop.lit("Z")),
                    lambda r: {**r, "m": r["ts"] // 5, "d": r["ts"] + 3, "link": "Z"},
                ),
                (lambda s: s.with_columns(ts=-oop.col("ts")), lambda r: {**r, "ts": -r["ts"]}),
                (
                    lambda s: s.select("ts", copy="ts", wire="link"),
                    lambda r: {"ts": r["ts"], "copy": r["ts"], "wire": r["link"]},
                ),
            ]
        )
        rows = [model(r) for r in fuzz.on_time(elements)]
        check_operator(pipeline, elements, seed=seed, expected=rows)

    each(seeds, case)


def test_split_and_union_of_its_outputs(seeds):
    def case(rng, seed):
        elements = fuzz.random_stream(rng, TIMES["int64"])
        which = rng.randrange(4)

        def pipeline(s):
            outputs = s.split(oop.col("v") > 0, oop.col("link") == "A")
            return oop.union(*outputs) if which == 3 else outputs[which]

        def route(r):
            return 0 if r["v"] is not None and r["v"] > 0 else 1 if r["link"] == "A" else 2

        rows = [r for r in fuzz.on_time(elements) if which in (3, route(r))]
        check_operator(pipeline, elements, seed=seed, expected=rows)

    each(seeds, case)


def test_union(seeds):
    def case(rng, seed):
        time = some_time(rng)
        inputs = [fuzz.random_stream(rng, time) for _ in range(rng.choice([2, 3]))]
        rows = [r for i in inputs for r in fuzz.typed(fuzz.on_time(i), fuzz.schema_of(time))]
        check_operator(oop.union, *inputs, seed=seed, expected=rows)

    each(seeds, case)


def some_threads(rng: random.Random) -> int:
    """One thread equals several: the plain run of every check is on one."""
    return rng.choice([1, 2, 3])


def windowed(rng, seed, *, sliding, keys, late="drop", gaps=False):
    time = some_time(rng)
    floats = time == TIMES["float64"]
    range_ = rng.randint(1, 15)
    slide = rng.randint(1, range_) if sliding else range_
    if gaps:
        slide = range_ + rng.randint(1, 5)
    offset = rng.randint(-7, 7)
    if floats and rng.random() < 0.5:
        range_, slide, offset = range_ * 0.1, slide * 0.1, offset * 0.1
    elements = fuzz.random_stream(rng, time)
    window = oop.sliding(range_, every=slide, offset=offset)
    wanted = fuzz.some_aggregates(rng)
    if late == "admit":
        placed = fuzz.with_admitted(elements, keys, range_, slide, offset)
    else:
        placed = fuzz.placed(fuzz.on_time(elements), range_, slide, offset)
    rows = fuzz.window_rows(placed, keys, range_, slide, offset, time, wanted)
    check_operator(
        lambda s: s.window(window).group_by(*keys).agg(**wanted),
        elements,
        seed=seed,
        late=late,
        threads=some_threads(rng),
        expected=rows,
    )


def test_bucket_and_aggregate_over_tumbling_windows(seeds):
    each(seeds, lambda rng, seed: windowed(rng, seed, sliding=False, keys=rng.choice([[], ["k"], ["k", "link"]])))


def test_aggregate_over_sliding_windows(seeds):
    each(seeds, lambda rng, seed: windowed(rng, seed, sliding=True, keys=rng.choice([[], ["link"], ["link", "k"]])))


def test_aggregate_over_windows_with_gaps(seeds):
    each(seeds, lambda rng, seed: windowed(rng, seed, sliding=True, gaps=True, keys=rng.choice([[], ["link"]])))


def test_aggregate_with_late_rows_admitted(seeds):
    each(seeds, lambda rng, seed: windowed(rng, seed, sliding=seed % 2 == 0, keys=["link"], late="admit"))


def test_group_by_on_a_progressing_attribute(seeds):
    def case(rng, seed):
        time = some_time(rng)
        elements = fuzz.random_stream(rng, time)
        keys = rng.choice([["ts"], ["ts", "link"], ["link", "ts", "k"]])
        members = defaultdict(list)
        for row in fuzz.typed(fuzz.on_time(elements), fuzz.schema_of(time)):
            members[tuple(row[k] for k in keys)].append(row)
        wanted = fuzz.some_aggregates(rng)
        rows = [{**dict(zip(keys, g, strict=True)), **fuzz.aggregates(m, wanted)} for g, m in members.items()]
        check_operator(
            lambda s: s.group_by(*keys).agg(**wanted), elements, seed=seed, threads=some_threads(rng), expected=rows
        )

    each(seeds, case)


def test_a_second_window_on_the_result_of_the_first():
    def case(rng, seed):
        elements = fuzz.random_stream(rng, TIMES["int64"])

        def pipeline(s):
            first = s.window(oop.tumbling(5)).group_by("link").agg(n=oop.count())
            return first.window(oop.tumbling(10)).agg(n=oop.sum("n"), windows=oop.count())

        check_operator(pipeline, elements, seed=seed, threads=some_threads(rng))

    each(range(TOGETHER), case)
