"""Starting a query with its trigger and its sink.

``to`` names a sink as it does for every engine (`oop.io.targets`). Folders are written by Spark's workers. One file, or
an object with ``write``, gets the rows from this process, and is complete when `start` returns. A callable gets the
rows while the query runs.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from oop.engines.spark.failures import ours
from oop.engines.spark.query import Query
from oop.engines.spark.types import from_spark
from oop.errors import OopError, WrongArgument
from oop.io.sinks import FileSink, ObjectSink, prepare_folder
from oop.io.targets import CallableTarget, FileTarget, FolderTarget, ObjectTarget, RemoteFolder, Target, read_target


def spark_target(to: Any, checkpoint: str | None) -> Target | None:
    """The sink that ``to`` names. Raises an error with a way out if Spark cannot write to it."""
    if to is None:
        if checkpoint is not None:
            hint = "run(engine=…, to='out/')"
            raise WrongArgument("a query with a checkpoint needs a sink that lasts", hint=hint)
        return None
    target = read_target(to)
    if isinstance(target, FileTarget):
        if target.format.holds_promises:
            raise WrongArgument(
                f"Spark gives rows and no promises, which {target.path.suffix.lower()} holds beside them",
                hint="write .parquet or a folder (to='out/'), or run it embedded",
            )
        if checkpoint is not None:
            raise WrongArgument(
                f"{target.path} is one file, which a query with a checkpoint cannot continue",
                hint="write a folder: to='out/'",
            )
    if isinstance(target, ObjectTarget):
        hint = "pass its write alone: to=sink.write"
        if hasattr(target.target, "promise"):
            raise WrongArgument(f"Spark gives rows and no promises, which {target.target!r} waits for", hint=hint)
        if checkpoint is not None:
            raise WrongArgument(f"a query with a checkpoint may end and go on: when to close {to!r}?", hint=hint)
    return target


def start(engine: Any, built: Any, target: Target | None) -> Query:
    """Start the query of a plan. If that fails, its threads and temporary folders are removed."""
    try:
        if isinstance(target, FileTarget | ObjectTarget):
            return _completed(engine, built, target)
        return _start(engine, built, target)
    except BaseException:
        built.close()
        raise


def _completed(engine: Any, built: Any, target: FileTarget | ObjectTarget) -> Query:
    """Run a query to its end, for a sink that must be complete or not written at all."""
    sink = FileSink(target, built.rows) if isinstance(target, FileTarget) else ObjectSink(target.target)
    query = None
    try:
        query = _start(engine, built, CallableTarget(sink.write))
        query.awaitTermination()
    except BaseException:
        if query is not None:
            query.stop()
        sink.abort()
        raise
    sink.close()
    return query


def _start(engine: Any, built: Any, target: Target | None) -> Query:
    writer = built.frame.writeStream.outputMode("append")
    if engine.checkpoint is not None or target is not None:
        writer = writer.option("checkpointLocation", engine.checkpoint or built.temporary_folder())
    trigger = engine.trigger
    if trigger is None and built.bounded:
        trigger = {"availableNow": True}
    table = None
    if target is None:
        table = f"oop_{uuid.uuid4().hex}"
        writer = writer.format("memory").queryName(table)
    elif isinstance(target, CallableTarget):
        writer = writer.foreachBatch(_to_callable(target.function, built.rows))
    else:
        writer = writer.format("parquet").option("path", _folder(engine, built, target))
    try:
        query = (writer if trigger is None else writer.trigger(**trigger)).start()
    except Exception as failure:  # an error of Java, whose text has several pages
        named = ours(failure)
        if named is not None:
            raise named from failure
        what = str(getattr(failure, "java_exception", None) or failure).partition("\n")[0]
        raise OopError(
            f"Spark could not start the query: {what}", hint="look at to=, checkpoint= and trigger="
        ) from failure
    return Query(query, built, table)


def _folder(engine: Any, built: Any, target: Any) -> str:
    """The folder as Spark's option for it. A local folder is checked and prepared as on every engine, unless the query
    continues in it."""
    if isinstance(target, RemoteFolder):
        return target.address
    assert isinstance(target, FolderTarget)
    path = target.path.absolute()
    is_local = built.session.sparkContext.master.startswith("local")
    if is_local and not _has_begun(engine.checkpoint):
        prepare_folder(path)
    return str(path)


def _has_begun(checkpoint: str | None) -> bool:
    """Has a query with this checkpoint begun already? If so, the files in the sink's folder are its own. A checkpoint
    that is not a local folder cannot be read here, and counts as begun."""
    if checkpoint is None:
        return False
    offsets = Path(checkpoint) / "offsets"
    return not checkpoint.startswith("/") or (offsets.is_dir() and any(offsets.iterdir()))


def _to_callable(take: Callable[[pa.RecordBatch], Any], schema: pa.Schema) -> Callable[[Any, int], None]:
    def each(frame: Any, number: int) -> None:
        for batch in frame.toArrow().to_batches():
            if batch.num_rows:
                _take(take, from_spark(batch, schema))

    return each


def _take(take: Callable[[pa.RecordBatch], Any], batch: pa.RecordBatch) -> None:
    try:
        take(batch)
    except OopError:
        raise
    except Exception as failure:
        what = " ".join(f"{type(failure).__name__}: {failure}".split())
        raise OopError(f"the sink {take!r} failed with {what}") from failure
