"""The laws in oop/testing/laws.py for sessions, under the disorder fuzzer."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.engines.embedded.pool import Pool
from oop.engines.embedded.sharded import Sharded
from oop.operators.core import time_slices
from oop.operators.core.context import Context
from oop.operators.core.operator import Element
from oop.operators.session import filed as session_filed
from oop.operators.session import table as session_table
from oop.operators.session.session import Session
from oop.punctuation.translate import carry
from oop.testing import Harness, check_operator, disorder
from oop.testing.laws import bag
from oop.testing.promising import lowered_by
from tests.operators import fuzz
from tests.operators.fuzz import CASES, TIMES

Row = dict[str, Any]
KEYS = [[], ["link"], ["k"], ["k", "link"], ["link", "k"]]


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
    """Row by row: what is open by link, what has gone out; and how many late rows were of no use.

    A late row is used if its session is still open, touches none that went out, and begins at no time of which it has
    been promised that no session begins there.
    """
    given, promised = oop.Frontier(), oop.Frontier()
    open_: dict[Any, list[list[Row]]] = defaultdict(list)
    out: list[tuple[Any, list[Row]]] = []
    unused = 0
    for element in elements:
        if isinstance(element, oop.Punctuation):
            if not given.advance(element):
                continue
            for link, sessions in open_.items():
                bound = given.bound("ts", {"link": link})
                for session in list(sessions):
                    if bound is not None and session[-1]["ts"] + gap < bound:
                        sessions.remove(session)
                        out.append((link, session))
            allowed = carry(given, {"ts": [("window_start", None)]}, {"link": ["link"]})
            starts = [(s[0]["ts"], link) for link, sessions in open_.items() for s in sessions]
            held = pa.record_batch(
                [pa.array([t for t, _ in starts]), pa.array([k for _, k in starts], pa.string())],
                names=["window_start", "link"],
            )
            list(promised.advance_to(lowered_by(allowed, ["window_start"], [held] if starts else [])))
            continue
        batch_is_late = [given.covers_row(row) for row in fuzz.physical_rows(element)]
        for row, late in zip(fuzz.physical_rows(element), batch_is_late, strict=True):
            link, t = row["link"], row["ts"]
            bound, start = given.bound("ts", {"link": link}), promised.bound("window_start", {"link": link})
            gone = [s for group, s in out if group == link]
            reached = any(t <= s[-1]["ts"] + gap and s[0]["ts"] <= t + gap for s in gone)
            over = bound is not None and (bound == math.inf or t + gap < bound)
            if late and (over or reached or (start is not None and t < start)):
                unused += 1
                continue
            assert not reached
            rows = [r for s in open_[link] for r in s]
            open_[link] = sessions_of([*rows, row], [], gap)
    return [s for _, s in out] + [s for sessions in open_.values() for s in sessions], unused


def test_sessions_with_late_rows_admitted(seeds):
    """One element after the other, for it depends on what has been promised which late rows are used; then in any order
    and as trains, for the other laws: what late rows are in keeps every promise, too."""

    def case(rng, seed):
        time = TIMES[rng.choice(["int64", "float64", "timestamp"])]
        elements = fuzz.random_stream(rng, time)
        gap = some_gap(rng, time)
        found, unused = with_admitted(elements, gap)
        pipeline = lambda s: s.window(oop.session(gap)).group_by("link").agg(n=oop.count(), hi=oop.max("v"))  # noqa: E731
        harness = Harness(pipeline, fuzz.schema_of(time), late="admit")
        for element in [*elements, oop.END]:
            harness.feed(element)
        assert bag(harness.rows()) == bag(expected(found, ["link"], gap, time, {"n": 1, "hi": 1}))
        assert sum(b.late_unused for b in harness.run.metrics.boxes) == unused
        check_operator(pipeline, elements, seed=seed, late="admit", threads=some_threads(rng))

    each(seeds, case)


def test_no_row_on_time_is_lost_by_a_late_one(seeds):
    """Also behind a window on top: each row on time is counted there, whatever late rows bridge or begin."""

    def case(rng, seed):
        elements = disorder(fuzz.random_stream(rng, TIMES["int64"]), seed)
        keys, gap = rng.choice(KEYS), some_gap(rng, TIMES["int64"])

        def pipeline(s):
            sessions = s.window(oop.session(gap)).group_by(*keys).agg(n=oop.count())
            return sessions.window(oop.tumbling(rng.choice([1, 10]))).agg(n=oop.sum("n"), sessions=oop.count())

        harness = Harness(pipeline, fuzz.schema_of(TIMES["int64"]), late="admit", threads=some_threads(rng))
        for element in [*elements, oop.END]:
            harness.feed(element)
        late = sum(ledger.table().num_rows for ledger in harness.late.sources.values())
        unused = [b.late_unused for b in harness.run.metrics.boxes]
        rows = sum(e.num_rows for e in elements if isinstance(e, pa.RecordBatch))
        assert sum(r["n"] for r in harness.rows()) == rows - sum(unused)
        assert sum(unused) <= late and sum(map(bool, unused)) <= 1  # of no use to the sessions; all else is used

    each(seeds[::2], case)


def test_what_shards_promise_does_not_depend_on_when_they_get_to_it():
    """Promises of groups, one of which is gone in what follows: coupled or not is up to who hands them over."""
    schema = fuzz.schema_of(pa.int64())
    found = []
    for waits in (False, True):
        pool = Pool(1)  # the one thread is this one: nothing happens but when it helps
        spec = Session(("link",), (("n", oop.count()),), 5, "ts", pa.int64(), "5", True)
        sharded = Sharded(spec, Context([schema]), [("link",)], 2, pool)
        rows = [{"ts": 3, "link": link, "k": 1, "v": 1, "x": 1.0} for link in ("A", "B", "C")]
        list(sharded.process_batch(pa.RecordBatch.from_pylist(rows, schema=schema)))
        for where, bound in ((oop.not_in("A"), 7), ("B", 8), (oop.not_in("C"), 8), ("C", 8)):
            list(sharded.process_punctuation((oop.Punctuation({"ts": bound}, {"link": where}),)))
            if not waits:
                sharded.settle()
        sharded.settle()
        found.append([s.operator.ports.out for s in sharded.shards])
    assert found[0] == found[1]


@pytest.mark.parametrize("keys", [("a", "b"), ("b", "a")])
def test_groups_of_two_columns_of_one_type_are_not_mistaken_for_each_other(keys: tuple[str, str]) -> None:
    """Values of a group stand in the order of the columns' names, whatever the order of the keys."""
    schema = pa.schema({"ts": pa.int64(), "a": pa.string(), "b": pa.string()})

    def case(rng: random.Random, seed: int) -> None:
        elements: list[Element] = []
        reached: dict[tuple[str, str], int] = {}
        for _ in range(12):
            a, b = rng.choice("xy"), rng.choice("xyz")
            least = reached.get((a, b), 0)
            elements.append(fuzz.batch([{"ts": least + rng.randint(0, 9), "a": a, "b": b}], schema))
            reached[a, b] = least + rng.randint(0, 6)
            elements.append(oop.Punctuation({"ts": reached[a, b]}, {"a": a, "b": b}))
        check_operator(lambda s: s.window(oop.session(3)).group_by(*keys).agg(n=oop.count()), elements, seed=seed)

    each(range(6), case)
