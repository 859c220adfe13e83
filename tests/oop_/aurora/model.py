"""Aurora's definitions, as plainly as they are printed (Aurora paper, section 5.2.2): what the operators are held
to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

Row = dict[str, Any]


def is_number(value: Any) -> bool:
    """Has it a place in an order? Null, NaN and infinity have none."""
    return value is not None and value == value and abs(value) != float("inf")


def in_order(rows: Iterable[Row], on: str, slack: int, by: Sequence[str] = ()) -> tuple[list[Row], list[Row]]:
    """The rows that are in order, and the others: "a tuple, t, is out of order by n wrt A in S if there are more than n
    tuples, u, preceding t in S such that u.A > t.A"; within its partition, if there are any."""
    before: dict[tuple[Any, ...], list[Any]] = {}
    kept, others = [], []
    for row in rows:
        if not is_number(row[on]):
            others.append(row)
            continue
        partition = before.setdefault(tuple(row[name] for name in by), [])
        greater = sum(value > row[on] for value in partition)
        (others if greater > slack else kept).append(row)
        partition.append(row[on])
    return kept, others


def bubble_sorted(rows: Sequence[Row], on: str, passes: int, by: Sequence[str] = ()) -> list[Row]:
    """So many passes of a bubble sort over each partition, one partition after the other."""
    partitions: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if is_number(row[on]):
            partitions.setdefault(tuple(row[name] for name in by), []).append(row)
    out: list[Row] = []
    for partition in partitions.values():
        for _ in range(passes):
            for i in range(len(partition) - 1):
                if partition[i][on] > partition[i + 1][on]:
                    partition[i], partition[i + 1] = partition[i + 1], partition[i]
        out += partition
    return out


def windows(rows: Iterable[Row], on: str, size: Any, advance: Any, by: Sequence[str] = ()) -> dict[Any, list[Row]]:
    """The rows of each window: (a, the groups' values)."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        wid = row[on] // advance
        while wid * advance + size > row[on]:
            found.setdefault((wid * advance, *(row[name] for name in by)), []).append(row)
            wid -= 1
    return found


def batches(rows: Sequence[Row], schema: pa.Schema, sizes: Iterable[int]) -> list[pa.RecordBatch]:
    """The rows in batches of these sizes; what is left is one more."""
    found, start = [], 0
    for size in [*sizes, len(rows)]:
        piece = rows[start : start + size]
        if piece:
            found.append(pa.RecordBatch.from_pylist(list(piece), schema=schema))
        start += size
    return found or [pa.RecordBatch.from_pylist([], schema=schema)]
