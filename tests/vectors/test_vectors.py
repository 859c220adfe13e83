"""Cases from the papers and from other systems' tests (tests/vectors/README.md), and a few of our own."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import oop
from oop.kernels.dispatch import kernels
from tests.vectors import runner
from tests.vectors.runner import Vector

VECTORS = runner.vectors()
RUNNABLE = [v for v in VECTORS if runner.missing(v.case) is None]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v.id)
def test_vector(vector: Vector) -> None:
    try:
        exact = runner.run(vector.case)
    except runner.Skip as reason:
        pytest.skip(str(reason))
    assert exact or not vector.copied, "rows came out at another step"


@pytest.mark.parametrize("vector", RUNNABLE, ids=lambda v: v.id)
@pytest.mark.parametrize("ways", [{"batched": True}, {"scheduler": oop.RoundRobin(train=1), "settle": 8}], ids=repr)
def test_vector_run_in_other_ways(vector: Vector, ways: dict[str, Any]) -> None:
    runner.run(vector.case, **ways)


@pytest.mark.parametrize("name", ["reference", "jit", "native"])
def test_vectors_on_each_kernel(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name not in runner.kernel_names():
        pytest.skip(f"{name} kernels are not available here")
    monkeypatch.setenv("OOP_KERNELS", name)
    assert kernels().name == name
    for vector in RUNNABLE:
        runner.run(vector.case)


def test_skips_are_counted_by_name() -> None:
    """Of the copies in the project; what is skipped is skipped for a reason that has a name."""
    copied = [v for v in VECTORS if v.copied]
    skipped = Counter(name for v in copied if (name := runner.missing(v.case)) is not None)
    assert skipped == {
        "scheduler:min_latency": 1,
        "scheduler:min_memory": 1,
        "session_gap:exclusive": 2,
        "session_join": 1,
    }
    assert len(copied) - skipped.total() == 56


def wrong_ones(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The case with one expectation changed, for each that it has."""
    for i, step in enumerate(case["steps"]):
        for change in changes(step):
            wrong = copy.deepcopy(case)
            wrong["steps"][i] = change
            yield wrong
    for name in ("expect_dropped", "expect_final", "expect_late"):
        if name in case:
            wrong = copy.deepcopy(case)
            wrong[name] = wrong[name] + 1 if isinstance(wrong[name], int) else wrong[name][1:]
            yield wrong


def changes(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if step.get("expect"):
        yield {"expect": step["expect"][1:]}
        yield {"expect": [*step["expect"], step["expect"][0]]}
        for name, value in step["expect"][0].items():
            other = [*value, value[0]] if isinstance(value, list) else "another"
            yield {"expect": [{**step["expect"][0], name: other}, *step["expect"][1:]]}
    elif "expect_out_punct" in step:
        yield {"expect_out_punct": {**step["expect_out_punct"], "S0": 1234}}
    elif "expect_state" in step:
        yield {"expect_state": {stream: [*held, 99] for stream, held in step["expect_state"].items()}}
    elif "expect_punct" in step:
        yield {"expect_punct": [*step["expect_punct"], 1234]}
    elif "expect_punct_now" in step:
        yield {"expect_punct_now": 1234}
    elif "wids" in step:
        yield {**step, "wids": [*step["wids"], max(step["wids"]) + 1]}
    elif "windows" in step:
        yield {**step, "windows": step["windows"][1:]}
    elif "wid_from" in step:
        yield {**step, "wid_from": step["wid_from"] - 1}
        yield {**step, "wid_to": step["wid_to"] - 1}


@pytest.mark.parametrize("vector", [v for v in RUNNABLE if v.copied], ids=lambda v: v.id)
def test_the_runner_sees_a_wrong_answer(vector: Vector) -> None:
    changed = list(wrong_ones(vector.case))
    assert changed
    for wrong in changed:
        with pytest.raises(AssertionError):
            runner.run(wrong)
