"""Marks on a whole batch: that its rows are late (and dropped: they travel only to be counted), that they are partial
aggregates, which output of a split they go to.

They ride in the batch's schema metadata, so that an unmarked row costs nothing. A batch is late as a whole or not at
all: rows may come in any order, so the input operator puts late rows into batches of their own.
"""

from __future__ import annotations

import pyarrow as pa

LATE = b"oop.late"
DROPPED = b"oop.dropped"
PARTIAL = b"oop.partial"
ROUTE = b"oop.route"


def mark_late(batch: pa.RecordBatch) -> pa.RecordBatch:
    return _with(batch, LATE, b"1")


def is_late(batch: pa.RecordBatch) -> bool:
    metadata = batch.schema.metadata
    return metadata is not None and LATE in metadata


def mark_dropped(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Mark a batch as late and not to be taken into any result: only operators that count late rows look at it."""
    return _with(mark_late(batch), DROPPED, b"1")


def is_dropped(batch: pa.RecordBatch) -> bool:
    metadata = batch.schema.metadata
    return metadata is not None and DROPPED in metadata


def mark_partial(batch: pa.RecordBatch) -> pa.RecordBatch:
    return _with(batch, PARTIAL, b"1")


def is_partial(batch: pa.RecordBatch) -> bool:
    metadata = batch.schema.metadata
    return metadata is not None and PARTIAL in metadata


def mark_route(batch: pa.RecordBatch, route: int) -> pa.RecordBatch:
    return _with(batch, ROUTE, b"%d" % route)


def route_of(batch: pa.RecordBatch) -> int | None:
    metadata = batch.schema.metadata
    return None if metadata is None or ROUTE not in metadata else int(metadata[ROUTE])


def without_route(batch: pa.RecordBatch) -> pa.RecordBatch:
    kept = {k: v for k, v in (batch.schema.metadata or {}).items() if k != ROUTE}
    return batch.replace_schema_metadata(kept or None)


def keep_late(batch: pa.RecordBatch, source: pa.RecordBatch) -> pa.RecordBatch:
    """The batch, marked as late if the one that it was made from is."""
    if source.schema.metadata is None:  # most batches have none
        return batch
    if is_dropped(source):
        return mark_dropped(batch)
    return mark_late(batch) if is_late(source) else batch


def _with(batch: pa.RecordBatch, key: bytes, value: bytes) -> pa.RecordBatch:
    return batch.replace_schema_metadata({**(batch.schema.metadata or {}), key: value})
