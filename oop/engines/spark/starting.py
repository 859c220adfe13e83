"""Starting a query: which trigger, which sink, and a checkpoint of another plan refused before anything runs."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from oop.engines.spark.query import Query
from oop.engines.spark.session import absolute
from oop.files import IPC_ENDINGS

_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".orc": "orc"}


def start(engine: Any, built: Any, to: Any) -> Query:
    """Start the query of a plan; if that fails, nothing of it stays."""
    try:
        return _start(engine, built, to)
    except BaseException:
        built.close()
        raise


def _start(engine: Any, built: Any, to: Any) -> Query:
    if to is None and engine.checkpoint is not None:
        raise ValueError("a query with a checkpoint needs a sink that lasts: run(engine=…, to=folder)")
    writer = built.frame.writeStream.outputMode("append")
    if engine.checkpoint is not None:
        writer = writer.option("checkpointLocation", engine.checkpoint)
    trigger = engine.trigger
    if trigger is None and built.bounded:
        trigger = {"availableNow": True}
    if trigger is not None:
        writer = writer.trigger(**trigger)
    table = None
    if to is None:
        table = f"oop_{uuid.uuid4().hex}"
        writer = writer.format("memory").queryName(table)
    elif isinstance(to, str | os.PathLike):
        path = absolute(to)
        ending = Path(path).suffix.lower()
        if ending in IPC_ENDINGS:
            raise ValueError(f"Spark does not write {ending}; name a folder, or one that ends in {', '.join(_FORMATS)}")
        writer = writer.format(_FORMATS.get(ending, "parquet")).option("path", path)
    elif callable(to):
        writer = writer.foreachBatch(_to_callable(to))
    else:
        raise TypeError(
            f"a sink on Spark is a folder or a callable, not {to!r}; for others use stream.to_spark(session)"
        )
    return Query(writer.start(), built, table)


def _to_callable(take: Callable[[pa.RecordBatch], Any]) -> Callable[[Any, int], None]:
    def each(frame: Any, number: int) -> None:
        for batch in frame.toArrow().to_batches():
            if batch.num_rows:
                take(batch)

    return each
