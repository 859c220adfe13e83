"""Joins of the vectors: driven step by step through the harness, so that state and promises can be looked at."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import oop
from oop.operators.join.operator import JoinOperator
from oop.testing import Harness

Case = dict[str, Any]
Row = dict[str, Any]


class _Run:
    """A join of two streams, the steps fed so far, and the rows that came out."""

    def __init__(self, case: Case, streams: tuple[str, str], arguments: dict[str, Any]) -> None:
        self.streams = streams
        rows: dict[str, list[Row]] = {s: [] for s in streams}
        for step in case["steps"]:
            if "in" in step:
                rows[step["in"]].append({"ts": step["ts"], **step["row"]})
        self.harness = Harness(lambda a, b: a.join(b, **arguments), *(_schema(rows[s]) for s in streams))
        self.rows: list[Row] = []
        self.promised = oop.Frontier()

    def feed(self, step: Row) -> None:
        if "in" in step:
            self.harness.push([{"ts": step["ts"], **step["row"]}], self.streams.index(step["in"]))
        elif "punct" in step:
            self.harness.promise(self.streams.index(step["punct"]), ts=step["ts"])
        self.rows += self.harness.rows()
        for promise in self.harness.promises():
            self.promised.advance(promise)

    def held(self, stream: str) -> list[Any]:
        (join,) = (b.operator for b in self.harness.run._boxes if isinstance(b.operator, JoinOperator))
        side = join.sides[self.streams.index(stream)]
        return sorted(side.table.read(side.held())[1].tolist())

    def take(self) -> list[Row]:
        rows, self.rows = self.rows, []
        return rows


def _schema(rows: list[Row]) -> pa.Schema:
    names = dict.fromkeys(["ts", *(n for row in rows for n in row)])
    table = pa.table({n: pa.array([row.get(n) for row in rows]) for n in names})
    return table.schema if rows else pa.schema([("ts", pa.int64())])


def run_oop_join(case: Case, *, batched: bool = False, settle: int = 0, **ways: Any) -> None:
    """Figure 4: the rows, what is held, and what is promised of each time, after every step."""
    params = case["params"]
    assert params["pred"] == "S0.ts-range1 < S1.ts < S0.ts+range0"
    run = _Run(case, ("S0", "S1"), {"ranges": (params["range0"], params["range1"])})
    for step in case["steps"]:
        run.feed(step)
        if "expect" in step:
            found = sorted(((r["ts"], r["ts_right"]) for r in run.take()), key=repr)
            assert found == sorted(((r["s0"], r["s1"]) for r in step["expect"]), key=repr)
        if "expect_state" in step:
            for stream, times in step["expect_state"].items():
                # at the bound itself an open band lets a row go; the printed pseudo-code does not look that close
                assert run.held(stream) in (times, [t for t in times if t != min(times)])
        if "expect_out_punct" in step:
            found_bounds = {"S0": run.promised.bound("ts"), "S1": run.promised.bound("ts_right")}
            assert found_bounds == step["expect_out_punct"]


def run_window_join(case: Case, *, batched: bool = False, settle: int = 0, **ways: Any) -> None:
    """Rows of both streams in the same tumbling window, with equal keys."""
    params = case["params"]
    window = oop.tumbling(params["window"]["range"], offset=params["window"].get("offset", 0))
    arguments = {"window": window, "how": params["type"], "on": params["on"] or None}
    run = _Run(case, ("L", "R"), arguments)
    for step in case["steps"]:
        run.feed(step)
    run.harness.end()
    run.rows += run.harness.rows()
    expected = [row for step in case["steps"] for row in step.get("expect", ())]
    found = [{"l": r["v"], "r": r["v_right"]} for r in run.take()]
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
