"""A program that ends at a Preaggregate, in front of other operators or by itself: results as without programs."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.engines.embedded.superbox import RunningSuperbox
from oop.operators.aggregate import gathering_operator
from oop.operators.aggregate.gathering import GatheringLimits
from oop.plan.final import lower
from oop.plan.superboxes import superboxes
from oop.testing import check_operator
from oop.testing.laws import bag
from tests.oop_.engines.embedded.drawn_pipelines import drawn_filter, drawn_stream, drawn_window, units
from tests.operators import fuzz

SMALL = GatheringLimits(first=60, enough=200, repeats=0.2, worth=0.6, most=20, passing=100)
FUNCTIONS: dict[str, Callable[[], Any]] = {
    "n": oop.count,
    "s": lambda: oop.sum("k"),
    "x": lambda: oop.min("x"),
    "m": lambda: oop.mean("k"),
    "last": lambda: oop.last("v"),
    "var": lambda: oop.var("k"),
}


@pytest.fixture(params=["native", "jit", "reference"])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("OOP_KERNELS", request.param)
    return str(request.param)


@pytest.fixture(params=["many groups", "few groups"], autouse=True)
def limits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many groups are held before all leave, and whether rows come to pass."""
    if request.param == "few groups":
        monkeypatch.setattr(gathering_operator, "HERE", SMALL)


def ends_at_preaggregate(stream: oop.Stream) -> bool:
    found = superboxes(lower(stream.flow, oop.Embedded()))
    return any(one.has_state and one.nodes[-1].spec.name == "Preaggregate" for one in found)


def outcome(stream: oop.Stream, **options: Any) -> Any:
    run = stream.run(oop.Embedded(**options))
    try:
        rows = bag([{k: _rounded(v) for k, v in row.items()} for row in run.to_table().to_pylist()])
    except (oop.OopError, ArithmeticError) as wrong:
        return type(wrong).__name__, str(wrong)
    assert all(not box.buffered_rows for box in run.metrics.boxes)
    return rows, bag(run.late.to_table().to_pylist()), [str(box.frontier) for box in run.metrics.boxes]


def _rounded(value: Any) -> Any:
    """The digits of a float that do not depend on how it was added up."""
    return f"{value:.6g}" if isinstance(value, float) else value


@pytest.mark.parametrize("threads", [1, 2])
def test_drawn_pipelines(kernels: str, threads: int) -> None:
    cases = max(fuzz.CASES // 2, 8)
    ended = rows = 0
    for seed in range(cases):
        stream, rng = drawn_stream(seed)
        if rng.random() < 0.7:
            stream = stream.filter(drawn_filter(rng))
        if rng.random() < 0.2:  # the program begins behind it
            stream = stream.sort("v")
        kind = stream.schema.field("ts").type
        grouped = stream.window(drawn_window(rng, kind)).group_by(*rng.sample(["k", "v", "b", "t"], rng.randint(0, 3)))
        chosen = rng.sample(list(FUNCTIONS), rng.randint(1, 4))
        counts = grouped.preaggregate().agg(**{name: FUNCTIONS[name]() for name in chosen})
        ended += ends_at_preaggregate(counts)
        wanted = outcome(counts, threads=1, scheduler=oop.RoundRobin())
        assert outcome(counts, threads=threads) == wanted, f"seed {seed}"
        plain = outcome(grouped.agg(**{name: FUNCTIONS[name]() for name in chosen}), threads=1)
        assert plain[0] == wanted[0], f"seed {seed}"
        rows += len(wanted[0])
    assert ended > cases // 2 and rows > cases, (ended, rows)


def test_what_is_held_is_saved_and_blamed_by_the_laws() -> None:
    for seed in range(max(fuzz.CASES // 5, 5)):
        rng = random.Random(seed)
        keys = rng.choice([["link"], ["link", "k"], ["k", "v", "x"], []])

        def counted(s: oop.Stream, keys: list[str] = keys) -> oop.Stream:
            return s.window(oop.tumbling(5)).group_by(*keys).preaggregate().agg(n=oop.count(), m=oop.max("v"))

        check_operator(counted, fuzz.random_stream(rng, pa.int64()), seed=seed)


def test_a_table_that_lets_partials_make_way_ends_no_program() -> None:
    stream, _ = drawn_stream(3)
    width = units(10, stream.schema.field("ts").type)
    for flush in (oop.lazy_flush(slots=8, m=0), oop.lazy_flush(m=1), oop.slow_flush(m=0)):
        counts = stream.window(oop.tumbling(width)).group_by("k").preaggregate(flush).agg(n=oop.count())
        assert not ends_at_preaggregate(counts)
        assert "no program: its table lets partials make way for others" in counts.explain(engine=oop.Embedded())
    counts = stream.window(oop.tumbling(width)).group_by("k").preaggregate().agg(n=oop.count())
    assert "one program with Source, Bucket" in counts.explain(engine=oop.Embedded()).splitlines()[1]


def test_a_program_takes_nothing_while_a_window_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise what it takes could let a promise go in front of those partials of the window that are yet to leave."""
    groups, pending = 5_000, []
    take = RunningSuperbox.take

    def watched(superbox: RunningSuperbox, train: Any) -> int | None:
        waits = superbox.state.pending is not None
        found = take(superbox, train)
        pending.append(waits)
        assert found is None or not waits
        return found

    monkeypatch.setattr(RunningSuperbox, "take", watched)
    batches = [pa.record_batch({"ts": [10 * w + 1] * groups, "k": range(groups)}) for w in range(12)]
    live = oop.source(lambda: iter(batches), schema=batches[0].schema, time="ts", punctuate=oop.ordered())
    counts = live.window(oop.tumbling(10)).group_by("k").preaggregate().agg(n=oop.count())
    run = counts.run(oop.Embedded(threads=1, batch_rows=500, readers=True))
    first = next(iter(run))
    time.sleep(0.2)  # all of the input waits to be read, so it is read while windows leave
    assert first.num_rows + sum(batch.num_rows for batch in run) == 12 * groups
    assert any(pending)
