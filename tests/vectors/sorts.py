"""Aurora's BSort of the vectors (Aurora paper, figure 8): the rows in their order, and what stays in the buffer."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from oop.testing import Harness

Case = dict[str, Any]


def run_bsort(case: Case, *, batched: bool = False, settle: int = 0, **ways: Any) -> None:
    """Row by row, or all rows since the last look in one batch."""
    params = case["params"]
    rows = [{"ts": s["ts"], **s["row"]} for s in case["steps"] if "in" in s]
    schema = pa.RecordBatch.from_pylist(rows).schema
    h = Harness(lambda s: s.bsort(params["slack"], by=params.get("group_by")), schema)
    waiting: list[dict[str, Any]] = []

    def feed() -> None:
        if waiting:
            h.push(waiting)
            waiting.clear()

    for step in case["steps"]:
        if "in" in step:
            waiting.append({"ts": step["ts"], **step["row"]})
            if not batched:
                feed()
            continue
        feed()
        if "expect" in step:
            found = h.rows()
            assert found == step["expect"], f"{found} instead of {step['expect']}"
        elif "expect_state" in step:
            (box,) = [b for b in h.run._boxes if b.node.spec.name == "BSort"]
            held = [row["ts"] for batch in box.operator.open_results() for row in batch.to_pylist()]
            assert {"S": sorted(held)} == step["expect_state"]
        else:
            raise AssertionError(f"what to do with {step}?")
