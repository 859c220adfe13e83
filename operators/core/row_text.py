"""Rows as text, for messages."""

from __future__ import annotations

import pyarrow as pa


def show_row(batch: pa.RecordBatch, row: int) -> str:
    """A row as text, whatever its types: Python has no values for nanoseconds."""
    shown = []
    for name, column in zip(batch.schema.names, batch.slice(row, 1).columns, strict=True):
        if pa.types.is_duration(column.type):
            column = column.cast(pa.int64())
        elif pa.types.is_temporal(column.type) and not pa.types.is_interval(column.type):
            column = column.cast(pa.string())
        shown.append(f"{name}={column.to_pylist()[0]!r}")
    return ", ".join(shown)
