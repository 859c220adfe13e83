"""What became of a window's rows: seen, late, set aside; and the other aggregates are as if nobody asked."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

import oop
from oop.errors import SchemaMismatch
from oop.testing import Harness, check_operator, resplit
from oop.testing.laws import bag
from tests.operators import fuzz
from tests.operators.fuzz import CASES, TIMES
from tests.operators.test_laws import each, some_threads

ASKED = {"seen": oop.seen(), "late": oop.late(), "aside": oop.aside()}


def expected(elements, keys, range_, slide, late):
    """Of every window and group that has an answer: rows that came before it went out."""
    on_time = Counter(_cells(fuzz.placed(fuzz.on_time(elements), range_, slide, 0), keys))
    seen = Counter(_cells(fuzz.with_admitted(elements, keys, range_, slide, 0), keys))
    return [
        {
            "window_start": cell[0] * slide,
            "window_end": cell[0] * slide + range_,
            **dict(zip(keys, cell[1:], strict=True)),
            "n": count if late == "admit" else on_time[cell],
            "seen": count,
            "late": count - on_time[cell],
            "aside": 0 if late == "admit" else count - on_time[cell],
        }
        for cell, count in seen.items()
        if late == "admit" or on_time[cell]
    ]


def _cells(placed, keys):
    return [(w, *(row[k] for k in keys)) for row, w in placed]


def test_accounts_of_windows():
    def case(rng, seed):
        elements = fuzz.random_stream(rng, TIMES["int64"])
        keys = rng.choice([[], ["link"], ["link", "k"]])
        range_, slide = rng.choice([(5, 5), (9, 4), (3, 6)])
        late = rng.choice(["drop", "admit"])
        window = oop.sliding(range_, every=slide)
        schema = next(e for e in elements if isinstance(e, pa.RecordBatch)).schema
        harness = Harness(
            lambda s: s.window(window).group_by(*keys).agg(n=oop.count(), **ASKED),
            schema,
            late=late,
            threads=some_threads(rng),
        )
        for element in elements:
            harness.feed(element)
        harness.end()
        assert bag(harness.rows()) == bag(expected(elements, keys, range_, slide, late))
        assert harness.buffered_rows == 0

    each(range(CASES // 5), case)


def test_how_rows_are_cut_decides_only_over_late_rows():
    """A policy's promise follows its batch, so a late row may find its window open or not (docs/promises.md). Which
    rows are late, and what is counted of rows on time, does not depend on it."""

    def case(rng, seed):
        elements = [e for e in fuzz.random_stream(rng, TIMES["int64"]) if not isinstance(e, oop.Punctuation)]
        mode = rng.choice(["drop", "admit"])
        found = []
        for cut in (elements, resplit(elements, seed), resplit(elements, seed, largest=1)):
            source = oop.source(cut, time="ts", punctuate=oop.slack(3), late=mode, schema=elements[0].schema)
            counts = source.window(oop.tumbling(5)).group_by("link").agg(n=oop.count(), **ASKED)
            run = counts.run(engine=oop.Embedded(threads=some_threads(rng)))
            rows = run.to_table().to_pylist()
            ledger = sum(ledger.table().num_rows for ledger in run.late.sources.values())
            assert sum(r["late"] for r in rows) <= ledger
            assert all(r["aside"] == (r["late"] if mode == "drop" else 0) for r in rows)
            assert all(r["n"] == r["seen"] - r["aside"] for r in rows)
            on_time = {(r["window_start"], r["link"]): r["seen"] - r["late"] for r in rows}
            found.append(({cell: n for cell, n in on_time.items() if n}, ledger))
        assert found[0] == found[1] == found[2]

    each(range(CASES // 10), case)


def test_who_counts_changes_nothing_for_the_others():
    """The rows that are only counted reach nobody else: not the result, another window, a join or a union."""

    def case(rng, seed):
        elements = fuzz.random_stream(rng, TIMES["int64"])

        def counted(s):
            return s.window(oop.tumbling(5)).group_by("link").agg(n=oop.count(), v=oop.max("v"), **ASKED)

        def beside(s):
            kept = s.filter(oop.col("k") == 1)
            plain = kept.window(oop.tumbling(5)).group_by("link").agg(n=oop.count(), v=oop.max("v"))
            passed = kept.select(
                "link", "v", window_start=oop.col("ts"), window_end=oop.col("ts"), n=oop.lit(0).cast("int64")
            )
            names = ["window_start", "window_end", "link", "n", "v"]
            return oop.union(counted(s).select(*names), plain.select(*names), passed.select(*names))

        def model(s):
            kept = s.filter(oop.col("k") == 1)
            plain = [x.window(oop.tumbling(5)).group_by("link").agg(n=oop.count(), v=oop.max("v")) for x in (s, kept)]
            passed = kept.select("link", "v", window_start="ts", window_end="ts", n=oop.lit(0).cast("int64"))
            names = ["window_start", "window_end", "link", "n", "v"]
            return oop.union(*(x.select(*names) for x in (*plain, passed)))

        schema = next(e for e in elements if isinstance(e, pa.RecordBatch)).schema
        wanted = Harness(model, schema)
        wanted.feed(*elements, oop.END)
        check_operator(beside, elements, seed=seed, threads=some_threads(rng), expected=wanted.rows())

    each(range(CASES // 10), case)


def test_two_sources_and_a_filter_on_the_way():
    one = [pa.record_batch({"ts": [1, 8, 2, 3]}), pa.record_batch({"ts": [25]})]
    two = [pa.record_batch({"ts": [4, 9, 1, 5]}), pa.record_batch({"ts": [26]})]
    streams = [oop.source(iter(b), time="ts", punctuate=oop.ordered()) for b in (one, two)]
    counts = oop.union(*streams).filter(oop.col("ts") != 3).window(oop.tumbling(10)).agg(n=oop.count(), **ASKED)
    first = counts.run().to_table().to_pylist()[0]
    assert first == {"window_start": 0, "window_end": 10, "n": 4, "seen": 7, "late": 3, "aside": 3}


def test_explain_shows_where_such_rows_are_kept_back():
    s = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.ordered())
    counts = s.window(oop.tumbling(5)).agg(n=oop.late())
    both = counts.select("n", ts="window_start").union(s.select("ts", n=oop.lit(0).cast("int64")))
    assert "OnTime" in both.explain() and "OnTime" not in counts.explain()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda s: s.group_by("ts").agg(n=oop.late()), "windows of time"),
        (
            lambda s: s.window(oop.tumbling(5)).agg(n=oop.count()).window(oop.tumbling(10)).agg(n=oop.seen()),
            "known at the sources",
        ),
    ],
)
def test_where_late_rows_are_not_known(wrong, message):
    s = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.ordered())
    with pytest.raises(SchemaMismatch, match=message) as error:
        wrong(s)
    assert "test_laws_accounts.py" in str(error.value)
