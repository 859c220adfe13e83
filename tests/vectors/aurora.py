"""Aurora's boxes of the vectors, under its own names: rows in the order of their arrival, step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

import oop
from oop import aurora
from oop.testing import Harness

Case = dict[str, Any]
Row = dict[str, Any]
FUNCTIONS: dict[str, Callable[..., Any]] = {"avg": oop.mean, "cnt": lambda column: oop.count(), "sum": oop.sum}


def rows_of(case: Case) -> list[Row]:
    return [{**({} if s["ts"] is None else {"ts": s["ts"]}), **s["row"]} for s in case["steps"] if "in" in s]


def slack_agg(case: Case, batched: bool, **ways: Any) -> tuple[list[Row], int]:
    """Aggregate with an order: its results, and how many rows were out of it."""
    params, rows = case["params"], rows_of(case)
    whole = pa.Table.from_pylist(rows)
    source = oop.source(whole.to_batches(len(rows) if batched else 1), time="ts", punctuate=None)
    box = aurora.Aggregate(
        {name: FUNCTIONS[function](column) for function, column, name in params["aggs"]},
        assuming=oop.Order("ts", params["slack"], params["group_by"]),
        size=params["range"],
        advance=params["slide"],
    )
    run = box(source).run(engine=oop.Embedded(**ways))
    found = [{"start": row.pop("ts"), **row} for row in run.to_table().to_pylist()]
    if case.get("complete_windows_only"):
        found = [r for r in found if r["start"] + params["range"] <= max(row["ts"] for row in rows)]
    return found, len(run.late)


def run_tumble_on_change(case: Case, *, batched: bool = False, settle: int = 0, **ways: Any) -> bool:
    """Row by row, or all at once: then only what came out altogether can be looked at."""
    params, rows = case["params"], rows_of(case)
    box = aurora.Tumble({name: FUNCTIONS[f](column) for f, column, name in params["aggs"]}, params["group_by"])
    harness = _harness(box, rows)
    if batched:
        harness.push(rows)
        assert harness.rows() == [row for step in case["steps"] for row in step.get("expect", ())]
        return True
    for step in case["steps"]:
        if "in" in step:
            harness.push([step["row"]])
        else:
            assert harness.rows() == step["expect"]
    return True


def run_split_merge(case: Case, *, batched: bool = False, settle: int = 0, **ways: Any) -> None:
    """Aurora* and Medusa paper, figure 6: what each machine has put out, and the whole; all of it before the stream's
    end."""
    params, rows = case["params"], rows_of(case)
    assert params["route"] == "B<3 -> machine 1 else machine 2" and params["agg"] == "cnt"
    box = aurora.Tumble({"result": FUNCTIONS[params["agg"]]("B")}, "A")
    assert box.combined.functions["result"].title == params["combine"]
    route = (oop.col("Tup#") < params["split_after"]) | (oop.col("B") < 3)

    def numbered(stream: oop.Stream) -> oop.Stream:
        return aurora.Assume(oop.Order("Tup#"))(aurora.Assume(oop.Order("A"))(stream))

    plans = {
        "machine1": lambda s: box(aurora.Filter(route)(numbered(s))[0]),
        "machine2": lambda s: box(aurora.Filter(route)(numbered(s))[1]),
        "split": lambda s: box.split(route)(numbered(s)),
        "whole": box,
    }
    found = {}
    for name, plan in plans.items():
        harness = _harness(plan, rows)
        for piece in [rows] if batched else [[row] for row in rows]:
            harness.push(piece)
        found[name] = harness.rows()
    # of one machine A < 4 is promised as well, and it may say so before a row with other values comes
    assert found["whole"] == found["split"] == case["expect_final"]
    for name, expected in case["expect_parts"].items():
        assert [[r["A"], r["result"]] for r in found[name]] == expected


def _harness(plan: Callable[[oop.Stream], oop.Stream], rows: list[Row]) -> Harness:
    schema = pa.Table.from_pylist(rows).schema
    return Harness(plan, schema, time=schema.names[0], punctuate=oop.at_end())
