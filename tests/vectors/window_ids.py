"""The ops that ask in which windows a time or the number of a row is, through the public API and by every kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import oop
from oop.kernels.dispatch import kernels
from tests.vectors.script import Case, Row
from tests.vectors.windows import window_of


def run_window_assign(case: Case, *, batched: bool = False, settle: int = 0, **ways: Any) -> None:
    """Window ids of single times: through the public API for each type of time, and by every kernel."""
    params = case["params"]
    for step in case["steps"]:
        time, wids = step["assign"], _wids(step, params)
        grid = {k: params.get(k, 0) for k in ("range", "slide", "offset")}
        types = [pa.float64()]
        if not any(isinstance(v, float) for v in (time, *grid.values())):
            types += [pa.int64(), pa.int32(), pa.timestamp("us"), pa.timestamp("s", "Europe/Oslo"), pa.date32()]
        for type_ in types:
            starts = [grid["offset"] + w * grid["slide"] for w in wids]
            found = _assigned(time, params, type_, **ways)
            assert found == [(s, s + grid["range"]) for s in starts], f"{time} as {type_}: {found}"
        for name in kernel_names():
            for dtype in (np.float64, np.int64)[: len(types)]:
                first, last = kernels(name).wid_ranges(np.array([time], dtype), **grid)
                assert list(range(first[0], last[0] + 1)) == wids, f"{time} by {name}"


def run_row_window_ids(case: Case, *, batched: bool = False, settle: int = 0, **ways: Any) -> None:
    """Windows of rows by number: window w has the rows (w·slide − range, w·slide], counted from 1. Ours count from 0,
    and w says where a window begins: with the offset −range the ids are the same."""
    params, steps = case["params"], case["steps"]
    range_, slide, first = params["range"], params["slide"], params["seq_from"]
    last = max(step["assign"] for step in steps)
    rows = pa.table({"ts": pa.array(range(first, last + 1), pa.int64())})
    batches = rows.to_batches(max_chunksize=last if batched else 1)
    stream = oop.source(batches, time="ts", punctuate=None).window(oop.rows(range_, every=slide, offset=-range_))
    counts = stream.group_by("ts").agg(n=oop.count()).run(engine=oop.Embedded(**ways)).to_table().to_pylist()
    for step in steps:
        wids = _wids(step, params)
        found = [(r["window_end"] // slide, r["n"]) for r in counts if r["ts"] == step["assign"]]
        assert sorted(found) == [(w, 1) for w in wids]
        for name in kernel_names():
            number = np.array([step["assign"] - first])
            low, high = kernels(name).wid_ranges(number, range=range_, slide=slide, offset=-range_)
            assert list(range(low[0], high[0] + 1)) == wids, f"row {step['assign']} by {name}"


def kernel_names() -> list[str]:
    names = []
    for name in ("reference", "jit", "native"):
        try:
            names.append(kernels(name).name)
        except oop.OopError:  # not built, or not installed, here
            continue
    return names


def _wids(step: Row, params: Row) -> list[int]:
    if "windows" in step:
        wids = [(start - params.get("offset", 0)) / params["slide"] for start, _ in step["windows"]]
        assert all(w == int(w) for w in wids)
        assert all(end - start == params["range"] for start, end in step["windows"])
        return sorted(map(int, wids))
    return sorted(step["wids"]) if "wids" in step else list(range(step["wid_from"], step["wid_to"] + 1))


def _assigned(time: float, params: Row, type_: pa.DataType, **ways: Any) -> list[tuple[float, float]]:
    physical = pa.int32() if type_.bit_width == 32 else pa.int64()
    column = pa.array([time], type_) if _is_number(type_) else pa.array([time], physical).view(type_)
    source = oop.source(pa.table({"ts": column}), time="ts", punctuate=oop.ordered())
    table = source.window(window_of(params)).agg(n=oop.count()).run(engine=oop.Embedded(**ways)).to_table()
    assert table.column("n").to_pylist() == [1] * table.num_rows
    ends = [table.column(n).combine_chunks() for n in ("window_start", "window_end")]
    assert [e.type for e in ends] == [type_, type_]
    numbers = [(e if _is_number(type_) else e.view(physical)).to_pylist() for e in ends]
    return sorted(zip(*numbers, strict=True))


def _is_number(type_: pa.DataType) -> bool:
    return pa.types.is_integer(type_) or pa.types.is_floating(type_)
