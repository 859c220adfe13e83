"""Cases in which a source makes its promises itself, by slack and, in lulls, by the wall clock (OOP paper, A.1.1).

The clock is moved by hand. It shows what the cases assume of it: the newest row is of now.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import oop
from oop.testing import Harness, ManualClock

Case = dict[str, Any]


def own_promises(case: Case) -> bool:
    """Does the case leave it to the source to promise?"""
    return "slack" in case["params"]


def is_clocked(case: Case) -> bool:
    return bool(case["params"].get("clock")) or any("clock_advance" in step for step in case["steps"])


def policy_of(case: Case) -> Any:
    params = case["params"]
    if is_clocked(case):
        return oop.timer(every=1, lull=params.get("lull", params["slack"]), slack=params["slack"])
    return oop.slack(params["slack"])


class CaseClock(ManualClock):
    """A clock that a row from the future moves: its source's clock is right."""

    def see(self, batch: pa.RecordBatch) -> None:
        for time in batch.column("ts").to_pylist():
            self._now = max(self._now, time)


def first_time(case: Case) -> Any:
    return next((step["ts"] for step in case["steps"] if "in" in step), 0)


def run_slack_punct(case: Case, *, batched: bool = False, settle: int = 0, **ways: Any) -> None:
    """What a source promises: step by step, at every look at it."""
    clock = CaseClock(first_time(case))
    rows = [{"ts": s["ts"], **s["row"]} for s in case["steps"] if "in" in s]
    schema = pa.RecordBatch.from_pylist(rows).schema
    h = Harness(lambda s: s, schema, punctuate=policy_of(case), clock=clock)
    found: list[Any] = []
    waiting: list[dict[str, Any]] = []

    def look() -> list[Any]:
        if waiting:
            batch = pa.RecordBatch.from_pylist(waiting, schema=schema)
            waiting.clear()
            h.push(batch)
            clock.see(batch)
        h.tick()
        new = [p.below["ts"] for p in h.promises()]
        found.extend(new)
        return new

    for step in case["steps"]:
        if "in" in step:
            waiting.append({"ts": step["ts"], **step["row"]})
            said = [] if batched else look()
            assert len(said) <= 1
        elif "clock_advance" in step:
            look()
            clock.advance(step["clock_advance"])
            look()
        elif "expect_punct" in step:
            look()
            last = found[-1:] if batched else found  # of a batch's promises the last says all
            assert last == (step["expect_punct"][-1:] if batched else step["expect_punct"])
            found.clear()
        elif "expect_punct_now" in step:
            look()
            assert h.frontier.bound("ts") == step["expect_punct_now"]
        else:
            raise AssertionError(f"what to do with {step}?")
    broke = [case["steps"][i]["ts"] for i in case.get("violating_steps", ())]
    assert sorted(r["ts"] for r in h.late["input 0"].to_pylist()) == sorted(broke)
