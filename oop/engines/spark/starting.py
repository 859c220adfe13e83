"""Starting a query: which trigger, which sink, and a checkpoint of another plan refused before anything runs."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from oop.engines.spark.failures import ours
from oop.engines.spark.query import Query
from oop.engines.spark.session import absolute
from oop.errors import OopError
from oop.io.files import IPC_ENDINGS

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
    if engine.checkpoint is not None or to is not None:
        writer = writer.option("checkpointLocation", engine.checkpoint or built.temporary_folder())
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
    try:
        query = writer.start()
    except Exception as failure:  # from Java, with pages of it
        named = ours(failure)
        if named is not None:
            raise named from failure
        what = str(getattr(failure, "java_exception", None) or failure).partition("\n")[0]
        raise OopError(
            f"Spark could not start the query: {what}", hint="look at to=, checkpoint= and trigger="
        ) from failure
    return Query(query, built, table)


def _to_callable(take: Callable[[pa.RecordBatch], Any]) -> Callable[[Any, int], None]:
    def each(frame: Any, number: int) -> None:
        for batch in frame.toArrow().to_batches():
            if batch.num_rows:
                _take(take, batch)

    return each


def _take(take: Callable[[pa.RecordBatch], Any], batch: pa.RecordBatch) -> None:
    try:
        take(batch)
    except Exception as failure:
        what = " ".join(f"{type(failure).__name__}: {failure}".split())
        raise OopError(f"the sink {take!r} failed with {what}") from failure
