"""A key that is a date or timestamp does as one of numbers: ranges are said in its unit, groups as the column gives
them, and a promise about one may follow a promise about the other."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.operators.core.group_values import of_column
from oop.operators.core.operator import Element
from oop.punctuation.patterns import Equal, In, NotIn
from oop.testing import Harness, check_operator
from tests.operators import fuzz

POLICY = oop.punctuated(on=["ts", "k", "v", "x"], by="link")
TYPES = {
    "date32": pa.date32(),
    "seconds": pa.timestamp("s"),
    "zoned": pa.timestamp("us", "Europe/Berlin"),
    "nanoseconds": pa.timestamp("ns"),
}
PLANS: dict[str, Callable[..., oop.Stream]] = {
    "groups": lambda a, b: a.union(b).group_by("k").agg(n=oop.count()),
    "window": lambda a, b: a.union(b).window(oop.tumbling(5)).group_by("k").agg(n=oop.count()),
    "left": lambda a, b: a.join(b, on="k", within=(-3, 5), how="left").select("ts", "k"),
    "anti": lambda a, b: a.join(b, on=["k", "link"], within=(-3, 5), how="anti").select("ts", "k"),
    "full": lambda a, b: a.join(b, on="k", within=(-3, 5), how="full").select("ts", "ts_right", "k"),
}


def as_type(column: pa.Array, type_: pa.DataType) -> pa.Array:
    return column.cast(pa.int32()).cast(type_) if pa.types.is_date(type_) else column.cast(type_)


def retyped(elements: list[Element], type_: pa.DataType) -> list[Element]:
    """The stream with the numbers of ``k`` taken as those of another type."""

    def named(value: Any) -> Any:
        return of_column(as_type(pa.array([value], pa.int64()), type_))[0]

    def pattern(found: Any) -> Any:
        if isinstance(found, Equal):
            return named(found.value)
        if isinstance(found, In | NotIn):
            values = [named(v) for v in found.values]
            return oop.not_in(*values) if isinstance(found, NotIn) else values
        return found

    out: list[Element] = []
    for element in elements:
        if isinstance(element, oop.Punctuation):
            where = {c: pattern(p) if c == "k" else p for c, p in element.where.items()}
            out.append(oop.Punctuation(element.below, where))
        else:
            place = element.schema.get_field_index("k")
            out.append(element.set_column(place, pa.field("k", type_), as_type(element.column("k"), type_)))
    return out


def some_stream(rng: random.Random) -> list[Element]:
    """Rows and promises, also about all keys below a number."""
    stream = fuzz.random_stream(rng, pa.int64())
    for _ in range(rng.randint(0, 2)):
        stream.insert(rng.randint(0, len(stream)), oop.Punctuation({"k": rng.choice([0, 1, 2])}))
    return stream


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("kind", TYPES)
def test_a_key_that_is_a_time_is_as_one_of_numbers(kind: str, name: str) -> None:
    type_, plan, schema = TYPES[kind], PLANS[name], fuzz.schema_of(pa.int64())
    for seed in range(max(fuzz.CASES // 100, 1)):
        rng = random.Random(f"{kind} {name} {seed}")
        streams = [some_stream(rng) for _ in range(2)]
        plain = Harness(plan, schema, schema, punctuate=POLICY)
        for port, stream in enumerate(streams):
            plain.feed(*stream, port=port)
        plain.end()
        found = [retyped([e], type_)[0] for e in plain.out() if isinstance(e, pa.RecordBatch)]
        expected = [row for batch in found if isinstance(batch, pa.RecordBatch) for row in batch.to_pylist()]
        others = [retyped(stream, type_) for stream in streams]
        check_operator(plan, *others, seed=seed, punctuate=POLICY, expected=expected)


@pytest.mark.parametrize("how", ["left", "full", "anti"])
def test_a_range_frees_rows_of_a_join_by_date(how: str) -> None:
    schema = pa.schema([("ts", pa.int64()), ("day", pa.date32())])
    policy = oop.punctuated(on=["ts", "day"])
    h = Harness(lambda a, b: a.join(b, on="day", within=(-2, 3), how=how), schema, schema, punctuate=policy)
    h.push({"ts": [11, 12], "day": [dt.date(1970, 1, 9), dt.date(1970, 1, 2)]})
    h.feed(oop.Punctuation(above={"day": 6}), port=1)
    assert [row["ts"] for row in h.rows()] == [11]
    h.end(0)
    h.end(1)
    assert [row["ts"] for row in h.rows()] == [12]


def test_a_frontier_does_not_compare_dates_with_bounds() -> None:
    day = dt.date(1970, 1, 6)
    for below in ({"day": 3}, {"ts": 4, "day": 3}, {"a": 1, "day": 3, "ts": 4}):
        first = oop.Punctuation(below)
        for where in (day, [day, dt.date(1970, 1, 8)], oop.not_in(day)):
            frontier = oop.Frontier.of(first)
            second = oop.Punctuation({"ts": 4}, {"day": where})
            assert not first.covers(second)
            assert frontier.advance(second)
            assert frontier.covers(first) and frontier.covers(second)
            days = oop.Punctuation(above={"day": 3}, below={"day": 9})
            assert frontier.advance(days) and not frontier.advance(days)
            assert frontier == frontier.copy()
            assert not frontier.covers(oop.Punctuation({"day": 4, "ts": 5}, {}))
