"""Starting a query: which trigger, which sink, and a checkpoint of another plan refused before anything runs."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from oop.engines.spark.identity import check_identity
from oop.engines.spark.query import Query
from oop.engines.spark.session import absolute

_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json", ".orc": "orc"}


def start(engine: Any, built: Any, to: Any) -> Query:
    if engine.checkpoint is not None:
        check_checkpoint(engine.checkpoint, built.identity)
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
        writer = writer.format(_FORMATS.get(Path(path).suffix.lower(), "parquet")).option("path", path)
    elif callable(to):
        writer = writer.foreachBatch(_to_callable(to))
    else:
        raise TypeError(
            f"a sink on Spark is a folder or a callable, not {to!r}; for others use stream.to_spark(session)"
        )
    return Query(writer.start(), built.session, built.close, table)


def _to_callable(take: Callable[[pa.RecordBatch], Any]) -> Callable[[Any, int], None]:
    def each(frame: Any, number: int) -> None:
        for batch in frame.toArrow().to_batches():
            if batch.num_rows:
                take(batch)

    return each


def check_checkpoint(checkpoint: str, ours: Any) -> None:
    """Compare with the plan that the last offset in a checkpoint names. Where none can be read here (the checkpoint
    is elsewhere), the sources and stages compare for themselves."""
    offsets = Path(checkpoint) / "offsets"
    numbers = [int(p.name) for p in offsets.iterdir() if p.name.isdigit()] if offsets.is_dir() else []
    if not numbers:
        return
    for line in (offsets / str(max(numbers))).read_text().splitlines()[1:]:
        try:
            said = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(said, dict) and isinstance(said.get("plan"), dict):
            check_identity(said["plan"], ours)
