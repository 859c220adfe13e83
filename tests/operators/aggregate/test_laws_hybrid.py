"""Hybrid aggregation under the disorder fuzzer: whenever it switches, the laws in oop/testing/laws.py hold."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from typing import Any

import pytest

import oop
from oop.operators.aggregate import window_tables
from oop.operators.aggregate.hybrid import HybridOperator
from oop.operators.aggregate.hybrid_costs import BUFFERED, INCREMENTAL
from oop.testing import Harness, bag, check_operator, forced
from tests.operators import fuzz
from tests.operators.fuzz import TIMES
from tests.operators.test_laws import each, some_threads, some_time

rows_alone = oop.aggregate(0, lambda s: s + 1)  # no merge


@pytest.fixture(params=["native", "jit", "reference"])
def seen(request, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """It switches at most promises at which it may, whatever the costs are; what has happened is counted."""
    happened: Counter[str] = Counter()
    right_init, right_settle, right_load = HybridOperator.__init__, HybridOperator._settle, HybridOperator.load
    started = itertools.count()

    def init(self: HybridOperator, *given: Any) -> None:
        right_init(self, *given)
        self.newer = [INCREMENTAL, BUFFERED][next(started) % 2]

    def choose(self: HybridOperator) -> None:
        if self.boundary is None and self.greatest % 3:
            self._switch(self.older)
            happened[f"to {self.newer}{'' if self.boundary is None else ', windows open'}"] += 1

    def settle(self: HybridOperator) -> None:
        if not self.settled and self.boundary is not None:
            happened[f"settled on the way to {self.newer}"] += 1
        right_settle(self)

    def load(self: HybridOperator, parts: Any) -> None:
        right_load(self, parts)
        if self.boundary is not None:
            happened[f"loaded on the way to {self.newer}"] += 1

    monkeypatch.setattr(HybridOperator, "__init__", init)
    monkeypatch.setattr(HybridOperator, "_choose", choose)
    monkeypatch.setattr(HybridOperator, "_settle", settle)
    monkeypatch.setattr(HybridOperator, "load", load)
    monkeypatch.setattr(window_tables, "AT_ONCE", 7)
    monkeypatch.setenv("OOP_KERNELS", request.param)
    return happened


def sliding(rng: random.Random, seed: int, *, late: str = "drop", grouped: bool = False, merges: bool = True) -> None:
    time = some_time(rng)
    range_ = rng.randint(2, 15)
    slide, offset = rng.randint(1, range_ - 1), rng.randint(-7, 7)
    if time == TIMES["float64"] and rng.random() < 0.5:
        range_, slide, offset = range_ * 0.1, slide * 0.1, offset * 0.1
    elements = fuzz.random_stream(rng, time, grouped=grouped)
    keys = ["link"] if grouped else rng.choice([[], ["link"], ["k", "link"]])
    wanted: dict[str, Any] = {"n": oop.count()} if not merges else fuzz.some_aggregates(rng)
    if late == "admit":
        placed = fuzz.with_admitted(elements, keys, range_, slide, offset)
    else:
        placed = fuzz.placed(fuzz.on_time(elements), range_, slide, offset)
    rows = fuzz.window_rows(placed, keys, range_, slide, offset, time, wanted)
    window = oop.sliding(range_, every=slide, offset=offset)
    check_operator(
        lambda s: s.window(window).group_by(*keys).agg(**(wanted if merges else {"n": rows_alone()})),
        elements,
        seed=seed,
        late=late,
        threads=rng.choice([1, 1, 1, 2]),  # with several, what merges is preaggregated, and stays incremental
        expected=rows,
    )


def some(seen: Counter[str], *names: str) -> None:
    missing = [name for name in names if not seen[name]]
    assert not missing, f"never {missing[0]!r}: {dict(seen)}"


CASES = range(fuzz.CASES // 5)  # on each of three kernels
OPEN = [f"to {side}, windows open" for side in (INCREMENTAL, BUFFERED)]
LOADED = [f"loaded on the way to {side}" for side in (INCREMENTAL, BUFFERED)]
SETTLED = [f"settled on the way to {side}" for side in (INCREMENTAL, BUFFERED)]


def test_switching_changes_no_answer(seen):
    each(CASES, sliding)
    some(seen, *OPEN, *LOADED)


def test_switching_with_late_rows_admitted(seen):
    each(CASES, lambda rng, seed: sliding(rng, seed, late="admit"))
    some(seen, *OPEN, *LOADED)


def test_switching_until_promises_come_by_group(seen):
    each(CASES, lambda rng, seed: sliding(rng, seed, grouped=True, late="admit" if seed % 3 == 0 else "drop"))
    some(seen, *OPEN, *SETTLED)


def test_switching_where_nothing_merges(seen):
    def case(rng, seed):
        sliding(rng, seed, merges=False, grouped=seed % 4 > 0, late="admit" if seed % 3 == 0 else "drop")

    each(CASES, case)
    some(seen, *OPEN, *LOADED, *SETTLED)


@pytest.mark.parametrize("merges", [True, False])
@pytest.mark.parametrize("window", [oop.tumbling(5), oop.sliding(9, every=4), oop.sliding(4, every=6)], ids=str)
def test_buffered_windows_give_the_same_answer(window, merges, monkeypatch):
    monkeypatch.setattr(window_tables, "AT_ONCE", 7)

    def case(rng, seed):
        elements = fuzz.random_stream(rng, TIMES["int64"], grouped=seed % 2 == 0)
        wanted = fuzz.some_aggregates(rng) if merges else {"n": rows_alone()}
        keys = rng.choice([[], ["k"], ["link", "k"]])

        def pipeline(how):
            return lambda s: forced(s.window(window).group_by(*keys).agg(**wanted), how)

        h = Harness(pipeline(INCREMENTAL), fuzz.schema_of(TIMES["int64"]))
        h.feed(*elements)
        h.end()
        check_operator(pipeline(BUFFERED), elements, seed=seed, threads=some_threads(rng), expected=h.rows())

    each(range(fuzz.CASES // 5), case)


def test_early_results_are_those_of_partial_aggregates(seen):
    """Whoever looks before windows are complete makes it incremental, in the middle of a switch too."""

    def case(rng, seed):
        elements = fuzz.random_stream(rng, TIMES["int64"], grouped=False)
        found = {}
        for how in ("hybrid", INCREMENTAL):
            h = Harness(
                lambda s, how=how: forced(s.window(oop.sliding(9, every=2)).group_by("k").agg(n=oop.count()), how),
                fuzz.schema_of(TIMES["int64"]),
            )
            operator = h.run._boxes[-1].operator
            half = len(elements) // 2
            h.feed(*elements[:half])
            shown = bag(r for b in operator.open_results() for r in b.to_pylist())
            h.feed(*elements[half:])
            h.end()
            found[how] = shown, bag(h.rows()), h.promises()
        assert found["hybrid"] == found[INCREMENTAL]

    each(CASES, case)
    some(seen, *SETTLED)


def too_early(self: HybridOperator, to: str, found: Any = None) -> None:
    """From a window on that has rows."""
    self.newer, self.boundary = to, self.greatest


def only_to_the_newer(self: HybridOperator, first: Any, last: Any, batch: Any) -> None:
    """Rows at the boundary are missed by the older one."""
    boundary = self.boundary
    self._count(last)
    if boundary is None:
        self._take(self.newer, first, last, batch)
        return
    self._take_some(self.older, last < boundary, first, last, batch)
    self._take_some(self.newer, last >= boundary, first, last, batch)


@pytest.mark.parametrize("fault", [("_switch", too_early), ("take_in_windows", only_to_the_newer)], ids=lambda f: f[0])
@pytest.mark.parametrize("seen", ["native"], indirect=True)
def test_the_laws_notice_a_fault(fault, seen, monkeypatch):
    monkeypatch.setattr(HybridOperator, *fault)
    with pytest.raises(AssertionError):
        each(range(60), sliding)
