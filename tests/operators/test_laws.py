"""The laws in oop/testing/laws.py, for every operator there is, under the disorder fuzzer."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from contextlib import nullcontext

import pytest

import oop
from oop.operators.groups import store as groups
from oop.testing import check_operator
from tests.operators import fuzz
from tests.operators.fuzz import CASES, TIMES, TOGETHER
from tests.punctuation import naive


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


@pytest.mark.parametrize(
    "policy",
    [
        oop.ordered(),
        oop.slack(5),
        oop.slack(5, every=4),
        oop.slack(rows=3),
        oop.slack(5, by="link"),
        oop.slack(5, by="link", groups=["A", "B", "C"]),
        oop.slack(5, by="link", idle=9),
        oop.slack(5, by=["link", "k"]),
        oop.slack(rows=1, by=["k", "link"], groups=[(1, "A"), (None, "B"), (2, None)]),
        oop.slack(5, by=["link", "k"], idle=9),
        oop.ordered(by=["x", "link"], idle=9),
        oop.at_end(),
        {"ts": oop.slack(5), "v": oop.slack(2**60)},
    ],
    ids=str,
)
def test_source_policies_do_not_depend_on_batches(policy):
    def case(rng, seed):
        elements = [e for e in fuzz.random_stream(rng, TIMES["int64"]) if not isinstance(e, oop.Punctuation)]
        check_operator(lambda s: s, elements, seed=seed, punctuate=policy)

    each(range(CASES // 5), case)


@pytest.mark.parametrize("window", [oop.tumbling(5), oop.sliding(9, every=4)], ids=str)
@pytest.mark.parametrize(
    "policy",
    [
        oop.slack(5, by="link"),
        oop.slack(5, by="link", groups=["A", "B", "C", None]),
        oop.slack(5, by="link", idle=9),
        oop.slack(5, by=["link", "k"]),
        oop.slack(5, by=["link", "k"], groups=[(link, k) for link in ("A", "B", "C", None) for k in (1, 2, None)]),
        oop.slack(rows=1, by=["k", "link"], idle=9),
    ],
    ids=["by", "groups", "idle", "by two", "groups of two", "idle of two"],
)
def test_windows_under_group_wise_policies(policy, window):
    """Promises of all groups come in a row, as trains. The groups of a window are those that have promises, fewer of
    them, or more."""

    def case(rng, seed):
        elements = fuzz.cut_rows(rng, fuzz.random_stream(rng, TIMES["int64"]))
        keys = list(policy.columns) if len(policy.columns) == 1 or not policy.promises_rest else ["link"]
        keys = rng.choice([keys, ["link", "k"]])
        run = oop.source(elements, time="ts", punctuate=policy).run()
        kept = [r for b in run for r in b.to_pylist()]
        range_, slide = (5, 5) if window.kind == "tumbling" else (9, 4)
        wanted = {"n": oop.count()}
        rows = fuzz.window_rows(fuzz.placed(kept, range_, slide, 0), keys, range_, slide, 0, TIMES["int64"], wanted)
        check_operator(
            lambda s: s.window(window).group_by(*keys).agg(**wanted),
            elements,
            seed=seed,
            punctuate=policy,
            threads=some_threads(rng),
            expected=rows,
        )

    each(range(CASES // (5 * len(policy.columns))), case)


@pytest.mark.parametrize("late", ["drop", "raise"])
@pytest.mark.parametrize("time", ["int64", "float64", "date"])
def test_rows_are_late_by_their_group_whatever_its_columns(time, late):
    """A row is late iff it is under the bound that the rows before it imply for its group: against the model, with few
    groups and many, of every type of column, one row a batch and all at once."""

    def case(rng, seed):
        rows, schema, columns = fuzz.grouped_rows(rng, TIMES[time])
        known = list(dict.fromkeys(naive.key(tuple(row[c] for c in columns)) for row in rows))
        grouping = rng.choice(
            [{}, {"idle": rng.choice([1, 6, 20])}, {"groups": rng.sample(known, (len(known) + 1) // 2)}]
        )
        n = rng.choice([0, 1, 3])
        how, bound_of = rng.choice([({"rows": n}, naive.behind_rows(n)), ({"bound": n}, naive.behind(n))])
        events = [(row["ts"], tuple(row[c] for c in columns)) for row in rows]
        before, _, _ = naive.grouped(events, bound_of, **grouping)
        bad = [b is not None and row["ts"] < b for row, b in zip(rows, before, strict=True)]
        table = fuzz.batch(rows, schema)
        if "groups" in grouping:
            grouping = {"groups": [fuzz.from_key(g) for g in grouping["groups"]]}
        by = columns if len(columns) > 1 else columns[0]
        for size in (1, 5, len(rows)):
            batches = [table.slice(i, size) for i in range(0, len(rows), size)]
            policy = oop.slack(**how, by=by, **grouping)
            run = oop.source(batches, time="ts", punctuate=policy, late=late, schema=schema, name="in").run()
            if late == "raise":
                kept = 0
                with pytest.raises(oop.LateRow) if any(bad) else nullcontext():
                    for piece in run:
                        kept += piece.num_rows
                assert kept == (bad.index(True) if any(bad) else len(rows))
                continue
            assert run.to_table().num_rows == len(rows) - sum(bad)
            assert run.late["in"]["v"].to_pylist() == [row["v"] for row, b in zip(rows, bad, strict=True) if b]

    each(range(CASES // 5), case)


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
