"""Bounds that are further away than any row: a promise below all rows changes nothing, one above them says that all
have come. They arise by themselves, since a slack, a band or a shift of a column moves bounds."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.operators.core.operator import Element
from oop.testing import Harness, check_operator
from tests.operators import fuzz

N = {"n": oop.count(), "x": oop.max("x")}
FAR = {pa.float64(): [1e15, 1e17, 1e18, 1e19, 1e300, math.inf], pa.int64(): [2**53, 2**62, 2**63 - 1, 10**30]}
Plan = Callable[..., oop.Stream]


def joined(far: Any, **how: Any) -> Plan:
    def plan(s: oop.Stream) -> oop.Stream:
        right = s.select("k", u=oop.col("ts"))
        pairs = s.join(right, on="k", within=(-far, far), times=("ts", "u"), **how)
        return pairs.window(oop.tumbling(10), on="ts").agg(n=oop.count())

    return plan


PLANS: dict[str, Callable[[Any], Plan]] = {
    "tumbling": lambda far: lambda s: s.window(oop.tumbling(10)).group_by("k").agg(**N),
    "small": lambda far: lambda s: s.window(oop.tumbling(1)).agg(**N),
    "sliding": lambda far: lambda s: s.window(oop.sliding(9, every=4)).group_by("k").agg(**N),
    "gaps": lambda far: lambda s: s.window(oop.sliding(3, every=7)).agg(**N),
    "session": lambda far: lambda s: s.window(oop.session(4)).group_by("k").agg(n=oop.count()),
    "landmark": lambda far: lambda s: s.window(oop.landmark(-100, every=50, changes=True)).agg(**N),
    "groups": lambda far: lambda s: s.group_by("ts").agg(**N),
    "sort": lambda far: lambda s: s.sort(),
    "dedup": lambda far: lambda s: s.dedup("k", within=3, keep="first"),
    "dedup far": lambda far: lambda s: s.dedup("k", within=far, keep="last").window(oop.tumbling(10)).agg(**N),
    "band": joined,
    "band, left": lambda far: joined(far, how="left"),
    "same window": lambda far: (
        lambda s: s.join(s.select("k", u=oop.col("ts")), on="k", window=oop.tumbling(10), times=("ts", "u"))
    ),
    "shift": lambda far: lambda s: s.with_columns(t=oop.col("ts") / far).window(oop.tumbling(10), on="t").agg(**N),
    "resample": lambda far: lambda s: s.resample(s.select("k", u=oop.col("ts")), within=far, n=oop.count()),
}


@pytest.mark.parametrize("time", FAR, ids=str)
@pytest.mark.parametrize("name", PLANS)
def test_laws_of_far_bounds(name: str, time: pa.DataType) -> None:
    for seed in range(max(fuzz.CASES // 50, 2)):
        rng = random.Random(f"{name} {seed}")
        far = rng.choice(FAR[time])
        span = rng.choice([f for f in FAR[time] if f < 2**62])
        plan = PLANS[name](span)
        stream = fuzz.random_stream(rng, time, late=False, grouped=False)
        plain = Harness(plan, fuzz.schema_of(time))
        plain.feed(*stream)
        plain.end()
        below, above = oop.Punctuation({"ts": -far}), oop.Punctuation({"ts": far})
        given: list[Element] = [below, *stream, above]
        check_operator(plan, given, seed=seed, expected=plain.rows())
