"""The laws of DESIGN section 8 for sessions, under the disorder fuzzer."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.operators import session_filed, session_table, time_slices
from oop.operators.base import Element
from oop.testing import check_operator
from tests.operators import fuzz
from tests.operators.fuzz import CASES, TIMES

Row = dict[str, Any]
KEYS = [[], ["link"], ["k"], ["k", "link"]]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What many keys, slots and slices bring about comes about in streams this short, too."""
    for module in (session_table, session_filed):
        monkeypatch.setattr(module, "_SLACK", 2)
    monkeypatch.setattr(session_table, "_PASSED", 2)  # about as often filed as not
    monkeypatch.setattr(time_slices, "SPREAD", 4)


def each(seeds: range, case: Any) -> None:
    for seed in seeds:
        try:
            case(random.Random(seed), seed)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


def some_gap(rng: random.Random, time: pa.DataType) -> Any:
    gap = rng.randint(1, 9)
    return gap * 0.1 if pa.types.is_floating(time) and rng.random() < 0.5 else gap


def sessions_of(rows: list[Row], keys: list[str], gap: Any) -> list[list[Row]]:
    """By definition: sorted by time, a row that is more than the gap behind the one before it begins a session."""
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(row[k] for k in keys)].append(row)
    found = []
    for members in groups.values():
        members.sort(key=lambda row: row["ts"])
        last = None
        for row in members:
            if last is None or row["ts"] > last + gap:
                found.append([])
            found[-1].append(row)
            last = row["ts"]
    return found


def expected(sessions: list[list[Row]], keys: list[str], gap: Any, time: pa.DataType, wanted: Row) -> list[Row]:
    schema = pa.schema([("window_start", time), ("window_end", time)])
    edges = [{"window_start": min(r["ts"] for r in s), "window_end": max(r["ts"] for r in s) + gap} for s in sessions]
    found = fuzz.typed(edges, schema)
    return [
        {**edge, **{k: s[0][k] for k in keys}, **fuzz.aggregates(s, wanted)}
        for edge, s in zip(found, sessions, strict=True)
    ]


def some_threads(rng: random.Random) -> int:
    return rng.choice([1, 2, 3])


def test_sessions(seeds):
    def case(rng, seed):
        time = TIMES[rng.choice(list(TIMES))]
        elements = fuzz.random_stream(rng, time)
        keys, gap, wanted = rng.choice(KEYS), some_gap(rng, time), fuzz.some_aggregates(rng)
        rows = expected(sessions_of(fuzz.on_time(elements), keys, gap), keys, gap, time, wanted)
        check_operator(
            lambda s: s.window(oop.session(gap)).group_by(*keys).agg(**wanted),
            elements,
            seed=seed,
            threads=some_threads(rng),
            expected=rows,
        )

    each(seeds, case)


def test_sessions_and_what_is_behind_them(seeds):
    """What is held back lowers what everything behind it may promise: a second window, a union, a filter by group."""

    def case(rng, seed):
        elements = fuzz.random_stream(rng, TIMES["int64"])
        gap = some_gap(rng, TIMES["int64"])

        def sessions(s):
            return s.window(oop.session(gap)).group_by("link").agg(n=oop.count())

        pipeline = rng.choice(
            [
                lambda s: sessions(s).window(oop.tumbling(10)).agg(n=oop.sum("n"), sessions=oop.count()),
                lambda s: sessions(s).window(oop.session(4), on="window_end").group_by("link").agg(n=oop.sum("n")),
                lambda s: sessions(s).filter(oop.col("link") == "A").window(oop.session(4)).agg(n=oop.sum("n")),
                lambda s: sessions(s).select(ts="window_start", n="n").union(s.select("ts", n=oop.lit(0))),
                lambda s: s.window(oop.tumbling(3)).group_by("link").agg(n=oop.count()).window(oop.session(4)).agg(
                    n=oop.sum("n")
                ),
            ]
        )  # fmt: skip
        check_operator(pipeline, elements, seed=seed, threads=some_threads(rng))

    each(seeds[::2], case)


@pytest.mark.parametrize(
    "policy",
    [oop.slack(5), oop.slack(5, by="link"), oop.slack(5, by="link", idle=9)],
    ids=["all", "by", "idle"],
)
def test_sessions_under_policies(policy):
    """Promises of all groups come in a row, as trains; groups retire and return."""

    def case(rng, seed):
        elements = [e for e in fuzz.random_stream(rng, TIMES["int64"]) if not isinstance(e, oop.Punctuation)]
        kept = [r for b in oop.source(elements, time="ts", punctuate=policy).run() for r in b.to_pylist()]
        gap = some_gap(rng, TIMES["int64"])
        rows = expected(sessions_of(kept, ["link"], gap), ["link"], gap, TIMES["int64"], {"n": 1})
        check_operator(
            lambda s: s.window(oop.session(gap)).group_by("link").agg(n=oop.count()),
            elements,
            seed=seed,
            punctuate=policy,
            threads=some_threads(rng),
            expected=rows,
        )

    each(range(CASES // 5), case)


def with_admitted(elements: list[Element], gap: Any) -> tuple[list[list[Row]], int]:
    """Row by row: what is open by link, what has gone out; and how many late rows were of no use."""
    given = oop.Frontier()
    open_: dict[Any, list[list[Row]]] = defaultdict(list)
    out: list[tuple[Any, list[Row]]] = []
    unused = 0
    for element in elements:
        if isinstance(element, oop.Punctuation):
            given.advance(element)
            for link, sessions in open_.items():
                bound = given.bound("ts", {"link": link})
                for session in list(sessions):
                    if bound is not None and session[-1]["ts"] + gap < bound:
                        sessions.remove(session)
                        out.append((link, session))
            continue
        batch_is_late = [given.covers_row(row) for row in fuzz.physical_rows(element)]
        for row, late in zip(fuzz.physical_rows(element), batch_is_late, strict=True):
            link, t = row["link"], row["ts"]
            bound = given.bound("ts", {"link": link})
            gone = [s for group, s in out if group == link]
            reached = any(t <= s[-1]["ts"] + gap and s[0]["ts"] <= t + gap for s in gone)
            if late and ((bound is not None and (bound == math.inf or t + gap < bound)) or reached):
                unused += 1
                continue
            assert not reached
            rows = [r for s in open_[link] for r in s]
            open_[link] = sessions_of([*rows, row], [], gap)
    return [s for _, s in out] + [s for sessions in open_.values() for s in sessions], unused


def test_sessions_with_late_rows_admitted(seeds):
    def case(rng, seed):
        time = TIMES[rng.choice(["int64", "float64", "timestamp"])]
        elements = fuzz.random_stream(rng, time)
        gap = some_gap(rng, time)
        found, unused = with_admitted(elements, gap)
        rows = expected(found, ["link"], gap, time, {"n": 1, "hi": 1})
        pipeline = lambda s: s.window(oop.session(gap)).group_by("link").agg(n=oop.count(), hi=oop.max("v"))  # noqa: E731
        check_operator(pipeline, elements, seed=seed, late="admit", threads=some_threads(rng), expected=rows)
        schema = fuzz.schema_of(time)
        source = oop.source(elements, time="ts", punctuate=oop.punctuated(), late="admit", schema=schema)
        run = pipeline(source).run()
        run.to_table()
        assert sum(b.late_unused for b in run.metrics.boxes) == unused

    each(seeds, case)
