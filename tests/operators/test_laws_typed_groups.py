"""The type of the column that groups are named by changes nothing: promises say dates, times of day or bytes as the
column gives them, while bounds of a time are numbers in its unit."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.operators.core.group_values import of_column
from oop.operators.core.operator import Element
from oop.testing import Harness, check_operator
from tests.operators import fuzz

DAYS = [dt.date(2024, 2, 29), dt.date(1970, 1, 1), dt.date(1969, 12, 31)]
MOMENTS = [dt.datetime(2024, 2, 29, 12), dt.datetime(1970, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59)]
HOURS = [dt.time(0), dt.time(12, 30), dt.time(23, 59, 59)]
SPANS = [dt.timedelta(0), dt.timedelta(days=-1), dt.timedelta(seconds=1)]
TYPES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "date32": (pa.date32(), DAYS),
    "date64": (pa.date64(), DAYS),
    "seconds": (pa.timestamp("s"), MOMENTS),
    "zoned": (pa.timestamp("us", "Europe/Berlin"), [m.replace(tzinfo=dt.UTC) for m in MOMENTS]),
    "nanoseconds": (pa.timestamp("ns"), MOMENTS),
    "time32": (pa.time32("s"), HOURS),
    "time64": (pa.time64("ns"), HOURS),
    "duration": (pa.duration("ms"), SPANS),
    "decimal": (pa.decimal128(9, 2), [Decimal("1.50"), Decimal("-2.00"), Decimal("0.00")]),
    "float": (pa.float64(), [float("nan"), 0.0, -1.5]),
    "binary": (pa.binary(), [b"", b"\xff\x00", b"A"]),
    "uint64": (pa.uint64(), [0, 2**63, 2**64 - 1]),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), ["", "B", "ü"]),
    "large text": (pa.large_string(), ["", "B", "ü"]),
}
PLANS: dict[str, Callable[..., oop.Stream]] = {
    "window": lambda s: s.window(oop.tumbling(5)).group_by("link").agg(n=oop.count()),
    "sliding": lambda s: s.window(oop.sliding(9, every=4)).group_by("link").agg(n=oop.count()),
    "session": lambda s: s.window(oop.session(3)).group_by("link").agg(n=oop.count()),
    "groups": lambda s: s.group_by("ts", "link").agg(n=oop.count()),
    "dedup": lambda s: s.dedup("link", "ts").select("ts", "link"),
    "dedup within": lambda s: s.select("ts", "link").dedup("link", within=4, keep="last"),
    "join": lambda s: s.select("ts", "link").join(
        s.select("k", right="link", u="ts"), on={"link": "right"}, within=(-2, 3), times=("ts", "u")
    ),
    "rolled up": lambda s: s.window(oop.tumbling(5)).agg(n=oop.count()),
}


def retyped(elements: list[Element], type_: pa.DataType, values: list[Any]) -> list[Element]:
    """The stream with other groups in place of A, B and C."""
    column = pa.array([*values, None], type_)
    named = dict(zip(fuzz.LINKS, of_column(column), strict=True))

    def pattern(found: Any) -> Any:
        if isinstance(found, oop.punctuation.patterns.NotIn):
            return oop.not_in(*(named[v] for v in found.values))
        if isinstance(found, oop.punctuation.patterns.In):
            return [named[v] for v in found.values]
        return named[found.value]

    out: list[Element] = []
    for element in elements:
        if isinstance(element, oop.Punctuation):
            where = {c: pattern(p) if c == "link" else p for c, p in element.where.items()}
            out.append(oop.Punctuation(element.below, where))
        else:
            out.append(with_groups(element, column))
    return out


def with_groups(batch: pa.RecordBatch, column: pa.Array) -> pa.RecordBatch:
    for name in {"link", "right"} & set(batch.schema.names):
        place = batch.schema.get_field_index(name)
        rows = pa.array([fuzz.LINKS.index(v) for v in batch.column(name).to_pylist()], pa.int64())
        batch = batch.set_column(place, pa.field(name, column.type), column.take(rows))
    return batch


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("kind", TYPES)
def test_laws_of_groups_of_any_type(kind: str, name: str) -> None:
    type_, values = TYPES[kind]
    plan = PLANS[name]
    for seed in range(max(fuzz.CASES // 100, 1)):
        rng = random.Random(f"{kind} {name} {seed}")
        stream = fuzz.random_stream(rng, pa.int64())
        plain = Harness(plan, fuzz.schema_of(pa.int64()))
        plain.feed(*stream)
        plain.end()
        column = pa.array([*values, None], type_)
        found = [e for e in plain.out() if isinstance(e, pa.RecordBatch)]
        expected = [row for batch in found for row in with_groups(batch, column).to_pylist()]
        check_operator(plan, retyped(stream, type_, values), seed=seed, expected=expected)
