"""The laws in oop/testing/laws.py for the join, against a plain model of it, under the disorder fuzzer."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.operators.core import time_slices
from oop.operators.core.marks import is_late
from oop.operators.core.operator import Element
from oop.operators.join import side as join_side
from oop.testing import Harness, check_operator
from oop.testing.laws import bag
from tests.operators import fuzz
from tests.operators.fuzz import CASES, TIMES, TOGETHER

HOWS = ("inner", "left", "right", "full", "semi", "anti")
COLUMNS = ("ts", "link", "k", "v", "x")
Row = dict[str, Any]


@dataclass
class Condition:
    """A join as written, and the same as a plain function of two rows with physical times."""

    how: str
    on: Any = None
    lo: Any = None
    hi: Any = None
    closed: str = "both"
    window: Any = None
    where: Any = None
    arguments: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def random(rng: random.Random, time: pa.DataType) -> Condition:
        floats = pa.types.is_floating(time)
        found = Condition(rng.choice(HOWS))
        found.on = rng.choice([None, "link", ["k"], ["link", "k"], {"k": "k"}, {"v": "k"}, "x"])
        found.arguments = {"how": found.how, "on": found.on}
        kind = rng.random()
        if kind < 0.15:
            found.window = rng.choice([3, 10])
            found.arguments["window"] = oop.tumbling(found.window, offset=rng.choice([0, 1]))
        elif kind < 0.25:
            left, right = rng.choice([(3, 2), (0, 4), (7, 1)])
            found.lo, found.hi, found.closed = -right, left, "neither"
            found.arguments["ranges"] = (left, right)
        elif kind < 0.3:
            found.lo, found.hi = -math.inf, math.inf
            found.arguments["unbounded"] = True
        else:
            found.lo = rng.choice([-9, -2, 0, 0, 1, 4])
            found.hi = found.lo + rng.choice([0, 0, 1, 3, 12])
            if floats:
                found.lo, found.hi = found.lo + 0.25, found.hi + 0.25
            if found.hi > found.lo:
                found.closed = rng.choice(["both", "left", "right"])
            if found.hi > found.lo + 1:
                found.closed = rng.choice([found.closed, "neither"])
            found.arguments |= {"within": (found.lo, found.hi), "closed": found.closed}
        if rng.random() < 0.3 and found.how not in ("semi", "anti"):
            found.where = rng.choice(["v", "link"])
        if rng.random() < 0.2:
            found.where = "v"
        if found.where == "v":
            found.arguments["where"] = oop.col("v") >= oop.col("v_right")
        elif found.where == "link":
            found.arguments["where"] = oop.col("link") != oop.col("link_right")
        return found

    def pairs(self) -> list[tuple[str, str]]:
        if self.on is None:
            return []
        if isinstance(self.on, dict):
            return list(self.on.items())
        return [(c, c) for c in ([self.on] if isinstance(self.on, str) else self.on)]

    def near(self, left: Any, right: Any) -> bool:
        if self.window is not None:
            offset = self.arguments["window"].offset
            return (left - offset) // self.window == (right - offset) // self.window
        apart = right - left
        after = apart >= self.lo if self.closed in ("both", "left") else apart > self.lo
        return after and (apart <= self.hi if self.closed in ("both", "right") else apart < self.hi)

    def meets(self, left: Row, right: Row) -> bool:
        if any(left[a] is None or left[a] != right[b] for a, b in self.pairs()) or not self.near(
            left["ts"], right["ts"]
        ):
            return False
        if self.where is None:
            return True
        a, b = left[self.where], right[self.where]
        return a is not None and b is not None and (a >= b if self.where == "v" else a != b)

    def rows(self, left: list[Row], right: list[Row]) -> list[Row]:
        pairs = [(a, b) for a in left for b in right if self.meets(a, b)]
        met = {id(row) for pair in pairs for row in pair}
        if self.how in ("semi", "anti"):
            return [a for a in left if (id(a) in met) == (self.how == "semi")]
        out = [_pair(a, b) for a, b in pairs]
        if self.how in ("left", "full"):
            out += [_pair(a, None) for a in left if id(a) not in met]
        if self.how in ("right", "full"):
            out += [_pair(None, b) for b in right if id(b) not in met]
        return out

    def holds(self, side: int, row: Row, bound: Any) -> bool:
        """The rule of operators/join/band.py: may a row of the other side, at or above its bound, still be near?"""
        if any(row[pair[side]] is None for pair in self.pairs()):
            return False
        if bound is None:
            return True
        if bound == math.inf:
            return False
        if self.window is not None:
            offset = self.arguments["window"].offset
            return ((row["ts"] - offset) // self.window + 1) * self.window + offset > bound
        if side == 0:
            apart = bound - row["ts"]
            return apart <= self.hi if self.closed in ("both", "right") else apart < self.hi
        apart = row["ts"] - bound
        return apart >= self.lo if self.closed in ("both", "left") else apart > self.lo


def _pair(left: Row | None, right: Row | None) -> Row:
    nothing = dict.fromkeys(COLUMNS)
    return {**(left or nothing), **{f"{n}_right": v for n, v in (right or nothing).items()}}


def typed(rows: list[Row], time: pa.DataType) -> list[Row]:
    """Rows with physical times as the values that columns of this type give back."""
    if not rows:
        return []
    one = fuzz.schema_of(time)
    fields = list(one) + [f.with_name(f"{f.name}_right") for f in one]
    return fuzz.batch(rows, pa.schema([f for f in fields if f.name in rows[0]])).to_pylist()


def each(case: Any, count: int = CASES) -> None:
    for seed in range(count):
        rng = random.Random(seed)
        time_slices.SPREAD = rng.choice([2, 64])  # short and long slices, in streams this short
        join_side.SAMPLE, join_side.CROWD = rng.choice([(2, 2), (64, 128)])  # rows found by time as well, or not
        try:
            case(rng, seed)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
        finally:
            time_slices.SPREAD = 64
            join_side.SAMPLE, join_side.CROWD = 64, 128


def some_streams(rng: random.Random, time: pa.DataType, **options: Any) -> list[list[Element]]:
    return [fuzz.random_stream(rng, time, **options) for _ in range(2)]


@pytest.mark.parametrize("grouped", [False, True], ids=["linear", "grouped"])
def test_laws(grouped: bool) -> None:
    def case(rng: random.Random, seed: int) -> None:
        time = TIMES[rng.choice(list(TIMES))]
        condition = Condition.random(rng, time)
        inputs = some_streams(rng, time, grouped=grouped)
        rows = condition.rows(*(fuzz.on_time(i) for i in inputs))
        check_operator(
            lambda a, b: a.join(b, **condition.arguments),
            *inputs,
            seed=seed,
            threads=rng.choice([1, 1, 2, 3]),
            expected=typed(rows, time),
        )

    each(case, CASES // 2)


@pytest.mark.parametrize(
    "policy",
    [
        oop.slack(5, by="link"),
        oop.slack(5, by="link", groups=["A", "B", "C", None]),
        oop.slack(5, by="link", idle=9),
        oop.ordered(by="k", groups=[1, 2, None]),
    ],
    ids=["by", "groups", "idle", "another column"],
)
def test_group_wise_policies(policy: oop.punctuation.Policy) -> None:
    """End to end: by a key, which frees group by group, or by another column, whose minimum counts."""
    rest = policy.groups is not None or policy.idle is not None

    def case(rng: random.Random, seed: int) -> None:
        inputs = [[e for e in i if isinstance(e, pa.RecordBatch)] for i in some_streams(rng, TIMES["int64"])]
        kept = [oop.source(i, time="ts", punctuate=policy).run().to_table().to_pylist() for i in inputs]
        condition = Condition(rng.choice(HOWS), "link", -3, 3)
        check_operator(
            lambda a, b: a.join(b, on="link", within=(-3, 3), how=condition.how),
            *inputs,
            seed=seed,
            punctuate=policy,
            threads=rng.choice([1, 2]),
            expected=condition.rows(*kept),
        )

    assert rest or policy.by == "link"
    each(case, CASES // 10)


def test_state_is_what_the_rule_requires() -> None:
    """Row by row: what is held is what may still meet a row that comes later, no more and no less."""

    def case(rng: random.Random, seed: int) -> None:
        time = TIMES[rng.choice(["int64", "float64"])]
        condition = Condition.random(rng, time)
        condition.arguments.pop("where", None)
        condition.where = None
        schema = fuzz.schema_of(time)
        harness = Harness(lambda a, b: a.join(b, **condition.arguments), schema, schema)
        came: list[list[Row]] = [[], []]
        queues = [list(reversed(i)) for i in some_streams(rng, time, late=False, grouped=rng.random() < 0.5)]
        while any(queues):
            port = rng.choice([i for i, q in enumerate(queues) if q])
            element = queues[port].pop()
            harness.feed(element, port=port)
            if isinstance(element, pa.RecordBatch):
                came[port] += fuzz.physical_rows(element)
            assert harness.buffered_rows == len(_required(condition, came, harness)), (seed, condition)

    each(case, CASES // 2)


def _required(condition: Condition, came: list[list[Row]], harness: Harness) -> list[Row]:
    held = []
    for side, rows in enumerate(came):
        for row in rows:
            groups = {pair[1 - side]: row[pair[side]] for pair in condition.pairs()}
            if not condition.holds(side, row, harness.given[1 - side].bound("ts", groups)):
                continue
            if side == 0 and condition.how in ("semi", "anti") and any(condition.meets(row, r) for r in came[1]):
                continue
            held.append(row)
    return held


def test_late_rows_are_admitted_and_marked() -> None:
    """A late row meets whatever is still there; what it has a part in is marked, and it is never padded."""

    def case(rng: random.Random, seed: int) -> None:
        condition = Condition.random(rng, TIMES["int64"])
        condition.how = condition.arguments["how"] = rng.choice(["inner", "left", "right", "full"])
        inputs = some_streams(rng, TIMES["int64"])
        schema = fuzz.schema_of(TIMES["int64"])
        harness = Harness(lambda a, b: a.join(b, **condition.arguments), schema, schema, late="admit")
        queues = [list(reversed(i)) for i in inputs]
        while any(queues):
            port = rng.choice([i for i, q in enumerate(queues) if q])
            harness.feed(queues[port].pop(), port=port)
        harness.end()
        assert harness.buffered_rows == 0
        batches = [e for e in harness.out() if isinstance(e, pa.RecordBatch)]
        kept, marked = ([r for e in batches if is_late(e) == late for r in e.to_pylist()] for late in (False, True))
        on_time = [fuzz.on_time(i) for i in inputs]
        everything = [[r for e in i if isinstance(e, pa.RecordBatch) for r in e.to_pylist()] for i in inputs]
        inner = replace(condition, how="inner")
        sure, possible = bag(inner.rows(*on_time)), bag(inner.rows(*everything))
        alone = [r for r in kept if r["ts"] is None or r["ts_right"] is None]
        assert bag(kept) - bag(alone) == sure
        assert bag(marked) <= possible - sure
        # alone only those that were on time, and did not meet a late one
        assert bag(alone) <= bag([r for r in condition.rows(*on_time) if r["ts"] is None or r["ts_right"] is None])

    each(case, CASES // 2)


def test_a_stream_with_itself() -> None:
    def case(rng: random.Random, seed: int) -> None:
        time = TIMES["int64"]
        condition = Condition.random(rng, time)
        elements = fuzz.random_stream(rng, time)
        rows = fuzz.on_time(elements)
        expected = condition.rows(rows, [dict(r) for r in rows])
        check_operator(lambda s: s.join(s, **condition.arguments), elements, seed=seed, expected=typed(expected, time))

    each(case, TOGETHER)


def test_a_join_of_a_join() -> None:
    def case(rng: random.Random, seed: int) -> None:
        inputs = [fuzz.random_stream(rng, TIMES["int64"]) for _ in range(3)]
        a, b, c = (fuzz.on_time(i) for i in inputs)
        first, second = Condition("inner", "link", 0, 6), Condition("inner", "link", -3, 3)
        rows = []
        for one in first.rows(a, b):
            for other in c:
                if second.meets(one, other):
                    rows.append({"ts": one["ts"], "n": (one["v"] or 0) % 7 + (other["v"] or 0) % 7})

        def pipeline(x: oop.Stream, y: oop.Stream, z: oop.Stream) -> oop.Stream:
            pairs = x.join(y, on="link", within=(0, 6)).select("ts", "link", "v")
            triples = pairs.join(z, on="link", within=(-3, 3))
            zero = oop.if_else(oop.col("v").is_null(), 0, oop.col("v"))
            other = oop.if_else(oop.col("v_right").is_null(), 0, oop.col("v_right"))
            return triples.select("ts", n=zero % 7 + other % 7)

        check_operator(pipeline, *inputs, seed=seed, threads=rng.choice([1, 2]), expected=rows)

    each(case, TOGETHER)


def test_a_diamond_into_a_join() -> None:
    """One source on two paths: through a filter and through a window."""

    def case(rng: random.Random, seed: int) -> None:
        elements = fuzz.random_stream(rng, TIMES["int64"])
        rows = fuzz.on_time(elements)
        counts = fuzz.window_rows(fuzz.placed(rows, 5, 5, 0), ["link"], 5, 5, 0, TIMES["int64"], {"n": oop.count()})
        expected = [
            {"ts": r["ts"], "link": r["link"], "n": c["n"]}
            for r in rows
            for c in counts
            if r["v"] is not None
            and r["v"] > 0
            and r["link"] is not None
            and r["link"] == c["link"]
            and -5 < c["window_start"] - r["ts"] <= 0
        ]

        def pipeline(s: oop.Stream) -> oop.Stream:
            counted = s.window(oop.tumbling(5)).group_by("link").agg(n=oop.count())
            large = s.filter(oop.col("v") > 0)
            return large.join(counted, on="link", within=(-5, 0), closed="right").select("ts", "link", "n")

        check_operator(pipeline, elements, seed=seed, expected=expected)

    each(case, TOGETHER)
