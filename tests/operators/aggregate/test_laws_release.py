"""How promptly two-level aggregation releases what is old, with few groups and partials that are never many.

Slow-flush lets one old aggregate go every i rows (OOP paper, section 6), so windows come out one after the other."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

import oop
from oop.kernels.dispatch import NAMES
from oop.operators.windows.bucket import WID_START
from oop.testing import Harness
from tests.operators import fuzz
from tests.operators.test_laws import each

SCHEMA = {"ts": "int64", "k": "int64"}


def started(flush: Any, order: str = "oop") -> tuple[Harness, Any]:
    """A count by key in windows of ten, and its Preaggregate."""
    plan = lambda s: s.window(oop.tumbling(10)).group_by("k").preaggregate(flush).agg(n=oop.count())  # noqa: E731
    h = Harness(plan, SCHEMA, order=order)
    return h, next(box.operator for box in h.run._boxes if box.node.spec.name == "Preaggregate")


def windows(h: Harness) -> list[int]:
    """Those that have come out since."""
    return sorted({row["window_start"] // 10 for row in h.rows()})


def rows_and_promises(rng: random.Random, most_rows: int) -> Iterator[tuple[list[int], list[int]] | int]:
    """Times and keys of a batch, or a promise about time; few groups, in windows that overlap in time."""
    groups, width = rng.randint(1, 12), rng.choice([1, 10, 25])
    for window in range(rng.randint(2, 9)):
        for _ in range(rng.randint(0, 12)):
            rows = rng.randint(1, most_rows)
            times = [10 * window + rng.randrange(width) for _ in range(rows)]
            yield times, [rng.randrange(groups) * 1_000_003 for _ in times]
        yield 10 * window + rng.choice([0, 10])


def some_slow_flush(rng: random.Random, m: int | None = None) -> Any:
    slots, i = rng.choice([1, 2, 7, 16, 64, 1000, 20_000]), rng.choice([1, 2, 5, 10])
    m = rng.choice([1, 2, 5]) if m is None else m
    return oop.slow_flush(slots=slots, i=i, m=m, next_slot=rng.random() < 0.3)


@pytest.mark.parametrize("kernels", NAMES)
def test_what_is_old_leaves_within_i_rows_each(kernels, monkeypatch):
    """After i rows for each aggregate that a promise made old, every window before it is out; and with one row a batch
    no more windows come at once than aggregates may leave with a row: one that is old, and one that is in the way."""
    monkeypatch.setenv("OOP_KERNELS", kernels)

    def case(rng, seed):
        flush = some_slow_flush(rng, m=50)
        h, _ = started(flush)
        most = rng.choice([1, 1, 30])
        taken: set[tuple[int, int]] = set()  # groups in windows that have not come out
        promised, rows_left = 0, 0
        for element in rows_and_promises(rng, most):
            if isinstance(element, int):
                h.promise(ts=element)
                promised = max(promised, element // 10)
                rows_left = flush.i * sum(wid < promised for _, wid in taken)
            else:
                times, keys = element
                h.push({"ts": times, "k": keys})
                rows_left -= len(times)
                taken |= {(k, ts // 10) for k, ts in zip(keys, times, strict=True) if ts // 10 >= promised}
            out = windows(h)
            assert len(out) <= 2 or most > 1 or isinstance(element, int), f"{out} came together, {flush}"
            taken = {(k, wid) for k, wid in taken if wid not in out}
            late = sorted({wid for _, wid in taken if wid < promised})
            assert not late or rows_left > 0, f"{late} should have come out, {flush}"

    each(range(fuzz.CASES // 6), case)


def test_a_promise_goes_as_far_as_no_slot_holds_it_back():
    """What was pushed out never does, however little of it there is."""

    def case(rng, seed):
        m = rng.choice([0, 1, 2, 5])
        flush = rng.choice([some_slow_flush(rng, m), oop.lazy_flush(slots=rng.choice([1, 7, 64, 1000]), m=m)])
        h, operator = started(flush)
        promised = None
        for element in rows_and_promises(rng, rng.choice([1, 1, 30])):
            if isinstance(element, int):
                h.promise(ts=element)
                promised = max(element // 10, promised if promised is not None else element // 10)
            else:
                h.push(dict(zip(SCHEMA, element, strict=True)))
            if promised is not None:
                table = operator.reducing.table.table
                _, places = table.held()
                least = min(table.wids(places).tolist(), default=promised)
                assert operator.ports.out.bound(WID_START) == min(promised, least), f"{flush}"
            bound = operator.ports.out.bound(WID_START)
            assert all(wid < bound for wid in windows(h))

    each(range(fuzz.CASES // 2), case)


@pytest.mark.parametrize("order", ["oop", "iop"])
def test_windows_of_few_groups_come_out_one_by_one(order):
    """In order they are out with the next window's rows as well."""
    h, _ = started(oop.slow_flush(i=1, m=5, slots=16), order)
    for wid in range(12):
        h.push(
            {
                "ts": [10 * wid + j % 10 if order == "oop" else 10 * wid + j // 20 for j in range(200)],
                "k": [*range(10)] * 20,
            }
        )
        h.promise(ts=10 * wid + 10)
        assert windows(h) == ([wid - 1] if wid else [])


def test_a_sparse_table_releases_as_a_full_one_does():
    """Sixteen old aggregates in a table of 4,096 slots."""
    h, operator = started(oop.slow_flush(i=10, m=100, slots=4096))
    h.push({"ts": [j // 4 * 10 for j in range(16)], "k": [*range(16)]})  # of four windows
    h.promise(ts=40)
    out = []
    for row in range(160):
        h.push({"ts": [45], "k": [3]})
        out += [(wid, row) for wid in windows(h)]
    assert [wid for wid, _ in out] == [0, 1, 2, 3] and all(row < 40 * (wid + 1) for wid, row in out)
    assert operator.buffered_rows == 1


def test_a_small_table_holds_few_bytes():
    """By its slots: one that has few does not have room for a hundred times as many."""
    sizes = {slots: started(oop.lazy_flush(slots=slots))[1].state_bytes for slots in (1, 16, 256, 4096, 65_536)}
    assert sizes[1] <= sizes[16] < 50_000
    assert sizes[256] < 100_000 and sizes[4096] < 1_000_000 < sizes[65_536]


def test_rows_that_come_one_by_one_leave_nothing_behind():
    """What is kept for partials that wait to leave does not grow with the batches that pushed none out."""
    h, operator = started(oop.lazy_flush(slots=16, m=2))
    for _ in range(50):
        h.push({"ts": [5], "k": [1]})
    assert operator.reducing.table._gone == [] and operator.buffered_rows == 1
