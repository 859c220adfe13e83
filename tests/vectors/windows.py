"""The ops that aggregate: windows, sessions, Aurora's slack, and the last rows or all rows of each partition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pyarrow as pa

import oop
from oop.testing import Harness
from tests.vectors.aurora import slack_agg
from tests.vectors.comparing import check_late, check_promises, check_rows, same_rows
from tests.vectors.script import Case, Row, Script, Skip, row_of, schema_of
from tests.vectors.watching import Watched, watch

AGGREGATES: dict[str, Callable[..., Any]] = {
    "count": oop.count,
    "sum": oop.sum,
    "min": oop.min,
    "max": oop.max,
    "avg": oop.mean,
    "mean": oop.mean,
    "var": oop.var,
}
LISTS = ("list", "list_by_ts")


def run_window_agg(case: Case, *, batched: bool = False, **ways: Any) -> bool:
    """Aggregates of each window. A collected list is put together from a count by value."""
    params = case["params"]
    window, keys = window_of(params["window"]), params.get("group_by", [])
    late = "admit" if "late:per_window" in case.get("assumes", ()) else "drop"

    def watched(by: list[str], **aggregates: Any) -> Watched:
        return watch(script, lambda s: s.window(window).group_by(*by).agg(**aggregates), late, **ways)

    script = Script(case, batched)
    numbers = {n: aggregate_of(f, c) for f, c, n in params["aggs"] if f not in LISTS}
    main = watched(keys, __rows=oop.count(), **numbers)
    check_late(case, main.run, late)
    check_promises(case, script, main, ("window_start", "window_end"))
    steps, everything = [_started(r) for r in main.rows], _started(main.all_rows)
    for function, column, name in params["aggs"]:
        if function in LISTS:
            by = list(dict.fromkeys([*keys, *(["ts"] if function == "list_by_ts" else []), column]))
            values = watched(by, __n=oop.count())
            steps = [
                _collected(rows, _started(found), keys, column, name)
                for rows, found in zip(steps, values.rows, strict=True)
            ]
            everything = _collected(everything, _started(values.all_rows), keys, column, name)
    return check_rows(_with_sorted_bags(case), steps, everything)


def aggregate_of(function: str, column: str | None) -> Any:
    return AGGREGATES[function]() if column is None else AGGREGATES[function](column)


def window_of(params: Row) -> Any:
    if params.get("type", "time") != "time":
        raise Skip(f"window:{params['type']}")
    offset = params.get("offset", 0)
    slide = params.get("slide", params["range"])
    if slide == params["range"]:
        return oop.tumbling(params["range"], offset=offset)
    return oop.sliding(params["range"], every=slide, offset=offset)


def _started(rows: list[Row]) -> list[Row]:
    return [{"start": r["window_start"], "end": r["window_end"], **r} for r in rows]


def _sort_key(value: Any) -> tuple[str, Any]:
    return ("", 0) if value is None else ("number" if isinstance(value, int | float) else "text", value)


def _collected(rows: list[Row], counts: list[Row], keys: list[str], column: str, name: str) -> list[Row]:
    """Rows with one more cell: the values of the group, by time if the counts have one, else sorted."""
    lists: dict[tuple[Any, ...], list[tuple[Any, Any]]] = defaultdict(list)
    for row in counts:
        key = (row["start"], row["end"], *(row[k] for k in keys))
        lists[key] += [(row.get("ts", 0), row[column])] * row["__n"]
    out = []
    for row in rows:
        found = lists.pop((row["start"], row["end"], *(row[k] for k in keys)))
        assert len(found) == row["__rows"]
        found.sort(key=lambda pair: (pair[0], _sort_key(pair[1])))
        out.append({**row, name: [v for _, v in found]})
    assert not lists, "lists of windows that did not come out"
    return out


def _with_sorted_bags(case: Case) -> Case:
    """The case with collected lists as sorted bags, except where they are ordered by time."""
    bags = [n for f, _, n in case["params"]["aggs"] if f == "list"]

    def sorted_(rows: list[Row]) -> list[Row]:
        return [{n: sorted(v, key=_sort_key) if n in bags else v for n, v in row.items()} for row in rows]

    steps = [{**s, "expect": sorted_(s["expect"])} if "expect" in s else s for s in case["steps"]]
    final = {"expect_final": sorted_(case["expect_final"])} if "expect_final" in case else {}
    return {**case, "steps": steps, **final}


def run_session_agg(case: Case, *, batched: bool = False, **ways: Any) -> bool:
    """Aggregates of each session. A collected list is put together from a count of each value that occurs."""
    params = case["params"]
    script = Script(case, batched)
    numbers = {n: aggregate_of(f, c) for f, c, n in params["aggs"] if f not in LISTS}
    values: dict[str, list[Any]] = {}
    for function, column, name in params["aggs"]:
        if function in LISTS:
            assert function == "list", "how often a value occurs says nothing about when"
            values[name] = sorted({row_of(s).get(column) for s in case["steps"] if "in" in s}, key=_sort_key)
            for i, value in enumerate(values[name]):
                is_it = oop.col(column).is_null() if value is None else oop.col(column) == value
                numbers[f"__{name} {i}"] = oop.sum(oop.if_else(is_it, 1, 0))
    late = "admit" if "late:per_window" in case.get("assumes", ()) else "drop"
    keys, window = params.get("group_by", []), oop.session(params["gap"])
    rows = {"__rows": oop.count(), **numbers}
    main = watch(script, lambda s: s.window(window).group_by(*keys).agg(**rows), late, **ways)
    check_late(case, main.run, late)
    check_promises(case, script, main, ("window_start", "window_end"))

    def listed(found: list[Row]) -> list[Row]:
        out = []
        for row in _started(found):
            for name, each in values.items():
                row[name] = [v for i, v in enumerate(each) for _ in range(row[f"__{name} {i}"])]
                assert len(row[name]) == row["__rows"]
            out.append(row)
        return out

    return check_rows(_with_sorted_bags(case), [listed(r) for r in main.rows], listed(main.all_rows))


def run_slack_agg(case: Case, *, batched: bool = False, settle: int = 0, **ways: Any) -> None:
    """Aurora's slack in rows, group by group (Aurora paper, section 5.2.2), without the windows that may still grow."""
    params, steps = case["params"], [s for s in case["steps"] if "in" in s]
    (by,) = params["group_by"]
    rows = [row_of(s) for s in steps]
    schema = schema_of(rows, pa.int64())
    batches = [pa.RecordBatch.from_pylist(r, schema=schema) for r in ([rows] if batched else [[r] for r in rows])]
    source = oop.source(batches, time="ts", punctuate=oop.slack(rows=params["slack"], by=by))
    windowed = source.window(window_of({**params, "type": "time"})).group_by(by)
    run_ = windowed.agg(**{n: aggregate_of(f, c) for f, c, n in params["aggs"]}).run(engine=oop.Embedded(**ways))
    found = _started(run_.to_table().to_pylist())
    if case.get("complete_windows_only"):
        found = [r for r in found if r["end"] <= max(row["ts"] for row in rows)]
    check_rows(case, [], found)
    assert len(run_.late) == case.get("expect_dropped", 0)
    found, dropped = slack_agg(case, batched, **ways)  # as the paper writes it
    check_rows(case, [], found)
    assert dropped == case.get("expect_dropped", 0)


def run_partition_row_avg(case: Case, *, batched: bool = False, settle: int = 0, **ways: Any) -> None:
    """The average of the last rows of each partition, after every row: windows that end behind it."""
    params = case["params"]
    function, column = params["agg"]
    window = oop.rows(params["range"], every=1, by=params["group_by"])
    _check_changes(case, lambda s: s.window(window).agg(new=aggregate_of(function, column)), None)


def run_partition_landmark_max(case: Case, *, batched: bool = False, settle: int = 0, **ways: Any) -> None:
    """The maximum since the beginning, whenever it changes: one window without an end, and its results so far."""
    params = case["params"]
    function, column = params["agg"]

    def plan(s: oop.Stream) -> oop.Stream:
        groups = s.window(oop.landmark(0), on="__arrival").group_by(*params["group_by"])
        return groups.agg(new=aggregate_of(function, column)).emit("on_change")

    _check_changes(case, plan, params["empty"])


def _check_changes(case: Case, plan: Callable[[oop.Stream], oop.Stream], empty: Any) -> None:
    """Row by row: each result with the one before it of the same group."""
    keys, rows = case["params"]["group_by"], [s["row"] for s in case["steps"] if "in" in s]
    schema = pa.Table.from_pylist([{"__arrival": 0, **rows[0]}]).schema
    harness = Harness(plan, schema, time="__arrival", punctuate=oop.ordered())
    last: dict[tuple[Any, ...], Any] = {}
    arrived = 0
    for step in case["steps"]:
        if "in" in step:
            harness.push([{"__arrival": arrived, **step["row"]}])
            arrived += 1
            continue
        found = []
        for row in harness.rows():
            key = tuple(row[k] for k in keys)
            found.append({**{k: row[k] for k in keys}, "prev": last.get(key, empty), "new": row["new"]})
            last[key] = row["new"]
        assert same_rows(found, step["expect"], [*keys, "prev", "new"], case.get("ordered", False)), found
