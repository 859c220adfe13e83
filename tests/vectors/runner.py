"""Runs the cases of shared/vectors/FORMAT.md on this library: one function for each op, `run(case)` chooses.

A case is either run to its end, where a wrong answer is an AssertionError, or `Skip` names what is missing.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import oop
from oop.kernels.dispatch import kernels
from oop.operators.core.context import Context
from oop.operators.passing.union import Union
from oop.testing import Harness
from tests.vectors.aurora import run_split_merge, run_tumble_on_change, slack_agg
from tests.vectors.clocks import CaseClock, first_time, is_clocked, own_promises, policy_of, run_slack_punct
from tests.vectors.joins import run_oop_join, run_window_join
from tests.vectors.sorts import run_bsort

HERE = Path(__file__).parent
SHARED = Path(os.environ.get("OOP_SHARED", HERE.parents[2] / "shared")) / "vectors"
Case = dict[str, Any]
Row = dict[str, Any]

# What a result may depend on and we do too (FORMAT.md); any other assumption is a reason to skip.
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


class Skip(Exception):
    """The case needs what is not there, or assumes what we do not share; its text is the name to count by."""


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


# --- steps to elements


@dataclass
class Script:
    """A case's steps as what each stream gets, in order, with the checks in between.

    ``events`` are (stream, element) or (None, a step that expects something or moves the clock). An idle stream is one
    that the others need not wait for: with every promise of theirs it promises as much.
    """

    case: Case
    batched: bool = False
    schemas: dict[str, pa.Schema] = field(default_factory=dict)
    events: list[tuple[str | None, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        steps = self.case["steps"]
        rows: dict[str, list[Row]] = defaultdict(list)
        named = [s for step in steps for s in _stream_of(step)]
        for stream in dict.fromkeys([*self.case["params"].get("inputs", ()), *named]):
            rows[stream] = []
        for step in steps:
            if "in" in step:
                rows[step["in"]].append(row_of(step))
        time = self.time_type()
        self.schemas = {s: _schema(given, time) for s, given in rows.items()}
        if len(self.schemas) > 1:  # a union wants the same columns on each side
            same = _schema([r for given in rows.values() for r in given], time)
            self.schemas = dict.fromkeys(self.schemas, same)
        self._fill(steps)

    def time_type(self) -> pa.DataType:
        window = self.case["params"].get("window", self.case["params"])
        numbers = [step.get("ts", 0) for step in self.case["steps"]]
        numbers += [v for v in window.values() if isinstance(v, int | float)]
        return pa.float64() if any(isinstance(n, float) for n in numbers) else pa.int64()

    def _fill(self, steps: list[Row]) -> None:
        idle: set[str] = set()
        bounds: dict[str, float] = {}
        waiting: dict[str, list[Row]] = defaultdict(list)

        def flush() -> None:
            for stream, rows in waiting.items():
                if rows:
                    self.events.append((stream, self.batch(stream, rows)))
            waiting.clear()

        for step in steps:
            if "in" in step:
                idle.discard(step["in"])
                waiting[step["in"]].append(row_of(step))
                if not self.batched:
                    flush()
                continue
            flush()
            if "punct" in step and step["ts"] is not None:
                idle.discard(step["punct"])
                bounds[step["punct"]] = max(bounds.get(step["punct"], -math.inf), step["ts"])
                self.events.append((step["punct"], oop.Punctuation(below={"ts": step["ts"]})))
            elif "punct_group" in step:
                promise = oop.Punctuation(below={"ts": step["ts"]}, where=step["punct_group"])
                for stream in [step["in_stream"]] if "in_stream" in step else self.schemas:
                    self.events.append((stream, promise))
            elif "idle" in step:
                idle.add(step["idle"])
            elif "close" in step:
                self.events.append((step["close"], oop.END))
            elif "clock_advance" in step or any(k.startswith("expect") for k in step):
                self.events.append((None, step))
                continue
            active = [bounds.get(s) for s in self.schemas if s not in idle]
            if active and None not in active:
                for stream in sorted(idle):
                    self.events.append((stream, oop.Punctuation(below={"ts": min(active)})))
        flush()
        if self.case.get("close"):
            self.events += [(s, oop.END) for s in self.schemas]

    def batch(self, stream: str, rows: list[Row]) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist(rows, schema=self.schemas[stream])


def _stream_of(step: Row) -> list[str]:
    return [step[k] for k in ("in", "punct", "idle", "close") if isinstance(step.get(k), str)]


def row_of(step: Row) -> Row:
    return {"ts": step["ts"], **step["row"]}


def _schema(rows: list[Row], time: pa.DataType) -> pa.Schema:
    names = list(dict.fromkeys(["ts", *(n for row in rows for n in row)]))
    values = {n: pa.array([row.get(n) for row in rows]) for n in names}
    return pa.schema([(n, time if n == "ts" else values[n].type) for n in names])


# --- driving the engine step by step


@dataclass
class Watched:
    """What came out of a run: between the expects, and in all."""

    run: oop.Run
    rows: list[list[Row]]  # one list for each expect of rows
    all_rows: list[Row]
    promises: dict[int, list[oop.Punctuation]]  # by the position of an event: all up to there
    seen: list[oop.Punctuation]


def watch(
    script: Script, build: Callable[[oop.Stream], oop.Stream], late: str, settle: int = 0, **engine: Any
) -> Watched:
    """Feed the events one by one; after each, everything that follows from it has come out before the next is read.

    Where a scheduler does not bring an element through the whole plan in one round, ``settle`` rounds follow each.
    """
    events = script.events
    at = pause = 0
    ended: set[str] = set()
    rows: list[Row] = []
    before_end: int | None = None
    expects: list[list[Row]] = []
    taken = 0
    promises: list[oop.Punctuation] = []
    marks: dict[int, list[oop.Punctuation]] = {}
    clock = CaseClock(first_time(script.case))

    def check() -> None:
        """Note what has come out by now at every expect that is due; when the clock moves, a round passes first."""
        nonlocal at, taken, pause
        while at < len(events) and events[at][0] is None:
            if "clock_advance" in events[at][1]:
                clock.advance(events[at][1]["clock_advance"])
                marks[at] = list(promises)
                at, pause = at + 1, settle + 1
                return
            if "expect" in events[at][1]:
                expects.append(rows[taken:])
                taken = len(rows)
            marks[at] = list(promises)
            at += 1

    def feed(stream: str) -> Iterator[Any]:
        nonlocal at, pause, before_end
        nothing = script.batch(stream, [])
        while True:
            if stream == next(s for s in script.schemas if s not in ended):
                pause -= 1  # the first source to be read begins a round: all results of the last one are out
                if pause < 0:
                    check()
            if pause >= 0:
                yield nothing
                continue
            if at == len(events):
                before_end = len(rows) if before_end is None else before_end
                return
            if events[at][0] != stream:
                yield nothing
                continue
            element = events[at][1]
            at += 1
            if element is oop.END:
                ended.add(stream)
            elif not isinstance(element, oop.Punctuation):
                clock.see(element)
            pause = settle
            yield element

    policy = policy_of(script.case) if own_promises(script.case) else oop.punctuated()
    sources = [
        oop.source(feed(s), time="ts", punctuate=policy, name=s, schema=schema, late=late)
        for s, schema in script.schemas.items()
    ]
    result = build(sources[0] if len(sources) == 1 else oop.union(*sources))
    run_ = result.run(engine=oop.Embedded(check=True, clock=clock, **engine))
    for element in run_.elements():
        if isinstance(element, oop.Punctuation):
            promises.append(element)
        else:
            rows += element.to_pylist()
    assert all(b.buffered_rows == 0 for b in run_.metrics.boxes), "state is empty after the end"
    check()
    assert at == len(events)
    # what the end of a stream brings that the case did not close is not part of the case
    return Watched(run_, expects, rows[:before_end], marks, promises)


# --- comparing


def plain(value: Any) -> Any:
    """A value that equals another one if they differ by rounding only."""
    if isinstance(value, list):
        return tuple(map(plain, value))
    if isinstance(value, float):
        return "nan" if math.isnan(value) else float(f"{value:.9g}")
    return float(f"{value:.9g}") if isinstance(value, int) and abs(value) < 10**9 else value


def same_rows(found: list[Row], expected: list[Row], names: list[str], ordered: bool) -> bool:
    def keys(rows: list[Row]) -> list[tuple[Any, ...]]:
        return [tuple(plain(row[n]) for n in names) for row in rows]

    for row in expected:
        assert set(row) <= set(names)
    expected = [{n: row.get(n) for n in names} for row in expected]
    return keys(found) == keys(expected) if ordered else Counter(keys(found)) == Counter(keys(expected))


def check_rows(case: Case, found: list[list[Row]], everything: list[Row]) -> bool:
    """Compare step by step; where another system puts rows out at another time, the concatenation."""
    expected = [step["expect"] for step in case["steps"] if "expect" in step]
    final = case.get("expect_final")
    names = list(dict.fromkeys(n for rows in [*expected, final or []] for row in rows for n in row))
    ordered = case.get("ordered", False)
    exact = all(same_rows(f, e, names, ordered) for f, e in zip(found, expected, strict=True))
    if not exact:
        assert case["source"]["repo"] is not None, f"not as the paper says: {found} instead of {expected}"
        flat = [r for rows in expected for r in rows]
        got = everything if case.get("close") else [r for rows in found for r in rows]
        assert same_rows(got, flat, names, ordered), f"{got} instead of {flat}"
    if final is not None:
        assert same_rows(everything, final, names, ordered), f"{everything} instead of {final}"
    return exact


def check_promises(case: Case, script: Script, watched: Watched, attributes: tuple[str, ...]) -> None:
    """``expect_punct``: bounds since the last such step; ``expect_punct_now``: the bound at that step."""
    for attribute in attributes:
        wrong = _wrong_promise(script, watched, attribute)
        if wrong is None:
            return
    raise AssertionError(wrong)


def _wrong_promise(script: Script, watched: Watched, attribute: str) -> str | None:
    before = 0
    for at, (stream, step) in enumerate(script.events):
        if stream is not None:
            continue
        said = watched.promises[at]
        if "expect_punct" in step:
            bounds = [_bound(p, attribute, step["expect_punct"]) for p in said[before:]]
            found = [b for b in bounds if b is not None]
            before = len(said)
            if found != step["expect_punct"]:
                return f"promises {found} instead of {step['expect_punct']}"
        elif "expect_punct_now" in step:
            linear = [b for p in said if (b := _bound(p, attribute, [])) is not None]
            now = linear[-1] if linear else None
            if now != step["expect_punct_now"]:
                return f"promises {now} now instead of {step['expect_punct_now']}"
    return None


def _bound(promise: oop.Punctuation, attribute: str, like: list[Any]) -> Any:
    """The bound of a promise; of a group-wise one only where the case names groups too."""
    if attribute not in promise.below:
        return None
    bound = promise.below[attribute]
    groups = {c: p.value for c, p in promise.where.items() if hasattr(p, "value")}
    if any(isinstance(v, dict) for v in like):
        return {**groups, "ts": bound}
    return None if promise.where else bound


def check_late(case: Case, run_: oop.Run, late: str) -> None:
    """Rows that broke a promise are all in ``Run.late``; those that no window took are counted."""
    broke = [row_of(case["steps"][i]) for i in case.get("violating_steps", ())]
    aside = [row for name in run_.late.sources for row in run_.late[name].to_pylist()]
    names = [n for n in (aside[0] if aside else {}) if n not in ("broke", "late_by")]
    if "violating_steps" in case:
        assert len(run_.late) == len(broke)
        assert same_rows(aside, broke, names, ordered=False)
    dropped = sum(b.late_unused for b in run_.metrics.boxes) if late == "admit" else len(run_.late)
    if "expect_dropped" in case:
        assert dropped == case["expect_dropped"]
    expected = case.get("expect_late")
    if isinstance(expected, int):
        assert len(run_.late) == expected
    elif expected is not None:
        rows = [r if isinstance(r, dict) else {"ts": r} for r in expected]
        rows = [row_of(r) if "row" in r else r for r in rows]
        assert same_rows(aside, rows, list(rows[0]) if rows else names, ordered=False)


# --- the ops


def run_window_agg(case: Case, *, batched: bool = False, **ways: Any) -> bool:
    """Aggregates of each window. A collected list is put together from a count by value."""
    params = case["params"]
    window, keys = _window(params["window"]), params.get("group_by", [])
    late = "admit" if "late:per_window" in case.get("assumes", ()) else "drop"

    def watched(by: list[str], **aggregates: Any) -> Watched:
        return watch(script, lambda s: s.window(window).group_by(*by).agg(**aggregates), late, **ways)

    script = Script(case, batched)
    numbers = {n: _aggregate(f, c) for f, c, n in params["aggs"] if f not in LISTS}
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


def _aggregate(function: str, column: str | None) -> Any:
    return AGGREGATES[function]() if column is None else AGGREGATES[function](column)


def _window(params: Row) -> Any:
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
    numbers = {n: _aggregate(f, c) for f, c, n in params["aggs"] if f not in LISTS}
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
    schema = _schema(rows, pa.int64())
    batches = [pa.RecordBatch.from_pylist(r, schema=schema) for r in ([rows] if batched else [[r] for r in rows])]
    source = oop.source(batches, time="ts", punctuate=oop.slack(rows=params["slack"], by=by))
    windowed = source.window(_window({**params, "type": "time"})).group_by(by)
    run_ = windowed.agg(**{n: _aggregate(f, c) for f, c, n in params["aggs"]}).run(engine=oop.Embedded(**ways))
    found = _started(run_.to_table().to_pylist())
    if case.get("complete_windows_only"):
        found = [r for r in found if r["end"] <= max(row["ts"] for row in rows)]
    check_rows(case, [], found)
    assert len(run_.late) == case.get("expect_dropped", 0)
    found, dropped = slack_agg(case, batched, **ways)  # as the paper writes it
    check_rows(case, [], found)
    assert dropped == case.get("expect_dropped", 0)


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
    table = source.window(_window(params)).agg(n=oop.count()).run(engine=oop.Embedded(**ways)).to_table()
    assert table.column("n").to_pylist() == [1] * table.num_rows
    ends = [table.column(n).combine_chunks() for n in ("window_start", "window_end")]
    assert [e.type for e in ends] == [type_, type_]
    numbers = [(e if _is_number(type_) else e.view(physical)).to_pylist() for e in ends]
    return sorted(zip(*numbers, strict=True))


def _is_number(type_: pa.DataType) -> bool:
    return pa.types.is_integer(type_) or pa.types.is_floating(type_)


def run_dedup(case: Case, *, batched: bool = False, **ways: Any) -> bool:
    """``keys`` (none: all columns), ``within`` and ``keep`` as `Stream.dedup` has them."""
    params = case["params"]
    options = {name: params[name] for name in ("within", "keep") if params.get(name) is not None}
    return _run_waiting(case, lambda s: s.dedup(*params.get("keys", ()), **options), batched, **ways)


def run_sort(case: Case, *, batched: bool = False, **ways: Any) -> bool:
    """``by`` is the time, or a list of it and the columns that break ties."""
    by = case["params"].get("by", "ts")
    time, *ties = [by] if isinstance(by, str) else by
    return _run_waiting(case, lambda s: s.sort(*ties, on=time), batched, **ways)


def _run_waiting(case: Case, build: Callable[[oop.Stream], oop.Stream], batched: bool, **ways: Any) -> bool:
    script = Script(case, batched)
    watched = watch(script, build, "drop", **ways)
    check_late(case, watched.run, "drop")
    check_promises(case, script, watched, ("ts",))
    return check_rows(case, watched.rows, watched.all_rows)


def run_union(case: Case, *, batched: bool = False, **ways: Any) -> bool:
    """By the operator itself, and through the engine."""
    script = Script(case, batched)
    assert list(script.schemas) == case["params"]["inputs"], "a stream that is no input"
    streams = list(script.schemas)
    union = Union(len(streams)).start(Context(list(script.schemas.values())))
    rows: list[Row] = []
    taken = 0
    watched = Watched(None, [], rows, {}, [])  # type: ignore[arg-type]
    for at, (stream, element) in enumerate(script.events):
        if stream is None:
            if "expect" in element:
                watched.rows.append(rows[taken:])
                taken = len(rows)
            watched.promises[at] = list(watched.seen)
            continue
        is_promise = isinstance(element, oop.Punctuation)
        port = streams.index(stream)
        for out in union.process_punctuation((element,), port) if is_promise else union.process_batch(element, port):
            if isinstance(out, oop.Punctuation):
                watched.seen.append(out)
            else:
                rows += out.to_pylist()
    exact = check_rows(case, watched.rows, rows)
    check_promises(case, script, watched, ("ts",))
    if case.get("violating_steps"):
        return exact
    engine = watch(script, lambda s: s, "drop", **ways)
    check_promises(case, script, engine, ("ts",))
    return check_rows(case, engine.rows, engine.all_rows) and exact


def run_union_bag(case: Case, *, batched: bool = False, settle: int = 0, **ways: Any) -> None:
    """One source read several times by one union; the arrival number is the time."""
    rows = [{**s["row"], "__arrival": i} for i, s in enumerate(s for s in case["steps"] if "in" in s)]
    names = list(rows[0])
    whole = pa.Table.from_pylist(rows)
    batches = [whole] if batched else [whole.slice(i, 1) for i in range(len(rows))]
    source = oop.source(batches, time="__arrival", punctuate=oop.ordered())
    copies = oop.union(*[source] * case["params"]["copies"]).select(*names[:-1])
    found = copies.run(engine=oop.Embedded(**ways)).to_table().to_pylist()
    expected = [row for step in case["steps"] for row in step.get("expect", ())]
    assert same_rows(found, expected or case["expect_final"], names[:-1], case.get("ordered", False))


def run_traversal(case: Case, **ways: Any) -> None:
    """A plan with the case's shape: in which order does Min-Cost call its boxes?"""
    inputs: dict[str, list[str]] = defaultdict(list)
    for box, consumer in case["params"]["downstream"].items():
        inputs[consumer].append(box)
    (root,) = inputs.keys() - case["params"]["downstream"].keys()
    table = pa.table({"ts": [1]})
    names: dict[int, str] = {}

    def build(box: str) -> oop.Stream:
        feeding = [build(b) for b in inputs[box]]
        if not feeding:
            made = oop.source(table, time="ts", punctuate=oop.ordered(), name=box)
        elif len(feeding) == 1:
            made = feeding[0].filter(oop.col("ts") > 0)
        else:
            made = oop.union(*feeding)
        names[id(made.flow.node)] = box
        return made

    plan = build(root)
    called: list[str] = []

    class Recording(oop.MinCost):
        def turn(self, boxes: Any) -> Iterator[Any]:
            for box, rows in super().turn(boxes):
                if len(called) < len(boxes):
                    called.append(names[id(box.node)])
                yield box, rows

    plan.run(engine=oop.Embedded(scheduler=Recording())).to_table()
    assert called == case["expect_final"]


def run_partition_row_avg(case: Case, *, batched: bool = False, settle: int = 0, **ways: Any) -> None:
    """The average of the last rows of each partition, after every row: windows that end behind it."""
    params = case["params"]
    function, column = params["agg"]
    window = oop.rows(params["range"], every=1, by=params["group_by"])
    _check_changes(case, lambda s: s.window(window).agg(new=_aggregate(function, column)), None)


def run_partition_landmark_max(case: Case, *, batched: bool = False, settle: int = 0, **ways: Any) -> None:
    """The maximum since the beginning, whenever it changes: one window without an end, and its results so far."""
    params = case["params"]
    function, column = params["agg"]

    def plan(s: oop.Stream) -> oop.Stream:
        groups = s.window(oop.landmark(0), on="__arrival").group_by(*params["group_by"])
        return groups.agg(new=_aggregate(function, column)).emit("on_change")

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
