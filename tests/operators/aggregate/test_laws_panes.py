"""Panes that share tables, and windows that are put together many at a time: the laws in oop/testing/laws.py hold for
sliding windows whenever slices get wider, and narrower again."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.operators.aggregate import operator, pane_windows
from oop.operators.aggregate.panes import PaneCode, PaneTree
from oop.operators.groups import store as groups
from oop.testing import Harness, bag
from tests.operators import fuzz
from tests.operators.aggregate.test_laws_hybrid import sliding
from tests.operators.test_laws import each

CASES = range(fuzz.CASES // 5)


@pytest.fixture(params=["native", "jit", "reference"])
def seen(request, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Slices get wider with the second pane, and at times narrower; a table has few windows."""
    happened: Counter[str] = Counter()
    right_widen, right_narrow = groups.Store.widen, groups.Store.narrow
    right_dense = groups.Store.is_dense

    def widen(self: groups.Store) -> None:
        happened["wider"] += self.thin is not None
        right_widen(self)

    def narrow(self: groups.Store) -> None:
        happened["narrower"] += len(self.tables)
        right_narrow(self)

    def is_dense(self: groups.Store) -> Any:
        may_be: Any = right_dense.fget  # type: ignore[attr-defined]
        return may_be(self) or (self.thin is not None and self.shift > 0 and len(self) % 3 == 0)

    monkeypatch.setattr(groups, "SPREAD", 1)
    monkeypatch.setattr(groups.Store, "widen", widen)
    monkeypatch.setattr(groups.Store, "narrow", narrow)
    monkeypatch.setattr(groups.Store, "is_dense", property(is_dense))
    monkeypatch.setattr(pane_windows, "_AT_ONCE", 5)
    monkeypatch.setattr(pane_windows, "_MOST", 11)
    monkeypatch.setattr(pane_windows, "_DIRECTLY", 1)
    monkeypatch.setattr(pane_windows, "_FEW", 1)
    monkeypatch.setattr("oop.operators.aggregate.aggregate.may_switch", lambda spec: False)
    monkeypatch.setenv("OOP_KERNELS", request.param)
    return happened


def test_wide_slices_change_no_answer(seen):
    each(CASES, sliding)
    assert seen["wider"] and seen["narrower"], seen


def test_wide_slices_with_late_rows_admitted(seen):
    each(CASES, lambda rng, seed: sliding(rng, seed, late="admit"))
    assert seen["wider"] and seen["narrower"], seen


def test_wide_slices_with_promises_by_group(seen):
    each(CASES, lambda rng, seed: sliding(rng, seed, grouped=True, late="admit" if seed % 3 == 0 else "drop"))
    assert seen["wider"], seen


@pytest.mark.parametrize("late", ["drop", "admit"])
def test_many_windows_of_panes_with_tables_of_their_own(seen, monkeypatch, late):
    right, used = operator.windows_of, []
    monkeypatch.setattr(operator, "windows_of", lambda *given: used.append(given) or right(*given))
    monkeypatch.setattr(groups.Store, "_is_adaptive", False)  # no slices get wider
    monkeypatch.setattr(operator, "_MANY", 2)
    monkeypatch.setattr(operator, "_MOST_AT_ONCE", 16)
    each(CASES, lambda rng, seed: sliding(rng, seed, late=late))
    assert used


def test_a_window_of_very_many_panes_has_no_table_of_its_own(monkeypatch):
    """Three rows are in a hundred thousand windows: one merge for each took a minute."""
    one_by_one = []
    right = PaneTree.window
    monkeypatch.setattr(PaneTree, "window", lambda tree, wid: one_by_one.append(wid) or right(tree, wid))
    s = oop.source(pa.table({"ts": [0, 5, 9]}), time="ts", punctuate=oop.ordered())
    counts = s.window(oop.sliding(100_000, every=1)).agg(n=oop.count()).run().to_table()
    n = {1: 5 + 4, 2: 4 + 5, 3: 100_000 - 9}
    assert Counter(counts["n"].to_pylist()) == n and counts["window_start"].to_pylist() == list(range(-99_999, 10))
    assert len(one_by_one) < 1_000


def test_early_results_of_wide_slices(seen):
    def case(rng, seed):
        elements = fuzz.random_stream(rng, pa.int64(), grouped=seed % 2 == 0)
        window = oop.sliding(9, every=rng.choice([2, 3, 4]))
        # sums of floats may change in their last digit with the order in which panes are merged, and are shown again
        wanted = {n: a for n, a in fuzz.some_aggregates(rng).items() if n not in ("sx", "var")} or {"n": oop.count()}
        harnesses = []
        for spread in (1, 10**6):  # the second keeps a slice for each pane
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(groups, "SPREAD", spread)
                h = Harness(
                    lambda s: s.window(window).group_by("link").agg(**wanted).emit("on_change"),
                    fuzz.schema_of(pa.int64()),
                )
                h.feed(*elements)
                h.end()
                harnesses.append(h)
        shown, expected = (bag(h.rows()) for h in harnesses)
        assert shown == expected

    each(CASES, case)
    assert seen["wider"], seen


@pytest.mark.parametrize("range_, slide", [(10, 1), (10, 5), (10, 4), (7, 3), (1.5, 0.5), (1.0, 0.3)])
def test_what_many_panes_decode_to_is_what_each_does(range_, slide):
    code = PaneCode(oop.operators.windows.bucket.Grid(range_, slide))
    slots = np.arange(-50, 50)
    first, last = code.decode_all(slots)
    assert list(zip(first.tolist(), last.tolist(), strict=True)) == [code.decode(slot) for slot in slots.tolist()]


def test_windows_very_far_from_each_other():
    """Their numbers and those of groups do not fit one number together."""
    far = 2**61
    table = pa.table({"ts": [-far, -far + 1, 5, far, far + 1] * 20, "k": [i // 5 for i in range(100)]})
    table = table.sort_by("ts")
    s = oop.source(table, time="ts", punctuate=oop.ordered())
    counts = s.window(oop.sliding(4, every=2)).group_by("k").agg(n=oop.count()).run(engine=oop.Embedded(threads=1))
    found = Counter(row["window_start"] for row in counts.to_table().to_pylist())
    assert found == {at: 20 for start in (-far, 4, far) for at in (start - 2, start)}
