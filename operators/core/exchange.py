"""Exchange: rows parted by key, for operators whose groups are spread over several workers.

The hash is fixed, so that the same key goes to the same shard in every run and on every machine. Consecutive batches
are parted together, so that each shard is given one batch without a further copy. Text keys go as dictionary columns:
they are hashed and compared here, once, and the shards see only which values there are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from oop.kernels import dispatch, views
from oop.kernels.checks import ShardFull
from oop.kernels.scratch import new_array
from oop.kernels.steps import HASHES
from oop.kernels.views import Column
from oop.operators.core.keys import CODE, Coded, encode_text


def part_batches(batches: Sequence[pa.RecordBatch], columns: Sequence[str], shards: int) -> list[pa.RecordBatch]:
    """For each shard the rows of all batches whose key in these columns belongs to it, in order.

    >>> batch = pa.record_batch({"k": [1, 2, 3, 1], "v": [5, 6, 7, 8]})
    >>> [rows.to_pydict() for rows in part_batches([batch], ["k"], 2)]
    [{'k': [2], 'v': [6]}, {'k': [1, 3, 1], 'v': [5, 7, 8]}]
    """
    kernels = dispatch.kernels()
    schema = batches[0].schema
    coded = {
        name: encode_text([batch.column(name) for batch in batches])
        for name in columns
        if _is_text(views.value_type(schema.field(name).type))
    }
    rows = sum(batch.num_rows for batch in batches)
    values = [
        [coded[n][b].codes if n in coded else views.fixed_values(batch.column(n)) for n in schema.names]
        for b, batch in enumerate(batches)
    ]
    fixed = [i for i in range(len(schema)) if all(found[i] is not None for found in values)]
    hashes = {name: kernels.hash_partition([texts[0].values], HASHES) for name, texts in coded.items()}
    keys = [_keys(batch, b, columns, coded, hashes) for b, batch in enumerate(batches)]
    payloads = [[value for i, value in enumerate(found) if i in fixed and value is not None] for found in values]
    try:  # as much room as even shards need, and somewhat more
        outs, ends = _exchange(keys, payloads, shards, min(rows, rows // shards + rows // 8 + 1024))
    except ShardFull:
        outs, ends = _exchange(keys, payloads, shards, rows)
    parts: list[dict[str, pa.Array]] = [{} for _ in range(shards)]
    for i, column in zip(fixed, outs, strict=True):
        field = schema.field(i)
        texts = None
        if field.name in coded:
            texts = views.to_arrow(coded[field.name][0].values, views.value_type(field.type))
        for part, out, end in zip(parts, column, ends.tolist(), strict=True):
            type_ = field.type if texts is None else pa.int32()
            array = pa.Array.from_buffers(type_, end, [None, pa.py_buffer(out)])
            part[field.name] = array if texts is None else pa.DictionaryArray.from_arrays(array, texts)
    others = [name for i, name in enumerate(schema.names) if i not in fixed]
    if others:
        _part_others(batches, keys, others, parts)
    return [_batch(part, schema) for part in parts]


def _exchange(
    keys: Sequence[list[Column]], payloads: Sequence[list[np.ndarray]], shards: int, room: int
) -> tuple[list[list[np.ndarray]], np.ndarray]:
    """For each column and shard an array, and how many values it has; ShardFull if the room is too small."""
    outs = [np.split(new_array(room * shards, value.dtype), shards) for value in payloads[0]]
    ends = np.zeros(shards, np.int64)
    for key, values in zip(keys, payloads, strict=True):
        dispatch.kernels().exchange_rows(key, values, outs, ends)
    return outs, ends


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def _keys(
    batch: pa.RecordBatch,
    place: int,
    columns: Sequence[str],
    coded: dict[str, list[Coded]],
    hashes: dict[str, np.ndarray],
) -> list[Column]:
    """Key columns as they are hashed: text by the hashes of its values."""
    kernels = dispatch.kernels()
    found = []
    for name in columns:
        if name in coded:
            codes = coded[name][place].codes.astype(np.int64)
            found.append(Column(CODE, kernels.take_fixed(hashes[name], codes)))
        else:
            found.append(views.key_column(batch.column(name)))
    return found


def _part_others(
    batches: Sequence[pa.RecordBatch], keys: Sequence[list[Column]], others: list[str], parts: list[dict[str, pa.Array]]
) -> None:
    """Part the columns with nulls or of variable width by Arrow's `take`."""
    taken: list[dict[str, list[pa.Array]]] = [{name: [] for name in others} for _ in parts]
    for batch, key in zip(batches, keys, strict=True):
        shard = dispatch.kernels().hash_partition(key, len(parts), batch.num_rows)
        for s, pieces in enumerate(taken):
            rows = pa.array(np.flatnonzero(shard == s))
            for name in others:
                taken_here = batch.column(name).take(rows)
                if pa.types.is_dictionary(taken_here.type):
                    taken_here = taken_here.dictionary_decode()  # Arrow cannot join all dictionaries
                pieces[name].append(taken_here)
    for part, pieces in zip(parts, taken, strict=True):
        for name in others:
            part[name] = pa.concat_arrays(pieces[name]) if len(batches) > 1 else pieces[name][0]


def _batch(part: dict[str, pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    """The columns in the order of the schema, with its marks; text has become a dictionary."""
    fields = [pa.field(name, part[name].type) for name in schema.names]
    return pa.RecordBatch.from_arrays(
        [part[name] for name in schema.names], schema=pa.schema(fields, metadata=schema.metadata)
    )
