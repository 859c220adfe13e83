"""Runs the cases of this folder, whose format is in `tests/vectors/README.md`: `run(case)` chooses the function of its
op.

A case is either run to its end, where a wrong answer is an AssertionError, or `Skip` names what is missing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.vectors.aurora import run_split_merge, run_tumble_on_change
from tests.vectors.clocks import is_clocked, own_promises, run_slack_punct
from tests.vectors.joins import run_oop_join, run_window_join
from tests.vectors.plans import run_dedup, run_sort, run_traversal, run_union, run_union_bag
from tests.vectors.script import Case, Skip
from tests.vectors.sorts import run_bsort
from tests.vectors.window_ids import kernel_names as kernel_names
from tests.vectors.window_ids import run_row_window_ids, run_window_assign
from tests.vectors.windows import (
    AGGREGATES,
    LISTS,
    run_partition_landmark_max,
    run_partition_row_avg,
    run_session_agg,
    run_slack_agg,
    run_window_agg,
)

HERE = Path(__file__).parent
SHARED = Path(os.environ.get("OOP_SHARED", HERE.parents[2] / "shared")) / "vectors"

# What a result may depend on and we do too (README.md); any other assumption is a reason to skip.
OURS = {
    "idle_inputs",
    "late:drop",
    "late:per_window",
    "list:bag",
    "list:ordered_by_ts",
    "lull:system_time",
    "punct:group_wise",
    "punct:regress_ignored",
    "purge:exact",
    "session_end:last+gap",
    "session_gap:inclusive",
    "slide>range",
}


@dataclass(frozen=True)
class Vector:
    """A case, and whether the project holds a copy of it."""

    case: Case
    copied: bool

    @property
    def id(self) -> str:
        return self.case["id"] + ("" if self.copied else "@shared")


def vectors() -> list[Vector]:
    """The project's copies, then what the shared folder has beyond them (if it is there)."""
    found: dict[str, Vector] = {}
    for folder, copied in ((HERE, True), (SHARED, False)):
        for path in sorted(folder.glob("*.json")):
            for case in json.loads(path.read_text(encoding="utf-8")):
                vector = Vector(case, copied)
                known = found.get(case["id"])
                if known is None or known.case != case:
                    found.setdefault(vector.id, vector)
    return list(found.values())


def missing(case: Case) -> str | None:
    """The name by which a case is skipped, or None if it can be run."""
    if case["op"] not in OPS:
        return f"op:{case['op']}"
    foreign = sorted(a for a in case.get("assumes", ()) if a not in OURS)
    if foreign:
        return foreign[0]
    if is_clocked(case):
        carried = any(k in step for step in case["steps"] for k in ("punct", "punct_group", "idle"))
        if case["op"] not in ("slack_punct", "window_agg") or not own_promises(case) or carried:
            return "clock_advance"
    for function, *_ in case["params"].get("aggs", ()):
        if function not in AGGREGATES and function not in LISTS:
            return f"agg:{function}"
    params = case["params"]
    if case["op"] == "dedup" and params.get("within") is None and "ts" not in params.get("keys", ["ts"]):
        return "dedup:forever"
    if case["op"] == "traversal" and case["params"]["policy"] != "min_cost":
        return f"scheduler:{case['params']['policy']}"
    return None


def run(case: Case, **ways: Any) -> bool:
    """Run a case; True if every row came out at the step that the case names, False if only the time differs."""
    name = missing(case)
    if name is not None:
        raise Skip(name)
    return OPS[case["op"]](case, **ways) is not False


OPS: dict[str, Callable[..., bool | None]] = {
    "window_agg": run_window_agg,
    "session_agg": run_session_agg,
    "slack_agg": run_slack_agg,
    "slack_punct": run_slack_punct,
    "split_merge": run_split_merge,
    "tumble_on_change": run_tumble_on_change,
    "window_assign": run_window_assign,
    "row_window_ids": run_row_window_ids,
    "partition_row_avg": run_partition_row_avg,
    "partition_landmark_max": run_partition_landmark_max,
    "dedup": run_dedup,
    "sort": run_sort,
    "bsort": run_bsort,
    "union": run_union,
    "union_bag": run_union_bag,
    "traversal": run_traversal,
    "oop_join": run_oop_join,
    "window_join": run_window_join,
}
