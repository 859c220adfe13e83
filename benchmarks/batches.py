"""What do small batches and frequent promises cost? Count by (src, dst) per window of 1 s, with batches of 64 k and of
1,000 rows, and a promise after every 64 k, 1,000 and 7 rows, made by policy, or exact and carried by the data.

    python benchmarks/batches.py --full
"""

from typing import Any

from _harness import Case, Contender, Ratio, Target, at_least, compare, options
from _workload import BATCH_ROWS, Workload

FEWER = 8  # the cases with a promise after every 7 rows have this many times fewer rows


def pair(name: str, rows: int, target: Target, large: dict[str, Any], small: dict[str, Any]) -> Case:
    """One way against another on the same rows; each is named after its batches and promises."""
    workload = Workload(rows)
    contenders = {_title(way): Contender(workload, way) for way in (large, small)}
    first, second = contenders
    return Case(name, contenders, [Ratio(second, first, target)])


def _title(way: dict[str, Any]) -> str:
    batches = f"batches of {way.get('batch_rows', BATCH_ROWS):,}"
    if "promise_rows" in way:
        return f"{batches}, a promise every {way['promise_rows']:,} rows"
    return f"{batches}, a promise every {way.get('every', '100ms')}"


def cases(rows: int) -> list[Case]:
    # a second of stream has a million rows, so every microsecond has one
    carried = {"promise_rows": BATCH_ROWS}
    policy = {"every": f"{BATCH_ROWS}us"}
    return [
        pair("small batches", rows, at_least(0.3), {}, {"batch_rows": 1_000}),
        pair("small batches, carried promises", rows, at_least(0.3), carried, {**carried, "batch_rows": 1_000}),
        pair("a promise every 1,000 rows, by policy", rows, at_least(0.3), policy, {"every": "1000us"}),
        pair(
            "a promise every 1,000 rows, carried",
            rows,
            at_least(0.3),
            carried,
            {"batch_rows": 1_000, "promise_rows": 1_000},
        ),
        pair("a promise every 7 rows, by policy", rows // FEWER, at_least(0.1), policy, {"every": "7us"}),
        pair(
            "a promise every 7 rows, carried",
            rows // FEWER,
            at_least(0.1),
            carried,
            {"batch_rows": 7, "promise_rows": 7},
        ),
    ]


if __name__ == "__main__":
    chosen = options(__doc__ or "", rows=500_000, repeat=1)
    compare("batches", chosen, cases(chosen.rows))
