"""The laws for what assumes an order of arrival: rows are not permuted, but cut into any batches."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop import aurora
from oop.testing import Harness, bag, check_operator
from tests.oop_.aurora import model
from tests.operators import fuzz
from tests.operators.fuzz import CASES, TIMES
from tests.operators.test_laws import each, some_time

LINK, K = oop.col("link_right"), oop.col("k_right")
GROUPS: list[tuple[str, ...]] = [(), ("link",), ("k",), ("link", "k")]


def rows_alone(rng: random.Random, time: pa.DataType) -> list[pa.RecordBatch]:
    return [e for e in fuzz.random_stream(rng, time) if isinstance(e, pa.RecordBatch)]


def physical(batches: list[pa.RecordBatch]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in fuzz.physical_rows(batch)]


def some_order(rng: random.Random) -> oop.Order:
    return oop.Order(rng.choice(["ts", "ts", "v", "x"]), rng.choice([0, 0, 1, 2, 5]), rng.choice(GROUPS))


@pytest.mark.parametrize("threads", [1, 2])
def test_assume(threads):
    def case(rng, seed):
        order, time = some_order(rng), some_time(rng)
        batches = rows_alone(rng, time)
        kept, others = model.in_order(physical(batches), order.on, order.slack, order.group_by)
        schema = fuzz.schema_of(time)
        check_operator(
            aurora.Assume(order),
            batches,
            seed=seed,
            punctuate=oop.at_end(),
            threads=threads,
            expected=fuzz.typed(kept, schema),
        )
        harness = Harness(aurora.Assume(order), schema, punctuate=oop.at_end(), threads=threads)
        for batch in batches:
            harness.push(batch)
        aside = harness.late["Assume"].select(schema.names).to_pylist()
        assert bag(aside) == bag(fuzz.typed(others, schema))

    each(range(CASES // 2), case)


def test_what_assume_promises():
    """After every row what the definition allows, and what the input has promised."""

    def case(rng, seed):
        order = some_order(rng)
        elements = fuzz.random_stream(rng, TIMES["int64"], late=False)
        harness = Harness(aurora.Assume(order), fuzz.schema_of(TIMES["int64"]))
        passed: list[Any] = []
        groups: dict[tuple[Any, ...], list[Any]] = {}
        for element in elements:
            for one in [element] if isinstance(element, oop.Punctuation) else _one_by_one(element):
                harness.feed(one)
                if isinstance(one, oop.Punctuation):
                    passed.append(one)
                    continue
                (row,) = fuzz.physical_rows(one)
                seen = groups.setdefault(tuple(row[name] for name in order.group_by), [])
                if model.is_number(row[order.on]):
                    seen.append(row[order.on])
                wanted = oop.Frontier.of(*passed)
                for values, found in groups.items():
                    if len(found) > order.slack:
                        bound = sorted(found)[-1 - order.slack]
                        where = dict(zip(order.group_by, values, strict=True))
                        wanted.advance(oop.Punctuation({order.on: bound}, where))
                assert harness.frontier == wanted

    each(range(CASES // 5), case)


def _one_by_one(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    return [batch.slice(i, 1) for i in range(batch.num_rows)]


@pytest.mark.parametrize("idle", [None, 9])
def test_assume_of_all_groups_together(idle):
    """The same rows as at a source with that policy."""

    def case(rng, seed):
        slack, by = rng.choice([0, 1, 3]), rng.choice(["link", ["link", "k"], ["k", "link"]])
        listed = {"link": ["A", "B", None], "k": [1, None]}
        groups = list(itertools.product(*(listed[name] for name in by))) if isinstance(by, list) else listed[by]
        groups = None if idle else groups
        batches = rows_alone(rng, TIMES["int64"])
        policy = oop.slack(rows=slack, by=by, groups=groups, idle=idle)
        source = oop.source(batches, time="ts", punctuate=policy, schema=fuzz.schema_of(TIMES["int64"]))
        expected = source.run().to_table().to_pylist()
        assumed = aurora.Assume(oop.Order("ts", slack, by), groups=groups, idle=idle)
        check_operator(assumed, batches, seed=seed, punctuate=oop.at_end(), expected=expected)

    each(range(CASES // 5), case)


@pytest.mark.parametrize("threads", [1, 2])
def test_numbers(threads):
    def case(rng, seed):
        by, time = rng.choice(GROUPS), some_time(rng)
        batches = rows_alone(rng, time)
        counts: dict[tuple[Any, ...], int] = {}
        expected = []
        for row in (row for batch in batches for row in batch.to_pylist()):
            key = tuple(row[name] for name in by)
            expected.append({**row, "Tup#": counts.get(key, 0)})
            counts[key] = counts.get(key, 0) + 1
        assumed = aurora.Assume(oop.Order("Tup#", group_by=by))
        check_operator(
            assumed, batches, seed=seed, punctuate=oop.at_end(), threads=threads if by else 1, expected=expected
        )

    each(range(CASES // 5), case)


@pytest.mark.parametrize("threads", [1, 2])
def test_aggregate(threads):
    def case(rng, seed):
        order = oop.Order("ts", rng.choice([0, 1, 2, 4]), rng.choice(GROUPS))
        size, advance = rng.choice([(5, 5), (9, 4), (2, 5), (6, 2)])
        batches = rows_alone(rng, TIMES["int64"])
        kept, _ = model.in_order(physical(batches), "ts", order.slack, order.group_by)
        found = model.windows(kept, "ts", size, advance, order.group_by)
        names = ("ts", *order.group_by)
        expected = [
            {**dict(zip(names, key, strict=True)), "n": len(rows), "most": most([row["v"] for row in rows])}
            for key, rows in found.items()
        ]
        box = aurora.Aggregate({"n": oop.count(), "most": oop.max("v")}, order, size, advance)
        check_operator(box, batches, seed=seed, punctuate=oop.at_end(), threads=threads, expected=expected)

    each(range(CASES // 5), case)


def most(values: list[Any]) -> Any:
    return max((v for v in values if v is not None), default=None)


ARRIVED = oop.aggregate(0, lambda s, k: (s * 31 + k) % 1_000_003, name="arrived")
"""Another result for every order of its rows."""


def arrived(rows: list[dict[str, Any]]) -> int | None:
    state, seen = 0, False
    for row in rows:
        if row["k"] is not None:
            state, seen = (state * 31 + row["k"]) % 1_000_003, True
    return state if seen else None


def sorted_(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["ts"])


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_of_a_window_come_in_order_and_as_they_arrive(threads):
    """Of the attribute, as behind a sort (Aurora paper, section 5.2.2.2); rows of one value in the order of their
    arrival."""

    def case(rng, seed):
        order = oop.Order("ts", rng.choice([0, 2, 4]), rng.choice([(), ("link",)]))
        size, advance = rng.choice([(5, 5), (9, 4)])
        batches = rows_alone(rng, TIMES["int64"])
        kept, _ = model.in_order(physical(batches), "ts", order.slack, order.group_by)
        names = ("ts", *order.group_by)
        found = model.windows(kept, "ts", size, advance, order.group_by)
        expected = [{**dict(zip(names, key, strict=True)), "o": arrived(sorted_(rows))} for key, rows in found.items()]
        box = aurora.Aggregate({"o": ARRIVED("k")}, order, size, advance)
        check_operator(box, batches, seed=seed, punctuate=oop.at_end(), threads=threads, expected=expected)

    each(range(CASES // 5), case)


def test_full_windows_of_rows():
    def case(rng, seed):
        by = rng.choice(GROUPS)
        size, advance = rng.choice([(3, 3), (3, 1), (2, 5), (1, 1)])
        batches = rows_alone(rng, TIMES["int64"])
        groups: dict[tuple[Any, ...], list[Any]] = {}
        for row in physical(batches):
            groups.setdefault(tuple(row[name] for name in by), []).append(row)
        expected = [
            {"Tup#": first, **dict(zip(by, key, strict=True)), "o": arrived(rows[first : first + size])}
            for key, rows in groups.items()
            for first in range(0, len(rows) - size + 1, advance)
        ]
        box = aurora.Aggregate({"o": ARRIVED("k")}, oop.Order("Tup#", group_by=by), size, advance)
        check_operator(box, batches, seed=seed, punctuate=oop.at_end(), expected=expected)

    each(range(CASES // 5), case)


@pytest.mark.parametrize("threads", [1, 2])
def test_windows_that_begin_where_a_predicate_holds(threads):
    def case(rng, seed):
        order = oop.Order("ts", rng.choice([0, 1, 3]), rng.choice(GROUPS))
        size, time = rng.choice([1, 4, 9]), rng.choice([TIMES["int64"], TIMES["float64"]])
        batches = rows_alone(rng, time)
        kept, _ = model.in_order(physical(batches), "ts", order.slack, order.group_by)
        by = order.group_by
        begun = {(row["ts"], *(row[n] for n in by)) for row in kept if row["k"] == 1}
        expected = []
        for start, *group in begun:
            rows = sorted_([r for r in kept if start <= r["ts"] < start + size and [r[n] for n in by] == group])
            expected.append({"ts": start, **dict(zip(by, group, strict=True)), "n": len(rows), "o": arrived(rows)})
        functions = {"n": oop.count(), "o": ARRIVED("k")}
        box = aurora.Aggregate(functions, order, size, advance=oop.col("k") == 1)
        check_operator(box, batches, seed=seed, punctuate=oop.at_end(), threads=threads, expected=expected)

    each(range(CASES // 5), case)


def test_tumble():
    def case(rng, seed):
        by = rng.choice([("link",), ("k",), ("link", "k")])
        batches = rows_alone(rng, some_time(rng))
        runs: list[tuple[tuple[Any, ...], list[Any]]] = []
        for row in (row for batch in batches for row in batch.to_pylist()):
            key = tuple(row[name] for name in by)
            if not runs or runs[-1][0] != key:
                runs.append((key, []))
            runs[-1][1].append(row)
        expected = [
            {
                **dict(zip(by, key, strict=True)),
                "n": len(rows),
                "o": arrived(rows),
                "most": most([r["v"] for r in rows]),
            }
            for key, rows in runs
        ]
        functions = {"n": oop.count(), "o": ARRIVED("k"), "most": oop.max("v")}
        check_operator(aurora.Tumble(functions, by), batches, seed=seed, punctuate=oop.at_end(), expected=expected)

    each(range(CASES // 2), case)


def test_tumble_shows_its_window_after_so_many_rows():
    """Its rows are counted from its first (Aurora* and Medusa paper, second footnote of section 2.2); batches do not
    matter."""

    def case(rng, seed):
        by, every = rng.choice([("link",), ("k",), ("link", "k")]), rng.choice([1, 2, 3])
        batches = rows_alone(rng, some_time(rng))
        expected: list[dict[str, Any]] = []
        open_: list[Any] = []
        before: tuple[Any, ...] | None = None
        last = None

        def result() -> dict[str, Any]:
            rows = dict(zip(by, before or (), strict=True))
            return rows | {"o": arrived(open_), "most": most([r["v"] for r in open_])}

        for row in (row for batch in batches for row in batch.to_pylist()):
            key = tuple(row[name] for name in by)
            if key != before:
                if open_:
                    expected.append({**result(), "emit": "final"})
                open_, before, last = [], key, None
            open_.append(row)
            if len(open_) % every == 0 and result() != last:  # what has not changed is not shown again
                last = result()
                expected.append({**last, "emit": "partial"})
        if open_:
            expected.append({**result(), "emit": "final"})
        box = aurora.Tumble({"o": ARRIVED("k"), "most": oop.max("v")}, by, emit=every)
        check_operator(box, batches, seed=seed, punctuate=oop.at_end(), expected=expected)
        found = box(oop.source(batches, time="ts", punctuate=None, schema=batches[0].schema)).run().to_table()
        assert found.to_pylist() == expected  # in this order, too

    each(range(CASES // 4), case)


@pytest.mark.parametrize("emit", [1, 2, "on_change", "on_close"])
def test_final_rows_of_a_tumble_are_the_plain_answer(emit):
    def case(rng, seed):
        elements = fuzz.random_stream(rng, TIMES["int64"], late=False)
        by = rng.choice([("ts",), ("link",), ("ts", "link"), ()])
        functions = {"n": oop.count(), "most": oop.max("v")}
        runs = []
        for box in (aurora.Tumble(functions, by), aurora.Tumble(functions, by, emit=emit)):
            harness = Harness(box, fuzz.schema_of(TIMES["int64"]))
            harness.feed(*elements, oop.END)
            runs.append(harness.rows())
            assert harness.state_bytes == 0
        assert [r for r in runs[1] if r["emit"] == "final"] == [{**r, "emit": "final"} for r in runs[0]]

    each(range(CASES // 10), case)


def test_tumble_is_over_when_it_is_promised():
    harness = Harness(aurora.Tumble({"n": oop.count()}, "ts"), {"ts": "int64", "v": "int64"})
    harness.push({"ts": [3, 3], "v": [1, 2]})
    harness.promise(ts=3)
    assert harness.rows() == []
    assert harness.promises() == [oop.Punctuation({"ts": 3})]
    harness.promise(ts=4)
    assert harness.rows() == [{"ts": 3, "n": 2}]
    assert harness.promises() == [oop.Punctuation({"ts": 4})]
    harness.push({"ts": [4], "v": [1]})
    assert harness.rows() == [] and harness.buffered_rows == 1
    harness.end()
    assert harness.rows() == [{"ts": 4, "n": 1}] and harness.buffered_rows == 0


@pytest.mark.parametrize("threads", [1, 2])
def test_join(threads):
    def case(rng, seed):
        by = rng.choice([(), ("link",)])
        orders = [oop.Order("ts", rng.choice([0, 1, 3]), by) for _ in range(2)]
        size = rng.choice([0, 2, 6])
        sides = [rows_alone(rng, TIMES["int64"]) for _ in range(2)]
        left, right = (
            model.in_order(physical(side), "ts", order.slack, by)[0] for side, order in zip(sides, orders, strict=True)
        )
        expected = [
            {**t, **{f"{name}_right": value for name, value in u.items()}}
            for t in left
            for u in right
            if abs(t["ts"] - u["ts"]) <= size and t["link"] is not None and t["link"] == u["link"]
        ]
        expected = [row for row in expected if row["k"] is not None and (row["k_right"] or 0) >= row["k"]]
        predicate = (oop.col("link") == oop.col("link_right")) & (oop.col("k_right") >= oop.col("k"))
        box = aurora.Join(predicate, size, *orders)
        check_operator(box, *sides, seed=seed, punctuate=oop.at_end(), threads=threads, expected=expected)

    each(range(CASES // 5), case)


@pytest.mark.parametrize(
    ("predicate", "holds"),
    [
        (LINK == "A", lambda u: u["link"] == "A"),
        (LINK.isin(["A", "C"]), lambda u: u["link"] in ("A", "C")),
        ((LINK == "A") | (LINK == "B"), lambda u: u["link"] in ("A", "B")),
        (LINK.is_null(), lambda u: u["link"] is None),
        (LINK.isin(["A", "B"]) & (K == 1), lambda u: u["link"] in ("A", "B") and u["k"] == 1),
        (LINK.isin(["A", "B"]) & K.isin([1, 2]), lambda u: u["link"] in ("A", "B") and u["k"] in (1, 2)),
    ],
    ids=["one", "several", "either", "null", "of two columns, one each", "of two columns"],
)
def test_join_with_a_predicate_that_lists_the_groups(predicate, holds):
    """Groups that P leaves out join with nothing, and hold nothing back; all is freed in the end, and before it."""

    def case(rng, seed):
        by = ("k", "link") if "k_right" in predicate.columns() else ("link",)
        order, size = oop.Order("ts", rng.choice([0, 1, 3]), by), rng.choice([0, 2, 6])
        sides = [rows_alone(rng, TIMES["int64"]) for _ in range(2)]
        left = model.in_order(physical(sides[0]), "ts", 1, ())[0]
        right = [u for u in model.in_order(physical(sides[1]), "ts", order.slack, by)[0] if holds(u)]
        expected = [
            {**t, **{f"{name}_right": value for name, value in u.items()}}
            for t in left
            for u in right
            if abs(t["ts"] - u["ts"]) <= size
        ]
        box = aurora.Join(predicate, size, oop.Order("ts", 1), order)
        check_operator(box, *sides, seed=seed, punctuate=oop.at_end(), expected=expected)

    each(range(CASES // 10), case)
