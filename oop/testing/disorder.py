"""The disorder fuzzer gives the same stream with its rows permuted within its promises and its batches cut anew.

A row may overtake promises freely. It may fall behind a promise only if it does not match that promise. A row that was
late stays late. So every answer must stay the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

import pyarrow as pa

from oop.operators.core.group_values import of_column
from oop.operators.core.operator import Element
from oop.operators.source.carried import normalise
from oop.punctuation import Punctuation
from oop.punctuation.group_promises import one_by_one


def disorder(elements: Iterable[Element], seed: int, *, largest: int = 7) -> list[Element]:
    """Rows permuted within the promises, cut into batches of at most ``largest`` rows, some of them empty.

    >>> from oop.testing import elements
    >>> table = elements('''
    ...     ts
    ...     1
    ...     2
    ...     -- ts < 2
    ...     3
    ... ''')
    >>> [e.to_pydict() if isinstance(e, pa.RecordBatch) else e for e in disorder(table, seed=4)]
    [{'ts': [1, 3]}, Punctuation(ts < 2), {'ts': [2]}]
    """
    rng = random.Random(seed)
    rows, promises, places = _parse(elements)
    covering = _covering(rows, promises)
    spans: list[list[int]] = [[] for _ in range(len(promises) + 1)]
    for row, place in enumerate(places):
        first = covering[row]
        if place <= first:  # the row is on time, so it may go anywhere before the promise that covers it
            spans[rng.randint(0, first)].append(row)
        else:
            spans[rng.randint(first + 1, len(promises))].append(row)
    out: list[Element] = []
    for i, span in enumerate(spans):
        rng.shuffle(span)
        out += _cut(rows, span, rng, largest)
        if i < len(promises):
            out.append(promises[i])
            if rng.random() < 0.1 and not promises[i].is_end:
                out.append(promises[i])  # a repeated promise must change nothing
    return out


def resplit(elements: Iterable[Element], seed: int, *, largest: int = 7) -> list[Element]:
    """The same rows and promises in the same order, in other batches.

    >>> batch = pa.record_batch({"ts": list(range(100))})
    >>> sum(b.num_rows for b in resplit([batch], seed=1))
    100
    """
    rng = random.Random(seed)
    rows, promises, places = _parse(elements)
    out: list[Element] = []
    for i in range(len(promises) + 1):
        out += _cut(rows, [row for row, place in enumerate(places) if place == i], rng, largest)
        if i < len(promises):
            out.append(promises[i])
    return out


def _parse(elements: Iterable[Element]) -> tuple[pa.RecordBatch | None, list[Punctuation], list[int]]:
    """All rows as one batch, the promises, and how many promises came before each row."""
    batches: list[pa.RecordBatch] = []
    promises: list[Punctuation] = []
    places: list[int] = []
    for element in elements:
        if isinstance(element, pa.RecordBatch):
            batches.append(element)
            places += [len(promises)] * element.num_rows
        else:
            promises += one_by_one((element,))
    return pa.concat_batches(batches) if batches else None, promises, places


def _covering(rows: pa.RecordBatch | None, promises: list[Punctuation]) -> list[int]:
    """For each row the place of the first promise that covers it, or the number of promises if none does.

    A bound, also that of a range, is a number in the column's own unit. A group is a value as the column gives it. So a
    column of dates is read in both ways.
    """
    if rows is None:
        return []
    said = [normalise(p, rows.schema) for p in promises]
    numbers = {a: _numbers(rows.column(a)) for a in {a for p in said for a in (*p.below, *p.above)}}
    groups = {c: of_column(rows.column(c)) for c in {c for p in said for c in p.where.keys() - p.above.keys()}}

    def matches(promise: Punctuation, row: int) -> bool:
        bounded = {a: numbers[a][row] for a in (*promise.below, *promise.above)}
        return promise.matches({c: groups[c][row] for c in promise.where.keys() - promise.above.keys()} | bounded)

    return [
        next((i for i, promise in enumerate(said) if matches(promise, row)), len(said)) for row in range(rows.num_rows)
    ]


def _numbers(column: pa.Array) -> list[int | float | None]:
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int64() if column.type.bit_width == 64 else pa.int32())
    return column.to_pylist()


def _cut(rows: pa.RecordBatch | None, chosen: list[int], rng: random.Random, largest: int) -> list[Element]:
    out: list[Element] = []
    if rows is None:
        return out
    at = 0
    while at < len(chosen):
        size = rng.randint(0, largest)  # an empty batch now and then
        out.append(rows.take(pa.array(chosen[at : at + size], pa.int64())))
        at += size
    return out
