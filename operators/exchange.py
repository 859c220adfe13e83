"""Exchange: rows parted by key, for operators whose groups are spread over several workers.

The hash is fixed, so that the same key goes to the same shard in every run and on every machine. Several batches in a
row are parted in one go: what a shard is given is one batch, without a further copy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import dispatch, views
from oop.kernels.scratch import new_array


def part_batches(batches: Sequence[pa.RecordBatch], columns: Sequence[str], shards: int) -> list[pa.RecordBatch]:
    """For each shard the rows of all batches whose key in these columns belongs to it, in order.

    >>> batch = pa.record_batch({"k": [1, 2, 3, 1], "v": [5, 6, 7, 8]})
    >>> [part.to_pydict() for part in part_batches([batch], ["k"], 2)]
    [{'k': [2], 'v': [6]}, {'k': [1, 3, 1], 'v': [5, 7, 8]}]
    """
    kernels = dispatch.kernels()
    schema = batches[0].schema
    rows = sum(batch.num_rows for batch in batches)
    values = [[views.fixed_values(column) for column in batch.columns] for batch in batches]
    fixed = [i for i in range(len(schema)) if all(found[i] is not None for found in values)]
    outs = [np.split(new_array(rows * shards, values[0][i].dtype), shards) for i in fixed]  # type: ignore[union-attr]
    ends = np.zeros(shards, np.int64)
    for batch, found in zip(batches, values, strict=True):
        kernels.exchange_rows(_keys(batch, columns), [found[i] for i in fixed], outs, ends)
    parts: list[dict[int, pa.Array]] = [{} for _ in range(shards)]
    for i, column in zip(fixed, outs, strict=True):
        for part, out, end in zip(parts, column, ends.tolist(), strict=True):
            part[i] = pa.Array.from_buffers(schema.field(i).type, end, [None, pa.py_buffer(out)])
    others = [i for i in range(len(schema)) if i not in fixed]
    if others:
        _part_others(batches, columns, others, parts)
    return [pa.RecordBatch.from_arrays([part[i] for i in range(len(schema))], schema=schema) for part in parts]


def _keys(batch: pa.RecordBatch, columns: Sequence[str]) -> list[views.Column]:
    return [views.key_column(batch.column(c)) for c in columns]


def _part_others(
    batches: Sequence[pa.RecordBatch], columns: Sequence[str], others: Sequence[int], parts: list[dict[int, pa.Array]]
) -> None:
    """Columns with nulls or of variable width go Arrow's own way."""
    taken: list[dict[int, list[pa.Array]]] = [{i: [] for i in others} for _ in parts]
    for batch in batches:
        shard = dispatch.kernels().hash_partition(_keys(batch, columns), len(parts), batch.num_rows)
        for s, pieces in enumerate(taken):
            rows = pa.array(np.flatnonzero(shard == s))
            for i in others:
                pieces[i].append(batch.column(i).take(rows))
    for part, pieces in zip(parts, taken, strict=True):
        for i in others:
            part[i] = pa.concat_arrays(pieces[i]) if len(batches) > 1 else pieces[i][0]
