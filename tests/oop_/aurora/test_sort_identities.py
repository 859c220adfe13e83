"""The paper's identities with a real BSort (Aurora paper, sections 5.2.2.2 and 5.2.2.3): an operator that assumes a
slack is one without it behind a BSort."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import oop
from oop import aurora
from tests.oop_.aurora.test_identities import CASES, answer, reports, source

Box = Callable[..., oop.Stream]
NAMES = {"n": oop.count(), "sum": oop.sum("Pos")}


def aggregate(n: int, group_by: tuple[str, ...]) -> Box:
    return aurora.Aggregate(NAMES, oop.Order("Time", n, group_by), 6, 2)


def join(n: int, group_by: tuple[str, ...]) -> Box:
    same = oop.col("Sid") == oop.col("Sid_right")
    return aurora.Join(same, 3, oop.Order("Time", n, group_by), oop.Order("Time", n, group_by))


def resample(n: int, group_by: tuple[str, ...]) -> Box:
    return aurora.Resample(NAMES, 3, oop.Order("Time", n, group_by), oop.Order("Time", n, group_by))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("group_by", [(), ("Sid",)])
@pytest.mark.parametrize("box", [aggregate, join, resample])
def test_slack_is_a_bsort_before_it(box: Callable[..., Box], group_by: tuple[str, ...], threads: int) -> None:
    for seed in range(CASES // 2):
        rng = random.Random(seed)
        slack = rng.randint(0, 4)
        streams = [
            source(rng, reports(rng)).filter(oop.col("Sid").is_not_null()) for _ in range(1 + (box != aggregate))
        ]
        sort = aurora.BSort(oop.Order("Time", slack, group_by))
        found = answer(box(slack, group_by)(*streams), threads)
        assert found == answer(box(0, group_by)(*map(sort, streams)), threads), f"seed {seed}"
