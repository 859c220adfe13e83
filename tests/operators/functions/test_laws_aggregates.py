"""Laws (oop/testing/laws.py) of aggregates that hold values: by any order, of any type, over windows and groups."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.operators.core.operator import Element
from oop.testing import Harness, check_operator
from tests.operators import fuzz
from tests.operators.test_laws import each, some_threads

Row = dict[str, Any]
COLUMNS = ["v", "x", "link", "d", "u", "w", "b", "cat"]
DECIMALS = [None, Decimal("1.25"), Decimal("-7")]
BYS = ["ts", "v", "w", "d", "cat"]


def richer(elements: list[Element], rng: random.Random) -> list[Element]:
    """The stream with columns of further types: decimal, uint64, float with NaN, boolean, dictionary."""
    out: list[Element] = []
    for element in elements:
        if isinstance(element, pa.RecordBatch):
            n = element.num_rows
            more = {
                "d": pa.array(
                    [rng.choice([None, Decimal("1.25"), Decimal("-7")]) for _ in range(n)], pa.decimal128(5, 2)
                ),
                "u": pa.array([rng.choice([None, 0, 3, 2**64 - 1]) for _ in range(n)], pa.uint64()),
                "w": pa.array([rng.choice([None, math.nan, 0.0, -0.0, 2.5]) for _ in range(n)], pa.float32()),
                "b": pa.array([rng.choice([None, True, False]) for _ in range(n)], pa.bool_()),
                "cat": pa.array([rng.choice([None, "p", "q", ""]) for _ in range(n)], pa.string())
                .dictionary_encode()
                .cast(pa.dictionary(pa.int32(), pa.string())),
            }
            element = pa.record_batch([*element.columns, *more.values()], names=[*element.schema.names, *more])
        out.append(element)
    return out


def rank(value: Any) -> Any:
    """NaN is greater than every number."""
    return (value != value, 0 if value != value else value)


def at_end(rows: list[Row], of: str, by: str, choose: Any) -> Any:
    rows = [r for r in rows if r[by] is not None]
    if not rows:
        return None
    end = choose(rank(r[by]) for r in rows)
    tied = [r[of] for r in rows if rank(r[by]) == end and r[of] is not None]
    return choose(tied, key=rank) if tied else None


def listed(rows: list[Row], of: str, by: str, most: bool, limit: int) -> Any:
    rows = [r for r in rows if r[of] is not None and r[by] is not None]
    rows.sort(key=lambda r: (rank(r[by]), rank(r[of])), reverse=most)
    return [r[of] for r in rows[:limit]] or None


def numbers(rows: list[Row], of: str) -> list[Any]:
    return [r[of] for r in rows if r[of] is not None and r[of] == r[of]]


def some(rng: random.Random) -> tuple[Any, Callable[[list[Row]], Any]]:
    """An aggregate and what it must give."""
    of, by, k = rng.choice(COLUMNS), rng.choice(BYS), rng.choice([1, 2, 5])
    number = rng.choice(["v", "x", "d", "w", "u"])
    q = rng.choice(["0", "0.25", "0.5", "1"])
    return rng.choice(
        [
            (oop.first(of, by=by), lambda rows: at_end(rows, of, by, min)),
            (oop.last(of, by=by), lambda rows: at_end(rows, of, by, max)),
            (oop.first(of), lambda rows: at_end(rows, of, "ts", min)),
            (oop.count_distinct(of), lambda rows: len({str(r[of]) if r[of] else r[of] for r in rows} - {None})),
            (oop.quantile(number, float(q)), lambda rows: fuzz.quantile(numbers(rows, number), q)),
            (oop.top(of, k), lambda rows: listed(rows, of, of, True, k)),
            (oop.top(of, k, by=by), lambda rows: listed(rows, of, by, True, k)),
            (oop.collect(of, k, by=by), lambda rows: listed(rows, of, by, False, k)),
            (oop.collect(of), lambda rows: listed(rows, of, "ts", False, 1000)),
        ]
    )


def test_aggregates_that_hold_values(seeds):
    def case(rng, seed):
        elements = richer(fuzz.random_stream(rng, fuzz.TIMES["int64"]), rng)
        late = rng.choice(["drop", "drop", "admit"])
        keys = rng.choice([[], ["link"], ["k", "link"]])
        wanted = dict(zip("ab", (some(rng), some(rng)), strict=True))
        functions = {n: f for n, (f, _) in wanted.items()}
        members = defaultdict(list)
        if rng.random() < 0.2:  # groups by time, without a window
            keys, late = ["ts", *keys], "drop"
            for row in fuzz.on_time(elements):
                members[tuple(row[k] for k in keys)].append(row)
            names = keys

            def pipeline(s):
                return s.group_by(*keys).agg(**functions)
        else:
            range_ = rng.randint(1, 15)
            slide = rng.choice([range_, rng.randint(1, range_)])
            offset = rng.randint(-3, 3)
            if late == "admit":
                placed = fuzz.with_admitted(elements, keys, range_, slide, offset)
            else:
                placed = fuzz.placed(fuzz.on_time(elements), range_, slide, offset)
            for row, w in placed:
                start = offset + w * slide
                members[(start, start + range_, *(row[k] for k in keys))].append(row)
            names = ["window_start", "window_end", *keys]

            def pipeline(s):
                return s.window(oop.sliding(range_, slide, offset)).group_by(*keys).agg(**functions)

        expected = [
            {**dict(zip(names, group, strict=True)), **{n: model(rows) for n, (_, model) in wanted.items()}}
            for group, rows in members.items()
        ]
        check_operator(pipeline, elements, seed=seed, late=late, threads=some_threads(rng), expected=expected)

    each(seeds, case)


def state_bytes(harness: Harness) -> int:
    return sum(getattr(operator, "state_bytes", 0) for operator in harness._operators())


def held(pipeline, rows: int, start: int = 0) -> Harness:
    harness = Harness(pipeline, {"ts": "int64", "v": "int64", "s": "string"})
    put(harness, rows, start)
    return harness


def put(harness: Harness, rows: int, start: int = 0) -> None:
    numbers = list(range(start, start + rows))
    harness.feed(pa.record_batch({"ts": [n % 7 for n in numbers], "v": numbers, "s": [f"text {n}" for n in numbers]}))


@pytest.mark.parametrize(
    "aggregate",
    [
        oop.count_distinct("v"),
        oop.count_distinct("s"),
        oop.collect("v", 10**6),
        oop.collect("s", 10**6),
        oop.median("v"),
    ],
    ids=str,
)
@pytest.mark.parametrize("every", [10, 5])
def test_values_that_a_group_holds_are_accounted_for(aggregate, every):
    """The one group has been there before: only its values come."""
    harness = held(lambda s: s.window(oop.sliding(10, every)).agg(n=aggregate), 100)
    before = state_bytes(harness)
    put(harness, 2000, 100)
    more = state_bytes(harness)
    assert more >= before + 8 * 1000
    harness.promise(ts=100)
    assert harness.buffered_rows == 0
    assert state_bytes(harness) < before


def test_a_group_holds_no_more_than_its_limit():
    harness = held(lambda s: s.window(oop.tumbling(10)).agg(n=oop.collect("v", 3), m=oop.top("s", 2)), 1000)
    least = state_bytes(harness)
    for i in range(1, 40):
        put(harness, 1000, 1000 * i)
    assert state_bytes(harness) < least + 4096 * 100


def test_a_large_group_of_a_quantile_holds_a_sketch():
    harness = held(lambda s: s.window(oop.tumbling(10)).agg(n=oop.median("v")), 10_000)
    for i in range(1, 10):
        put(harness, 10_000, 10_000 * i)
    assert state_bytes(harness) < 20_000
    harness.promise(ts=10)
    [batch] = [e for e in harness.out() if isinstance(e, pa.RecordBatch)]
    assert abs(batch.column("n")[0].as_py() / 100_000 - 0.5) < 0.03
