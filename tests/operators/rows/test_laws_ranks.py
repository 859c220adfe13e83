"""Ranks: rows numbered behind a union, and in partitions; the same whatever the batches, threads and plans do."""

from __future__ import annotations

from collections import defaultdict

import pyarrow as pa
import pytest

import oop
from oop.errors import SchemaMismatch
from oop.operators.aggregate.partition_rows import PartitionRowsOperator
from oop.testing import Harness, check_operator
from tests.operators import fuzz
from tests.operators.fuzz import CASES, TIMES
from tests.operators.test_laws import each, some_threads, some_time

NO_MERGE = oop.aggregate(0, lambda s, k: s + k, final=lambda s: s)


def batches(rng, time):
    return [e for e in fuzz.random_stream(rng, time) if isinstance(e, pa.RecordBatch)]


def kept(elements, slack):
    """By definition: the rows that are not behind the greatest seen before them by more than the slack, numbered."""
    greatest, found, number = None, [], 0
    for batch in elements:
        for row in fuzz.physical_rows(batch):
            if greatest is None or row["ts"] >= greatest - slack:
                found.append({**row, "seq": number})
            greatest = row["ts"] if greatest is None else max(greatest, row["ts"])
            number += 1
    return found


def test_number_of_a_union():
    """By time, then by source as they stand in the plan, then as each source gave them."""

    def case(rng, seed):
        time = TIMES[rng.choice(["int64", "float64"])]
        inputs = [batches(rng, time) for _ in range(rng.choice([1, 2, 3]))]
        slack = rng.choice([0, 5, 30])
        rows = [{**r, "source": i} for i, e in enumerate(inputs) for r in kept(e, slack) if r["k"] == 1]
        rows.sort(key=lambda r: (r["ts"], r["source"], r["seq"]))
        names, size, nested = fuzz.schema_of(time).names, rng.choice([2, 3]), rng.random() < 0.5

        def union(*streams):
            first, *others = streams
            if nested and len(others) == 2:
                both = first.union(others[0].union(others[1]).filter(oop.col("k") == 1))
            else:
                both = oop.union(*streams)
            return both.filter(oop.col("k") == 1)

        if rng.random() < 0.5:

            def plan(*s):
                return union(*s).number("rank")

            expected = [{**{n: r[n] for n in names}, "rank": i} for i, r in enumerate(rows)]
        else:

            def plan(*s):
                return union(*s).number().window(oop.rows(size)).agg(n=oop.count("v"))

            windows = [rows[at : at + size] for at in range(0, len(rows), size)]
            expected = [
                {"window_start": i * size, "window_end": (i + 1) * size, "n": sum(r["v"] is not None for r in w)}
                for i, w in enumerate(windows)
            ]
        check_operator(plan, *inputs, seed=seed, punctuate=oop.slack(slack), expected=expected)

    each(range(CASES // 2), case)


def test_windows_of_rows_by_partition():
    def case(rng, seed):
        elements = batches(rng, some_time(rng))
        range_ = rng.randint(1, 5)
        every = rng.choice([range_, rng.randint(1, range_), range_ + rng.randint(1, 3)])
        offset, by, others = rng.randint(-4, 4), rng.choice([["link"], ["link", "k"]]), rng.choice([[], ["x"]])
        rows = [row for batch in elements for row in fuzz.physical_rows(batch) if row["v"] != 0]
        counts, placed = defaultdict(int), []
        for row in rows:
            key = tuple(row[c] for c in by)
            placed += [(row, w) for w in fuzz.windows_of(counts[key], range_, every, offset)]
            counts[key] += 1
        wanted, unmerged = fuzz.some_aggregates(rng), rng.random() < 0.2
        expected = fuzz.window_rows(placed, [*by, *others], range_, every, offset, pa.int64(), wanted)
        window = oop.rows(range_, every=every, offset=offset, by=by)

        def plan(s):
            # with an aggregate that cannot merge there are no panes
            more = {"s": NO_MERGE("k")} if unmerged else {}
            there = s.filter((oop.col("v") != 0) | oop.col("v").is_null())
            grouped = there.window(window).group_by(*others)
            return grouped.agg(**wanted, **more).select("window_start", "window_end", *by, *others, *wanted)

        policy = rng.choice([oop.at_end(), {}])
        check_operator(plan, elements, seed=seed, punctuate=policy, threads=some_threads(rng), expected=expected)

    each(range(CASES), case)


def test_a_window_of_a_partition_goes_out_with_its_last_row():
    h = Harness(
        lambda s: s.window(oop.rows(2, by="k")).agg(v=oop.sum("v")),
        {"ts": "int64", "k": "string", "v": "int64"},
        punctuate=oop.slack(5),
    )
    found = []
    for k, v in (("a", 1), ("b", 2), ("a", 4), ("a", 8), ("b", 16)):
        h.push({"ts": [0], "k": [k], "v": [v]})
        found.append([(r["window_start"], r["k"], r["v"]) for r in h.rows()])
    assert found == [[], [], [(0, "a", 5)], [], [(0, "b", 18)]]
    assert "too few rows" in str(h.run.blame())
    h.end()
    assert [(r["window_start"], r["k"], r["v"]) for r in h.rows()] == [(2, "a", 8)]
    assert h.buffered_rows == 0


def test_early_results_of_partitions():
    s = oop.source(pa.table({"ts": [1, 2, 3], "k": [1, 1, 1]}), time="ts", punctuate=oop.ordered())
    rows = s.window(oop.rows(2, by="k")).agg(n=oop.count()).emit("on_change").run().to_table().to_pylist()
    assert [(r["window_start"], r["n"]) for r in rows if r["emit"] == "final"] == [(0, 2), (2, 1)]


def test_number_behind_a_join_goes_by_values():
    a, b = (oop.source(pa.table({"ts": [1, 1], "k": [2, 1]}), time="ts", punctuate=oop.ordered()) for _ in "ab")
    joined = a.join(b, on="k", within=(0, 0)).number("n").run().to_table()
    assert [(r["k"], r["n"]) for r in joined.sort_by("n").to_pylist()] == [(1, 0), (2, 1)]


@pytest.mark.parametrize("by", [[], ["k", "k"], ["k", 1]], ids=str)
def test_partitions_are_named(by):
    with pytest.raises(ValueError):
        oop.rows(3, by=by)


def test_partitions_are_columns():
    s = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.ordered())
    with pytest.raises(oop.UnknownColumn) as error:
        s.window(oop.rows(3, by="host")).agg(n=oop.count())
    assert "test_laws_ranks.py" in str(error.value)
    with pytest.raises(SchemaMismatch, match="windows of time"):
        s.with_columns(k=oop.lit(1)).window(oop.rows(3, by="k")).agg(n=oop.late())


def test_a_named_rank_is_a_number_too():
    s = oop.source(pa.table({"ts": [3, 1, 2]}), time="ts", punctuate=oop.slack(5))
    rows = s.number("rank").window(oop.rows(2)).agg(ts=oop.max("ts"), last=oop.max("rank")).run().to_table()
    assert [(r["ts"], r["last"]) for r in rows.to_pylist()] == [(2, 1), (3, 2)]


@pytest.mark.parametrize("every", [4, 2], ids=["tumbling", "sliding"])
def test_only_windows_that_are_due_are_looked_at(every: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions of many lengths have windows of many numbers open; a row of one of them fills one window."""
    h = Harness(lambda s: s.window(oop.rows(4, every=every, by="k")).agg(n=oop.count()), {"ts": "int64", "k": "int64"})
    lengths = [(k, 4 * k + 3) for k in range(40)]
    rows = [k for k, length in lengths for _ in range(length)]
    h.push({"ts": [1] * len(rows), "k": rows})
    h.rows()
    looked_at = []
    ids = PartitionRowsOperator._ids
    monkeypatch.setattr(PartitionRowsOperator, "_ids", lambda self, table: looked_at.append(table) or ids(self, table))
    h.push({"ts": [1], "k": [7]})
    assert [(r["window_start"], r["k"], r["n"]) for r in h.rows()] == [(28, 7, 4)]
    assert len(looked_at) <= 5
