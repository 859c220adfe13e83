"""What came out of a run is compared with what a case expects: rows, promises, late rows."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import oop
from tests.vectors.script import Case, Row, Script, row_of
from tests.vectors.watching import Watched


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
