"""Resample against its definition (Aurora paper, section 5.2.2.4), and the laws in oop/testing/laws.py."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import pyarrow as pa

import oop
from oop import aurora
from oop.operators.resample import near_rows
from oop.testing import Harness, bag, check_operator
from tests.operators import fuzz
from tests.operators.drawn import each, span_in
from tests.operators.fuzz import TIMES

Row = dict[str, Any]


def resampled(lefts: list[Row], rights: list[Row], size: Any, keys: tuple[str, ...], of) -> list[Row]:
    """For each t and each group with rows near it: the groups, A of t, F of those rows; without groups for each t, also
    of no rows ("for every tuple, t, from S1, tuple … is output"). Times are numbers."""
    out = []
    for t in lefts:
        near: dict[tuple, list[Row]] = defaultdict(list, {} if keys else {(): []})
        for u in rights:
            if abs(t["ts"] - u["ts"]) <= size:
                near[tuple(u[k] for k in keys)].append(u)
        for group, rows in near.items():
            out.append({**dict(zip(keys, group, strict=True)), "ts": t["ts"], **of(t, rows)})
    return out


def with_time(rows: list[Row], time: pa.DataType) -> list[Row]:
    """Numbers as the values that a column of this type gives back."""
    if not pa.types.is_temporal(time) or not rows:
        return rows
    width = pa.int32() if time.bit_width == 32 else pa.int64()
    times = pa.array([r["ts"] for r in rows], width).cast(time).to_pylist()
    return [{**r, "ts": t} for r, t in zip(rows, times, strict=True)]


def test_laws(seeds, monkeypatch):
    """Any order of rows within the promises, on both sides, in any batches, across saves, gives the same results."""

    def case(rng, seed):
        monkeypatch.setattr(near_rows, "_MOST_PAIRS", rng.choice([4, 1_000_000]))
        time = TIMES[rng.choice(list(TIMES))]
        inputs = [fuzz.random_stream(rng, time) for _ in range(2)]
        keys, size = rng.choice([(), ("link",), ("link", "k")]), rng.choice([0, 2, 6])
        wanted = {n: a for n, a in fuzz.some_aggregates(rng).items() if n not in keys}
        lefts, rights = map(fuzz.on_time, inputs)
        rows = resampled(lefts, rights, size, keys, lambda t, near: fuzz.aggregates(near, wanted))

        def pipeline(a, b):
            return a.resample(b, within=span_in(size, time), by=keys, **wanted)

        check_operator(pipeline, *inputs, seed=seed, expected=with_time(rows, time))

    each(seeds, case)


def test_floats_are_near_if_their_rounded_difference_says_so(seeds):
    def case(rng, seed):
        schema = pa.schema([("ts", pa.float64())])
        size = rng.choice([0.1, 0.3, 1e-3])
        sides = [[{"ts": round(rng.randint(0, 12) * size / 3, rng.choice([3, 15]))} for _ in range(8)] for _ in "lr"]
        inputs = [[pa.RecordBatch.from_pylist(rows, schema=schema)] for rows in sides]
        rows = resampled(*sides, size, (), lambda t, near: {"n": len(near)})
        check_operator(lambda a, b: a.resample(b, within=size, n=oop.count()), *inputs, seed=seed, expected=rows)

    each(seeds[: len(seeds) // 4], case)


def in_order(rows: list[Row], order: oop.Order) -> list[Row]:
    """Without those that are out of order by more than the slack: so many rows of their group before them greater."""
    seen: dict[tuple, list[Any]] = defaultdict(list)
    kept = []
    for row in rows:
        before = seen[tuple(row[k] for k in order.group_by)]
        if sum(value > row[order.on] for value in before) <= order.slack:
            kept.append(row)
        before.append(row[order.on])
    return kept


def test_orders_with_slack(seeds):
    """Aurora's operator over streams that promise nothing: rows out of order are set aside, others count; and each
    result comes with the first row of its group from which it follows that no further row can be near."""

    def case(rng, seed):
        schema = pa.schema([("ts", pa.int64()), ("Sid", pa.int64()), ("Pos", pa.int64())])
        left = oop.Order("ts", slack=rng.choice([0, 1]))
        right = oop.Order("ts", slack=rng.choice([0, 1, 3]), group_by=rng.choice([(), "Sid"]))
        size = rng.choice([1, 4])
        box = aurora.Resample({"n": oop.count(), "Pos": oop.sum("Pos")}, size, left, right)
        given: list[list[Row]] = [[], []]
        low = 0
        for _ in range(rng.randint(1, 50)):
            low += rng.choice([0, 1, 2])
            row = {"ts": low + rng.randint(-4, 4), "Sid": rng.choice([1, 2]), "Pos": rng.randint(0, 9)}
            given[rng.random() < 0.7].append(row)
        order = [0] * len(given[0]) + [1] * len(given[1])
        rng.shuffle(order)
        h = Harness(box, schema, schema, punctuate=oop.at_end())
        sides: list[list[Row]] = [[], []]
        out: list[Row] = []
        for port in order:
            sides[port].append(given[port][len(sides[port])])
            h.push([sides[port][-1]], port)
            out += h.rows()
            assert bag(out) == bag(concluded(sides, left, right, size))
        h.end()
        out += h.rows()
        kept = in_order(sides[0], left), in_order(sides[1], right)
        assert bag(out) == bag(resampled(*kept, size, right.group_by, count_and_sum))
        assert len(h.late) == sum(map(len, sides)) - sum(map(len, kept))
        assert h.buffered_rows == 0

    def count_and_sum(t, near):
        return {"n": len(near), "Pos": sum(u["Pos"] for u in near) if near else None}

    def concluded(sides, left, right, size):
        """The results whose group has shown more than ``slack`` rows beyond the reach of t."""
        rows = resampled(in_order(sides[0], left), in_order(sides[1], right), size, right.group_by, count_and_sum)
        return [
            r
            for r in rows
            if sum(u["ts"] > r["ts"] + size for u in sides[1] if all(u[k] == r[k] for k in right.group_by))
            > right.slack
        ]

    each(seeds, case)


def test_what_is_held_is_what_may_still_be_needed():
    """A right row while a left row may come near it, or waits for its group; a left value until all have passed."""
    rng = random.Random(7)
    time = pa.int64()
    for seed in range(40):
        inputs = [fuzz.random_stream(random.Random(f"{seed} {i}"), time, grouped=False, late=False) for i in (1, 2)]
        h = Harness(lambda a, b: a.resample(b, within=3, by="link", n=oop.count()), *(fuzz.schema_of(time),) * 2)
        left = [list(reversed(i)) for i in inputs]
        seen: list[list[int]] = [[], []]
        while any(left):
            port = rng.choice([i for i, q in enumerate(left) if q])
            element = left[port].pop()
            h.feed(element, port=port)
            if isinstance(element, pa.RecordBatch):
                seen[port] += element.column("ts").to_pylist()
            bounds = [g.bound("ts") if g.bound("ts") is not None else -(10**9) for g in h.given]
            lefts = [t for t in seen[0] if t + 3 >= bounds[1]]
            rights = [u for u in seen[1] if u + 3 >= min([bounds[0], *lefts])]
            assert h.buffered_rows == len(lefts) + len(rights)
