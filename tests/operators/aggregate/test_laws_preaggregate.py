"""The laws in oop/testing/laws.py for two-level aggregation: the answer of plain aggregation, whatever the table."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.kernels.dispatch import NAMES
from oop.operators.aggregate import reducing
from oop.operators.aggregate.flush import Flush
from oop.operators.groups import partial_table
from oop.testing import Harness, check_operator
from tests.operators import fuzz
from tests.operators.fuzz import TIMES
from tests.operators.test_laws import each, some_threads, some_time


@pytest.fixture(autouse=True)
def small_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows and partials together, so that batches are cut, and partials wait to leave."""
    monkeypatch.setattr(partial_table, "ROOM", 5)
    monkeypatch.setattr(partial_table, "ENOUGH", 3)


def some_flush(rng: random.Random, m: int | None = None) -> Flush | bool:
    slots = rng.choice([1, 2, 7, None])
    m = rng.choice([0, 0, 1, 2]) if m is None else m
    next_slot = rng.random() < 0.3
    return rng.choice(
        [
            True,
            oop.lazy_flush(slots=slots, m=m, next_slot=next_slot),
            oop.slow_flush(slots=slots, i=rng.choice([1, 2, 5]), m=m, next_slot=next_slot),
        ]
    )


def some_window(rng: random.Random, time: pa.DataType) -> tuple[Any, Any, Any]:
    """Range, slide and offset: tumbling, aligned panes, panes that alternate, gaps."""
    range_, slide = rng.choice([(5, 5), (5, 5), (6, 2), (7, 3), (3, 5)])
    offset = rng.choice([0, 2])
    if pa.types.is_floating(time):
        return float(range_), slide + rng.choice([0.0, 0.5]), float(offset)
    return range_, slide, offset


def flushed(window: Any, keys: list[str], flush: Any, wanted: dict[str, Any]) -> Any:
    return lambda s: s.window(window).group_by(*keys).preaggregate(flush).agg(**wanted)


def window_of(range_: Any, slide: Any, offset: Any) -> Any:
    return oop.tumbling(range_, offset) if range_ == slide else oop.sliding(range_, slide, offset)


def test_the_answer_is_that_of_plain_aggregation(seeds):
    """Tables of 1, 2 and 7 slots; the table is saved and loaded, and behind it are several threads."""

    def case(rng, seed):
        time = some_time(rng)
        elements = fuzz.random_stream(rng, time)
        grid = some_window(rng, time)
        keys, wanted = rng.choice([[], ["link"], ["k", "link"], ["x"]]), fuzz.some_aggregates(rng)
        rows = fuzz.window_rows(fuzz.placed(fuzz.on_time(elements), *grid), keys, *grid, time, wanted)
        plan = flushed(window_of(*grid), keys, some_flush(rng), wanted)
        check_operator(plan, elements, seed=seed, threads=some_threads(rng), expected=rows)

    each(seeds, case)


@pytest.mark.parametrize("kernels", NAMES)
def test_on_all_kernels(kernels, monkeypatch):
    monkeypatch.setenv("OOP_KERNELS", kernels)

    def case(rng, seed):
        elements = fuzz.random_stream(rng, TIMES["int64"])
        wanted = {n: fuzz.AGGREGATES[n] for n in rng.sample(["n", "lo", "sx", "var", "fv", "dl"], 2)}
        rows = fuzz.window_rows(fuzz.placed(fuzz.on_time(elements), 5, 5, 0), ["link"], 5, 5, 0, TIMES["int64"], wanted)
        check_operator(flushed(oop.tumbling(5), ["link"], some_flush(rng), wanted), elements, seed=seed, expected=rows)

    each(range(fuzz.CASES // 10), case)


def test_late_rows_are_admitted_as_without_it(seeds):
    """With no window late the aggregate has promised as much as it would have without a table before it."""

    def case(rng, seed):
        elements = fuzz.random_stream(rng, TIMES["int64"])
        grid = rng.choice([(5, 5, 0), (6, 2, 0)])
        keys, wanted = rng.choice([[], ["link"]]), {"n": oop.count()}
        rows = fuzz.window_rows(fuzz.with_admitted(elements, keys, *grid), keys, *grid, TIMES["int64"], wanted)
        plan = flushed(window_of(*grid), keys, some_flush(rng, m=0), wanted)
        check_operator(plan, elements, seed=seed, late="admit", expected=rows)

    each(seeds, case)


def test_in_order_it_is_figure_7_with_the_same_answer(seeds):
    """Rows in order, the answer in order."""

    def case(rng, seed):
        elements = [
            e for e in fuzz.random_stream(rng, TIMES["int64"], grouped=False) if not isinstance(e, oop.Punctuation)
        ]
        keys, flush = rng.choice([[], ["link"], ["k", "link"]]), some_flush(rng)
        plan = flushed(oop.tumbling(5), keys, flush, {"n": oop.count(), "lo": oop.min("v")})
        schema = fuzz.schema_of(TIMES["int64"])
        found = {}
        for order in ("oop", "iop"):
            h = Harness(plan, schema, punctuate=oop.slack(4), order=order)
            assert ("in-order slow-flush" in h.stream.explain(order)) == (order == "iop")
            for element in elements:
                h.feed(element)
            h.end()
            found[order] = h.rows()
            assert h.buffered_rows == 0 and h.state_bytes == 0
        starts = [row["window_start"] for row in found["iop"]]
        assert starts == sorted(starts)
        key = lambda row: tuple(map(str, row.values()))  # noqa: E731
        assert sorted(found["iop"], key=key) == sorted(found["oop"], key=key)

    each(seeds, case)


def test_results_are_at_most_m_windows_late(seeds):
    """At every promise all windows that end m windows before it are out; with m = 0 at the promise itself."""

    def case(rng, seed):
        elements = fuzz.random_stream(rng, TIMES["int64"], late=False, grouped=False)
        m = rng.choice([0, 1, 2, 3])
        flush = some_flush(rng, m)
        m = 0 if flush is True else m
        h = Harness(flushed(oop.tumbling(5), ["link"], flush, {"n": oop.count()}), fuzz.schema_of(TIMES["int64"]))
        due: dict[int, int] = {}
        for element in elements:
            h.feed(element)
            if isinstance(element, oop.Punctuation):
                for row in h.rows():
                    due[row["window_start"]] = due.get(row["window_start"], 0) - row["n"]
                bound = (h.given[0].bound("ts") or -(10**6)) // 5 - m
                left = {start: n for start, n in due.items() if n and start // 5 < bound}
                assert not left, f"{left} should have gone out, {flush}"
            else:
                for row in element.to_pylist():
                    start = row["ts"] // 5 * 5
                    due[start] = due.get(start, 0) + 1

    each(seeds, case)


def test_the_table_grows_and_gives_up_without_changing_the_answer(seeds, monkeypatch):
    """By itself: from one slot on, with rows that pass for a while and are taken in again."""
    monkeypatch.setattr(reducing, "_PASSING", 7)
    sizing = reducing.Sizing(1, 16, 0.1, 0.4)
    monkeypatch.setattr("oop.operators.aggregate.preaggregate.HERE", sizing)

    def case(rng, seed):
        elements = fuzz.random_stream(rng, TIMES["int64"]) + fuzz.random_stream(rng, TIMES["int64"])
        wanted = {"n": oop.count(), "sx": oop.sum("x")}
        keys = rng.choice([["link"], ["link", "k", "v", "x"]])
        rows = fuzz.window_rows(fuzz.placed(fuzz.on_time(elements), 5, 5, 0), keys, 5, 5, 0, TIMES["int64"], wanted)
        check_operator(flushed(oop.tumbling(5), keys, True, wanted), elements, seed=seed, expected=rows)

    each(seeds, case)
