"""The disorder fuzzer: the same stream, its rows permuted within its promises and its batches cut anew.

A row may overtake promises freely; it may fall behind a promise only if it does not match it. A row that was late stays
late. So every answer must stay the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

import pyarrow as pa

from oop.operators.base import Element
from oop.punctuation import Punctuation


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
    rows, promises, places, schema = _parse(elements)
    spans: list[list[dict]] = [[] for _ in range(len(promises) + 1)]
    for row, place in zip(rows, places, strict=True):
        covering = next((i for i, p in enumerate(promises) if p.matches(row)), len(promises))
        if place <= covering:  # on time: anywhere before the promise that covers it
            spans[rng.randint(0, covering)].append(row)
        else:
            spans[rng.randint(covering + 1, len(promises))].append(row)
    out: list[Element] = []
    for i, span in enumerate(spans):
        rng.shuffle(span)
        out += _cut(span, schema, rng, largest)
        if i < len(promises):
            out.append(promises[i])
            if rng.random() < 0.1 and not promises[i].is_end:
                out.append(promises[i])  # said twice: must change nothing
    return out


def resplit(elements: Iterable[Element], seed: int, *, largest: int = 7) -> list[Element]:
    """The same rows and promises in the same order, in other batches.

    >>> batch = pa.record_batch({"ts": list(range(100))})
    >>> sum(b.num_rows for b in resplit([batch], seed=1))
    100
    """
    rng = random.Random(seed)
    rows, promises, places, schema = _parse(elements)
    out: list[Element] = []
    for i in range(len(promises) + 1):
        out += _cut([r for r, p in zip(rows, places, strict=True) if p == i], schema, rng, largest)
        if i < len(promises):
            out.append(promises[i])
    return out


def _parse(elements: Iterable[Element]) -> tuple[list[dict], list[Punctuation], list[int], pa.Schema | None]:
    """Rows, promises, and how many promises came before each row."""
    rows: list[dict] = []
    promises: list[Punctuation] = []
    places: list[int] = []
    schema = None
    for element in elements:
        if isinstance(element, Punctuation):
            promises.append(element)
        else:
            schema = element.schema
            new = _physical_rows(element)
            rows += new
            places += [len(promises)] * len(new)
    return rows, promises, places, schema


def _physical_rows(batch: pa.RecordBatch) -> list[dict]:
    """Rows with times as numbers, so that promises, whose bounds are physical, can be matched against them."""
    columns = [_numbers(c) if pa.types.is_temporal(c.type) else c for c in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names).to_pylist()


def _numbers(column: pa.Array) -> pa.Array:
    return column.cast(pa.int64() if column.type.bit_width == 64 else pa.int32())


def _cut(rows: list[dict], schema: pa.Schema | None, rng: random.Random, largest: int) -> list[Element]:
    out: list[Element] = []
    if schema is None:
        return out
    at = 0
    while at < len(rows):
        size = rng.randint(0, largest)  # an empty batch now and then
        out.append(_batch(rows[at : at + size], schema))
        at += size
    return out


def _batch(rows: list[dict], schema: pa.Schema) -> pa.RecordBatch:
    arrays = []
    for field in schema:
        values = [r[field.name] for r in rows]
        if pa.types.is_temporal(field.type):
            width = pa.int64() if field.type.bit_width == 64 else pa.int32()
            arrays.append(pa.array(values, width).cast(field.type))
        else:
            arrays.append(pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
