"""Policies by group over batches are what they are row by row, whatever the batches are."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.operators.source.judges import judge_of
from oop.punctuation.policies import slack
from oop.punctuation.progress_groups import GroupedProgress

LEAST = np.iinfo(np.int64).min
POLICIES = [
    *({"bound": b, **by} for b in (0, 4) for by in ({}, {"groups": ["A", "B"]}, {"idle": 6}, {"idle": 25})),
    *({"rows": n, **by} for n in (0, 2) for by in ({}, {"groups": ["A", "B"]}, {"idle": 6}, {"idle": 25})),
]


def prefix_bounds_grouped(progress, times, column):
    return judge_of(progress).bounds(times, pa.record_batch({"k": column}))


def batches(seed, values=200):
    """Rows that go on, in bursts of one group or of all, cut anywhere."""
    rng = np.random.default_rng(seed)
    times = np.arange(values) // 3 + rng.integers(-6, 6, values)
    groups = rng.choice(["A", "B", "C", None] if seed % 2 else ["A", "B"], values)
    groups[50:90] = "A"  # the others fall silent, and come back
    cuts = [0, *sorted(rng.choice(values, 7).tolist()), values]
    return [(times[a:b], groups[a:b]) for a, b in pairwise(cuts)]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_batches_are_judged_as_their_rows_one_by_one(policy, seed):
    bound = policy.get("bound")
    policy = slack(*([] if bound is None else [bound]), by="k", **{k: v for k, v in policy.items() if k != "bound"})
    together, one_by_one = GroupedProgress(policy, "ts"), GroupedProgress(policy, "ts")
    for times, groups in batches(seed):
        column = pa.array(groups.tolist(), pa.string())
        column = column.dictionary_encode() if seed % 3 == 0 else column
        expected = one_by_one.observe(times.tolist(), groups.tolist())
        assert prefix_bounds_grouped(together, times, column).tolist() == [LEAST if b is None else b for b in expected]
        assert set(together.promises()) == set(one_by_one.promises())
        assert set(together.slowest()) == set(one_by_one.slowest())
        if seed % 4 == 0:
            restored = GroupedProgress(policy, "ts")
            restored.restore(together.state())
            together = restored


@pytest.mark.parametrize("known", [{"idle": 10}, {"groups": ["A", "B"]}, {}])
def test_a_bound_below_all_numbers_is_none(known):
    progress = GroupedProgress(slack(100, by="k", **known), "ts")
    rows = np.array([LEAST + 5, LEAST + 6]), pa.array(["A", "B"])
    assert [prefix_bounds_grouped(progress, *rows).tolist() for _ in range(3)] == [[LEAST, LEAST]] * 3


def test_few_rows_of_much_slack_go_one_by_one():
    progress = GroupedProgress(slack(rows=50, by="k", groups=["A"]), "ts")
    times, group = np.arange(60), pa.array(["A"] * 60)
    prefix_bounds_grouped(progress, times, group)
    bounds = [prefix_bounds_grouped(progress, times[i : i + 1] + 60, group[:1]).item() for i in range(3)]
    assert bounds == [9, 10, 11]


@pytest.mark.parametrize(
    "groups",
    [
        pa.array([0.0, -0.0, 0.0, -0.0]),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1], pa.int32()), pa.array(["A", "A"])),
    ],
    ids=["zeros", "twice in a dictionary"],
)
@pytest.mark.parametrize("rows", [1, 2, 4])
def test_a_group_that_is_written_in_two_ways_is_one(groups, rows):
    table = pa.table({"ts": [5, 3, 9, 4], "k": groups})
    s = oop.source(table.to_batches(rows), time="ts", punctuate=oop.ordered(by="k"), schema=table.schema, name="in")
    run = s.run()
    run.to_table()
    assert run.late["in"]["ts"].to_pylist() == [3, 4]
