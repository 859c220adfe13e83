"""How many greater rows came before a late one, against a count by hand, whatever the batches."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

from oop.operators.source import slack_needed
from oop.operators.source.slack_needed import SlackNeeded


def cut(times: list[int], rng: random.Random) -> Iterator[list[int]]:
    at = 0
    while at < len(times):
        size = rng.choice([1, 2, 7, 40])
        yield times[at : at + size]
        at += size


def random_times(rng: random.Random) -> list[int]:
    times, at = [], 0
    for _ in range(rng.randint(1, 200)):
        at += rng.choice([0, 0, 1, 3])
        times.append(at - rng.choice([0, 0, 0, rng.randint(0, 5), rng.randint(0, 60)]))
    return times


@pytest.mark.parametrize("resumed", [False, True])
@pytest.mark.parametrize("span", [slack_needed.SPAN, 6])
def test_greater_rows_before_a_late_one(span: int, resumed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are counted where all rows that came before are remembered; else there are bounds on both sides. A judge
    that is resumed has not seen the rows before."""
    monkeypatch.setattr(slack_needed, "SPAN", span)
    monkeypatch.setattr(slack_needed, "_PIECES", 3)
    monkeypatch.setattr(slack_needed, "_MILESTONES", 8)
    late_rows = exact = 0
    for seed in range(40):
        rng = random.Random(seed)
        times, n = random_times(rng), rng.choice([0, 1])
        began = rng.randrange(len(times)) if resumed else 0
        before = times[:began]
        needed = SlackNeeded(n, began, max(before, default=None))
        for batch in cut(times[began:], rng):
            seen = np.array([*before, *batch])
            greater = [int((seen[:row] > seen[row]).sum()) for row in range(len(before), len(seen))]
            late = [row for row, count in enumerate(greater) if count > n]
            least, most = needed.greater(np.array(batch), np.array(late, np.int64))
            for row, low, high in zip(late, least.tolist(), most.tolist(), strict=True):
                assert low <= greater[row] <= high, (seed, seen.tolist(), row)
                exact += low == high
            late_rows += len(late)
            before += batch
            needed.add(np.array(batch), max(before))
    assert late_rows > 400
    if span > 1_000 and not resumed:
        assert exact == late_rows
    else:
        assert late_rows / 4 < exact < late_rows
