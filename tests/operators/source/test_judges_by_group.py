"""Judges by group: only the rows around those with which groups begin go one by one, and the bounds are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.operators.source.judges import by_group, judge_of
from oop.operators.source.judges.row_by_row import observed
from oop.punctuation import Policy


@pytest.mark.parametrize("policy", [oop.slack(3, by="k", idle=500), oop.slack(rows=4, by="k", idle=500)], ids=str)
def test_parts_of_a_batch_are_judged_together(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    count = 40_000
    times = np.arange(count) // 10 + rng.integers(-9, 3, count)
    groups = rng.integers(0, 30, count)
    groups[(groups == 7) & (np.arange(count) // 10_000 != 2)] = 8  # one that comes in the middle, and retires
    rows = pa.record_batch({"k": groups})
    one_by_one: list[int] = []

    def counting(progress: Any, times: np.ndarray, *columns: pa.Array) -> np.ndarray:
        one_by_one.append(len(times))
        return observed(progress, times, *columns)

    monkeypatch.setattr(by_group, "observed", counting)
    progress = policy.start("ts")
    found = judge_of(progress).bounds(times, rows)
    alone = policy.start("ts")
    assert found.tolist() == observed(alone, times, rows["k"]).tolist()
    assert sorted(map(str, progress.promises())) == sorted(map(str, alone.promises()))
    assert 0 < sum(one_by_one) < count / 4
