"""Fits batches to a stream's schema: what such a schema keeps, which columns may be read as it, and the cast."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa

from oop.errors import SchemaMismatch
from oop.kernels.dictionaries import encode_dictionary
from oop.operators.core.compute import compute as pc


def fit(batch: pa.RecordBatch, schema: pa.Schema, where: str) -> pa.RecordBatch:
    """The batch with exactly this schema: columns in its order, cast where only the encoding differs.

    >>> import pyarrow as pa
    >>> schema = pa.schema({"ts": pa.int64(), "k": pa.string()})
    >>> batch = pa.record_batch({"k": pa.array(["a"]).dictionary_encode(), "ts": [1]})
    >>> fit(batch, schema, "batch 0").to_pylist()
    [{'ts': 1, 'k': 'a'}]
    """
    if batch.schema.equals(schema, check_metadata=True):
        return batch
    problem = difference(batch.schema, schema, "the stream")
    if problem is not None:
        hint = "make all batches alike, or pass them as different sources; schema= declares what is meant"
        raise SchemaMismatch(f"{where}: {problem}", hint=hint)
    try:
        columns = [_encoded(batch.column(f.name), f.type) for f in schema]
    except pa.ArrowException as error:  # for example more values than a small dictionary can hold
        raise SchemaMismatch(f"{where}: {error}", hint="declare another type with schema=") from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def difference(found: pa.Schema, schema: pa.Schema, whose: str) -> str | None:
    """Text that says why columns of ``found`` cannot be read as ``schema``; None if they can."""
    times, ours_too = Counter(found.names), set(schema.names)
    for name in (*schema.names, *found.names):
        if name not in times:
            return f"column {name!r} is missing; {whose} has it as {schema.field(name).type}"
        if name not in ours_too:
            return f"column {name!r} ({found.field(name).type}) is new; {whose} has {', '.join(schema.names)}"
        if times[name] > 1:
            return f"two columns are named {name!r}"
        ours, theirs = found.field(name).type, schema.field(name).type
        if _decoded(ours) != _decoded(theirs) and not pa.types.is_null(ours):
            return f"column {name!r} is {ours}, {whose} has {theirs}"
    return None


def _encoded(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.null_count and (pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type)):
        column = _without_null_views(column)
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    if pa.types.is_dictionary(kind) and not pa.types.is_dictionary(column.type):
        column = encode_dictionary(column.cast(kind.value_type))
    return column.cast(kind)


def _without_null_views(column: pa.Array) -> pa.Array:
    """The column with the views of its nulls emptied: they may point anywhere, and Arrow's cast follows them."""
    validity, views, *data = column.buffers()
    first, last = column.offset, column.offset + len(column)
    emptied = np.zeros((last, 16), np.uint8)
    found = np.frombuffer(views, np.uint8, 16 * last).reshape(-1, 16)
    emptied[first:] = found[first:] * column.is_valid().to_numpy(zero_copy_only=False)[:, None]
    buffers = [validity, pa.py_buffer(emptied), *data]
    return pa.Array.from_buffers(column.type, len(column), buffers, offset=first)


def _decoded(kind: pa.DataType) -> pa.DataType:
    """The type of the values, whatever their encoding and the width of their offsets."""
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _decoded(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    return _widened(kind)


def _widened(kind: pa.DataType) -> pa.DataType:
    """The type with indices of int32 in every dictionary that is inside of other values.

    >>> _widened(pa.list_(pa.dictionary(pa.int8(), pa.string())))
    ListType(list<item: dictionary<values=string, indices=int32, ordered=0>>)
    """
    if pa.types.is_struct(kind):
        return pa.struct([f.with_type(_inside(f.type)) for f in kind])
    if pa.types.is_map(kind):
        key, item = (f.with_type(_inside(f.type)) for f in (kind.key_field, kind.item_field))
        return pa.map_(key, item, kind.keys_sorted)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        item = kind.value_field.with_type(_inside(kind.value_type))
        if pa.types.is_large_list(kind):
            return pa.large_list(item)
        return pa.list_(item, kind.list_size) if pa.types.is_fixed_size_list(kind) else pa.list_(item)
    return kind


def _inside(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return pa.dictionary(pa.int32(), kind.value_type, kind.ordered)
    return _widened(kind)


def settled(schema: pa.Schema, where: str) -> pa.Schema:
    """The schema that a stream keeps: no metadata, every column may be null (a later batch may bring one)."""
    twice = sorted(name for name, times in Counter(schema.names).items() if times > 1)
    if twice:
        raise SchemaMismatch(f"{where}: two columns are named {twice[0]!r}", hint="rename one of them")
    found = pa.schema([pa.field(f.name, _settled(f.type)) for f in schema])
    for field in found:
        if "run_end_encoded<" in str(field.type):
            raise SchemaMismatch(
                f"{where}: column {field.name!r} is {field.type}: runs inside of other values cannot be picked apart",
                hint="decode them first: pyarrow.compute.run_end_decode",
            )
    return found


def _settled(kind: pa.DataType) -> pa.DataType:
    # Polars exports its strings as views, which pyarrow can neither filter nor compare; nor can it filter runs. A
    # dictionary with small indices may hold its own batch, but not the values of several batches or of a window.
    if pa.types.is_run_end_encoded(kind):
        return _settled(kind.value_type)
    if pa.types.is_dictionary(kind):
        return pa.dictionary(pa.int32(), _settled(kind.value_type), kind.ordered)
    return _decoded(kind) if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind) else _widened(kind)


def agreed(found: pa.Schema, declared: pa.Schema | None, where: str) -> pa.Schema:
    """The declared schema, if the schema that was found can be read as it; without a declared one, the one found."""
    problem = declared and difference(found, declared, "the declared schema")
    if problem:
        raise SchemaMismatch(f"{where}: {problem}", hint="schema= must name every column with its type")
    return settled(declared or found, where)


def text_types(schema: pa.Schema) -> pa.Schema:
    """The schema with which text is parsed: it has no dictionaries and no wide offsets."""
    return pa.schema([pa.field(f.name, _decoded(f.type)) for f in schema])
