"""Random punctuated streams, and the plain-Python model of what a pipeline must answer."""

from __future__ import annotations

import math
import os
import random
from collections import defaultdict
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

import oop
from oop.operators.core.operator import Element
from oop.operators.functions.function import Function
from oop.operators.functions.registry import functions

CASES = int(os.environ.get("OOP_FUZZ_CASES", "100"))
"""The number of seeds for each law; `make slow` tries more."""
TOGETHER = CASES // 5
"""The number of seeds for plans of several operators, each of which also has laws of its own."""

TIMES = {
    "int64": pa.int64(),
    "int32": pa.int32(),
    "float64": pa.float64(),
    "timestamp": pa.timestamp("ms"),
    "zoned": pa.timestamp("us", tz="Europe/Berlin"),
    "date": pa.date32(),
}
LINKS = ["A", "B", "C", None]


def schema_of(time: pa.DataType, right: bool = False) -> pa.Schema:
    return pa.schema(
        [
            ("ts", time),
            *([("ts_right", time)] if right else []),
            ("link", pa.string()),
            ("k", pa.int64()),
            ("v", pa.int64()),
            ("x", pa.float64()),
        ]
    )


def random_stream(
    rng: random.Random, time: pa.DataType, *, late: bool = True, grouped: bool = True, right: bool = False
) -> list[Element]:
    """Up to thirty rows around a moving low-water mark, with promises of several kinds; some rows break them.

    With ``right`` rows have two times, like the rows of a join, and promises are about either time or about both
    together.
    """
    schema = schema_of(time, right)
    floats = pa.types.is_floating(time)
    low = rng.randint(-40, 20)
    out: list[Element] = []
    rows: list[dict[str, Any]] = []
    frontier = oop.Frontier()

    def flush() -> None:
        if rows:
            out.append(batch(rows, schema))
            rows.clear()

    for _ in range(rng.randint(0, 30)):
        low += rng.choice([0, 0, 1, 2, 7])
        ts = low + rng.randint(0, 12)
        if late and rng.random() < 0.1:
            ts -= rng.randint(1, 30)
        row = {
            "ts": ts + rng.choice([0.0, 0.25, 0.5]) if floats else ts,
            "link": rng.choice(LINKS),
            "ts_right": None
            if not right or rng.random() < 0.1
            else (float if floats else int)(ts + rng.randint(-6, 6)),
            "k": rng.choice([1, 2, None]),
            "v": rng.choice([None, -3, 0, 5, 2**62]),
            "x": rng.choice([None, 1.5, -2.0, 0.25]),
        }
        if late or not frontier.covers_row(row):
            rows.append(row)
        if rng.random() < 0.25:
            flush()
            bound = float(low) if floats else low
            where: dict[str, Any] = {}
            if grouped and rng.random() < 0.5:
                where = {"link": rng.choice([*LINKS, oop.not_in("A"), oop.not_in("B", None)])}
                bound += rng.randint(0, 9)
                if rng.random() < 0.2:  # a promise over two group columns
                    where["k"] = rng.choice([1, 2, None, oop.not_in(1)])
            if grouped and rng.random() < 0.25:
                promise = some_list_or_range(rng, bound, right)
                frontier.advance(promise)
                out.append(promise)
                continue
            below = {} if where and rng.random() < 0.05 else {"ts": bound}
            if right and below:
                other = bound + rng.randint(-9, 4)
                below = rng.choice([below, {"ts_right": other}, {"ts": bound + rng.randint(0, 5), "ts_right": other}])
            promise = oop.Punctuation(below, where)
            frontier.advance(promise)
            out.append(promise)
            if (
                right and where and below and rng.random() < 0.5
            ):  # of all other groups as well: together they say it of all rows
                named = [w for w in LINKS if where["link"] == w]
                out.append(oop.Punctuation(below, {**where, "link": oop.not_in(*named)} if named else {}))
                frontier.advance(out[-1])
    flush()
    if not any(isinstance(e, pa.RecordBatch) for e in out):
        out.insert(0, batch([], schema))
    return out


def cut_rows(rng: random.Random, elements: list[Element]) -> list[pa.RecordBatch]:
    """The rows without the promises; every second stream has one row in each batch."""
    batches = [e for e in elements if not isinstance(e, oop.Punctuation)]
    if rng.random() < 0.5:
        return batches
    return [b.slice(i, 1) for b in batches for i in range(b.num_rows)] or batches


GROUP_COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), ["A", "B", "", None]),
    "coded": (pa.dictionary(pa.int8(), pa.string()), ["A", "B", None]),
    "whole": (pa.int16(), [1, 2, None]),
    "real": (pa.float64(), [0.5, 0.0, -0.0, math.nan, None]),
    "price": (pa.decimal128(9, 2), [Decimal("1.50"), Decimal("2.00"), None]),
    "day": (pa.date32(), [date(2008, 8, 24), date(2008, 8, 25), None]),
    "flag": (pa.bool_(), [True, False, None]),
    "many": (pa.int64(), list(range(40))),
}
"""Columns that name groups: a few values of each type, among them values that are easily confused."""


def grouped_rows(rng: random.Random, time: pa.DataType) -> tuple[list[dict[str, Any]], pa.Schema, list[str]]:
    """Rows whose times advance, though some are behind, with groups of one, two or three columns; ``v`` is the row's
    number.

    Times are physical: numbers in the time column's unit.
    """
    columns = rng.sample(list(GROUP_COLUMNS), rng.choice([1, 2, 2, 3]))
    rows = []
    for v in range(rng.randint(1, 40)):
        ts = v // 2 + rng.randint(-8, 4)
        values = {c: rng.choice(GROUP_COLUMNS[c][1]) for c in columns}
        rows.append({"ts": ts / 2 if pa.types.is_floating(time) else ts, **values, "v": v})
    return rows, pa.schema([("ts", time), *((c, GROUP_COLUMNS[c][0]) for c in columns), ("v", pa.int64())]), columns


def from_key(group: tuple[Any, ...]) -> Any:
    """A group of the model as a user writes it: a tuple, or the value itself if there is one column."""
    values = tuple(math.nan if value == "NaN" else value for value in group)
    return values if len(values) > 1 else values[0]


def some_list_or_range(rng: random.Random, bound: float, right: bool) -> oop.Punctuation:
    """A promise about several groups at once, or about a range of an attribute, with or without a bound on the time."""
    below: dict[str, Any] = {"ts": bound + rng.randint(0, 9)} if rng.random() < 0.8 else {}
    where: dict[str, Any] = {}
    above: dict[str, Any] = {}
    kind = rng.choice(
        ["links", "ks", "links and ks", "range of k", "range of k", "range of v", "range of x", "range of ts"]
    )
    if "links" in kind:
        where["link"] = rng.choice([["A", "B"], ["C", None], LINKS])
    if "ks" in kind:
        where["k"] = rng.choice([[1, 2], [2, None]])
    if kind == "range of k":
        above, below = rng.choice([({"k": 1}, below), ({"k": 2}, below), ({"k": 1}, {**below, "k": 2})])
        if rng.random() < 0.3:
            where["link"] = rng.choice(["A", ["A", "B"], oop.not_in("A")])
    if kind == "range of v":
        above, below = rng.choice([({"v": 0}, {**below, "v": 6}), ({"v": 5}, below), ({"v": -3}, {**below, "v": 0})])
    if kind == "range of x":
        above, below = {"x": -2.0}, {**below, "x": rng.choice([0.25, 1.0])}
    if kind == "range of ts":
        start = bound + rng.choice([-6, -3, 0, 2])
        above, below = {"ts": start}, {"ts": start + rng.choice([1, 4, 8])}
        if rng.random() < 0.4:
            where["link"] = rng.choice(["A", None, ["A", "B"]])
    if right and below and rng.random() < 0.4:
        below = {**below, "ts_right": bound + rng.randint(-9, 4)}
    return oop.Punctuation(below, where, above)


def batch(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    columns = []
    for field in schema:
        values = [r[field.name] for r in rows]
        if pa.types.is_temporal(field.type) and not any(isinstance(v, date) for v in values):
            numbers = pa.array(values, pa.int32() if field.type.bit_width == 32 else pa.int64())
            columns.append(numbers.cast(field.type))
        else:
            columns.append(pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def on_time(elements: list[Element]) -> list[dict[str, Any]]:
    """The rows that break no promise made before them, with physical times."""
    promises: list[oop.Punctuation] = []
    kept = []
    for element in elements:
        if isinstance(element, oop.Punctuation):
            promises.append(element)
            continue
        for row in physical_rows(element):
            if not any(p.matches(row) for p in promises):
                kept.append(row)
    return kept


def with_admitted(
    elements: list[Element], keys: list[str], range_: Any, slide: Any, offset: Any
) -> list[tuple[dict[str, Any], int]]:
    """Rows with the windows in which they count. A late row counts only if its group's window has not gone out."""
    given = oop.Frontier()
    found = []
    for element in elements:
        if isinstance(element, oop.Punctuation):
            given.advance(element)
            continue
        for row in physical_rows(element):
            least = None
            if given.covers_row(row):
                bound = given.bound("ts", {k: row[k] for k in keys})
                least = math.inf if bound == math.inf else bound
            for w in windows_of(row["ts"], range_, slide, offset):
                if least is None or end_of(w, range_, slide, offset) > least:
                    found.append((row, w))
    return found


def placed(rows: list[dict[str, Any]], range_: Any, slide: Any, offset: Any) -> list[tuple[dict[str, Any], int]]:
    """Pairs of a row and one of its windows."""
    return [(row, w) for row in rows for w in windows_of(row["ts"], range_, slide, offset)]


def physical_rows(element: pa.RecordBatch) -> list[dict[str, Any]]:
    return with_numbers(element).to_pylist()


def with_numbers(element: pa.RecordBatch) -> pa.RecordBatch:
    columns = [
        c.cast(pa.int64() if c.type.bit_width == 64 else pa.int32()) if pa.types.is_temporal(c.type) else c
        for c in element.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=element.schema.names)


def typed(rows: list[dict[str, Any]], schema: pa.Schema) -> list[dict[str, Any]]:
    """Rows with physical times, as rows with the values that columns of the schema give back."""
    return batch(rows, schema).to_pylist() if rows else []


def windows_of(ts: Any, range_: Any, slide: Any, offset: Any) -> list[int]:
    """The windows by definition: every w with offset + w·slide <= ts < offset + w·slide + range, literally."""
    guess = math.floor((Fraction(ts) - Fraction(offset)) / Fraction(slide))
    span = math.ceil(Fraction(range_) / Fraction(slide)) + 2
    return [w for w in range(guess - span, guess + 3) if offset + w * slide <= ts < end_of(w, range_, slide, offset)]


def end_of(w: int, range_: Any, slide: Any, offset: Any) -> Any:
    """The end of a window. A tumbling window ends where the next one begins, also with floats."""
    return offset + (w + 1) * slide if range_ == slide else offset + w * slide + range_


def aggregates(rows: list[dict[str, Any]], wanted: dict[str, Any]) -> dict[str, Any]:
    """The expected aggregates: count, sum, min, max, mean and var as in SQL; first and last, distinct values,
    quantiles, lists."""
    v = [r["v"] for r in rows if r["v"] is not None]
    x = [r["x"] for r in rows if r["x"] is not None]
    mean = sum(x) / len(x) if x else None
    found = {
        "n": len(rows),
        "nv": len(v),
        "lo": min(v, default=None),
        "hi": max(v, default=None),
        "first": min((r["link"] for r in rows if r["link"] is not None), default=None),
        "last": max((r["link"] for r in rows if r["link"] is not None), default=None),
        "mean": float(Fraction(sum(v), len(v))) if v else None,
        "sx": sum(x) if x else None,
        "var": sum((a - mean) ** 2 for a in x) / (len(x) - 1) if mean is not None and len(x) > 1 else None,
        "fv": at_end(rows, "v", min),
        "ll": at_end(rows, "link", max),
        "lx": at_end(rows, "x", max),
        "dv": len(set(v)),
        "dl": len({r["link"] for r in rows} - {None}),
        "med": quantile(v, "0.5"),
        "q": [quantile(x, "0"), quantile(x, "0.3"), quantile(x, "1")] if x else None,
        "top": sorted(v, reverse=True)[:2] or None,
        "tops": [r["link"] for r in sorted(both(rows, "link", "x"), key=by("x", "link"), reverse=True)[:2]] or None,
        "all": [r["v"] for r in sorted(both(rows, "v", "ts"), key=by("ts", "v"))[:4]] or None,
    }
    return {n: found[n] if n in found else at_once(function, rows) for n, function in wanted.items()}


def at_once(function: Function, rows: list[dict[str, Any]]) -> Any:
    """The result of a function of ``x`` for all rows in one update. The function's own test checks whether it is
    right."""
    given = pa.record_batch({"x": pa.array([r["x"] for r in rows], pa.float64())})
    found = function.start(given.schema)
    found.grow(1)
    found.update(np.zeros(len(rows), np.int64), found.prepare(function.evaluate(given)))
    return found.result()[0].as_py()


def at_end(rows: list[dict[str, Any]], name: str, choose: Any) -> Any:
    """The value at the first or last time; in a tie the least or greatest, and null only if there is no other value."""
    end = choose((r["ts"] for r in rows), default=None)
    return choose((r[name] for r in rows if r["ts"] == end and r[name] is not None), default=None)


def quantile(values: list[Any], q: str) -> float | None:
    """The least value that at least a share q of the values does not exceed."""
    fit = [a for a in values if Fraction(sum(b <= a for b in values), len(values)) >= Fraction(q)]
    return float(min(fit)) if fit else None


def both(rows: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    return [r for r in rows if all(r[n] is not None for n in names)]


def by(*names: str) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    return lambda row: tuple(row[n] for n in names)


def some_aggregates(rng: random.Random) -> dict[str, Any]:
    """One to three aggregates, since it must not matter which ones run side by side."""
    return {n: AGGREGATES[n] for n in rng.sample(list(AGGREGATES), rng.randint(1, 3))}


AGGREGATES = {
    "n": oop.count(),
    "nv": oop.count("v"),
    "lo": oop.min("v"),
    "hi": oop.max("v"),
    "first": oop.min("link"),
    "last": oop.max("link"),
    "mean": oop.mean("v"),
    "sx": oop.sum("x"),
    "var": oop.var("x"),
    "fv": oop.first("v"),
    "ll": oop.last("link"),
    "lx": oop.last("x"),
    "dv": oop.count_distinct("v"),
    "dl": oop.count_distinct("link"),
    "med": oop.median("v"),
    "q": oop.quantile("x", [0, 0.3, 1]),
    "top": oop.top("v", 2),
    "tops": oop.top("link", 2, by="x"),
    "all": oop.collect("v", 4),
}
# Functions without an expected answer above are tried too, against their result for all rows in one update.
_ANSWERED = {type(function) for function in AGGREGATES.values()}
AGGREGATES |= {
    str(example): example
    for function in functions().values()
    if function not in _ANSWERED and not function.keeps_account
    for example in function.examples()
    if example.columns() <= {"x"}
}


def window_rows(
    placed: list[tuple[dict[str, Any], int]],
    keys: list[str],
    range_: Any,
    slide: Any,
    offset: Any,
    time: pa.DataType,
    wanted: dict[str, Any],
) -> list[dict[str, Any]]:
    """The expected result rows for rows that have been placed in windows."""
    groups: dict[tuple, list[dict[str, Any]]] = defaultdict(list)
    for row, w in placed:
        groups[(w, *(row[k] for k in keys))].append(row)
    out = []
    for (w, *values), members in groups.items():
        start = offset + w * slide
        times = pa.record_batch({"window_start": [start], "window_end": [end_of(w, range_, slide, offset)]})
        if pa.types.is_temporal(time):
            width = pa.int32() if time.bit_width == 32 else pa.int64()
            arrays = [pa.array(c.to_pylist(), width).cast(time) for c in times.columns]
            times = pa.RecordBatch.from_arrays(arrays, names=times.schema.names)
        out.append({**times.to_pylist()[0], **dict(zip(keys, values, strict=True)), **aggregates(members, wanted)})
    return out
