"""`open_data` makes `Data` of anything that ``oop.source(data, …)`` takes: files, tables, readers, iterables,
callables.

>>> import pyarrow as pa
>>> table = pa.table({"ts": [1, 2, 3]})
>>> [batch.num_rows for batch in open_data(table, batch_rows=2).elements()]
[2, 1]
>>> open_data(iter([table])).kind
'live'
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa

from oop.errors import SchemaMismatch, SourceError
from oop.io.data import Data, consumed
from oop.io.files import expand, open_file
from oop.io.fitting import agreed, difference, settled, text_types
from oop.io.frames import frame_schema, is_frame
from oop.io.ipc import InputElement, ipc_elements
from oop.io.lulls import Lull
from oop.io.ring import SCHEMA as RING_SCHEMA
from oop.io.ring import Ring
from oop.operators.core.train import closing_if_possible
from oop.plan.source_data import Kind
from oop.punctuation import Punctuation

_READABLE = (
    "give path(s), a Table, RecordBatch or reader, a pandas or Polars DataFrame, a DuckDB relation, "
    "an iterable of batches and promises, an oop.Ring, or a callable that returns one of these"
)


def open_data(
    data: Any, *, schema: pa.Schema | None = None, batch_rows: int = 65_536, lull: Lull | None = None
) -> Data:
    """Make `Data` of anything a source may be given.

    Without ``schema`` an iterable is read up to its first batch; what was read is kept for the first run. ``lull``
    notes when a thread waits for a live input.

    >>> import pyarrow as pa
    >>> from oop.punctuation import Punctuation
    >>> batches = [pa.record_batch({"ts": [1, 2]}), Punctuation(below={"ts": 3})]
    >>> [type(e).__name__ for e in open_data(batches).elements()]
    ['RecordBatch', 'Punctuation']
    """
    if batch_rows < 1:
        raise ValueError(f"batch_rows must be at least 1, not {batch_rows}")
    if schema is not None:
        schema = settled(schema, "the declared schema")
    if is_frame(data):
        kind: Kind = "live" if data.isStreaming else "memory"
        known = agreed(frame_schema(data), schema, "Spark DataFrame")
        return Data(known, kind, "Spark DataFrame", _only_on_spark, batch_rows, frame=data)
    listed = list(data) if isinstance(data, list | tuple) else [data]
    if listed and all(isinstance(part, str | os.PathLike) for part in listed):
        return _of_files(listed, schema, batch_rows)
    if isinstance(data, pa.Table | pa.RecordBatch):
        label = "table" if isinstance(data, pa.Table) else "batch"
        known = agreed(data.schema, schema, label)
        return Data(known, "memory", label, lambda: _batches(data), batch_rows, rows=data.num_rows)
    if isinstance(data, pa.ipc.RecordBatchFileReader):
        known = agreed(data.schema, schema, "reader")
        return Data(known, "memory", "reader", lambda: ipc_elements(data, "the reader"), batch_rows)
    if isinstance(data, pa.RecordBatchReader):
        known = agreed(data.schema, schema, "reader")
        return Data(known, "live", "reader", lambda: _watched(_batches(data), lull), batch_rows, once=True)
    if isinstance(data, Ring):
        known = agreed(RING_SCHEMA, schema, "ring")
        return Data(known, "live", "ring", lambda: _waited_for(data), batch_rows, ring=data)
    if hasattr(data, "__arrow_c_stream__"):
        return _of_stream(data, schema, batch_rows)
    if hasattr(data, "__arrow_c_array__"):
        return open_data(_imported(data), schema=schema, batch_rows=batch_rows)
    if isinstance(data, Iterable) and not isinstance(data, bytes | bytearray | dict):
        return _of_iterable(data, schema, batch_rows, lull)
    if callable(data):
        return _of_callable(data, schema, batch_rows, lull)
    raise SourceError(f"cannot read a {type(data).__name__}", hint=_READABLE)


def _waited_for(ring: Ring) -> Iterator[InputElement]:
    """The elements of a ring, for readers that may sleep while it is empty."""
    for train in ring.trains(ring.batch):
        if not train:
            time.sleep(ring.pause)
        yield from train


def _only_on_spark() -> Iterator[InputElement]:
    hint = "run it with engine=oop.Spark(session), or pass its rows as Arrow: data.toArrow()"
    raise SourceError("a Spark DataFrame runs only on the Spark engine", hint=hint)


def _of_files(data: list[Any], declared: pa.Schema | None, batch_rows: int) -> Data:
    paths = expand(data)
    files = [open_file(path, declared and text_types(declared)) for path in paths]
    schema = declared or settled(files[0].schema, str(paths[0]))
    types = text_types(schema)
    for file in files:
        problem = difference(file.schema, schema, "the declared schema" if declared else str(paths[0]))
        if problem is not None and not file.parses(types):
            hint = "read files that differ as different sources"
            raise SchemaMismatch(f"{file.path}: {problem}", hint=hint)

    def start() -> Iterator[InputElement]:
        for file in files:
            for element in file.read(types, batch_rows):
                # The end of one file is not yet the end of the stream.
                if not (isinstance(element, Punctuation) and element.is_end and file is not files[-1]):
                    yield element

    label = paths[0].name if len(paths) == 1 else f"{paths[0].name} and {len(paths) - 1} more"
    counts = [file.rows for file in files if file.rows is not None]
    rows = sum(counts) if len(counts) == len(files) else None
    names = tuple(str(path.absolute()) for path in paths)
    return Data(schema, "file", label, start, batch_rows, rows=rows, paths=names)


def _of_stream(data: Any, declared: pa.Schema | None, batch_rows: int) -> Data:
    root = type(data).__module__.split(".")[0].lstrip("_")
    label = f"{root} {type(data).__name__}"
    most = 0

    def counted(batches: Iterable[pa.RecordBatch]) -> Iterator[InputElement]:
        nonlocal most
        rows = 0
        for batch in batches:
            rows += batch.num_rows
            yield batch
        if most and not rows:  # some exporters hand out a drained stream again, without an error
            raise consumed(label)
        most = max(most, rows)

    def start() -> Iterator[InputElement]:
        reader = _exported(data)
        # A DuckDB connection has one open result at a time: while it is open, no other relation of it can be read.
        yield from counted(reader.read_all().to_batches() if root == "duckdb" else reader)

    rows = len(data) if root in ("pandas", "polars") else None
    if declared is not None:
        return Data(declared, "memory", label, start, batch_rows, rows=rows)
    reader = _exported(data)
    schema = settled(reader.schema, label)
    if root == "duckdb":
        reader.close()
        return Data(schema, "memory", label, start, batch_rows)
    return Data(schema, "memory", label, start, batch_rows, rows=rows, peeked=counted(reader))


def _of_iterable(data: Iterable[Any], declared: pa.Schema | None, batch_rows: int, lull: Lull | None) -> Data:
    whole = isinstance(data, list | tuple)
    kind: Kind = "memory" if whole else "live"

    def start() -> Iterator[InputElement]:
        return _normal(data, lull)

    schema, peeked = (declared, None) if declared else _peek(start())
    once = isinstance(data, Iterator)
    plain = data if isinstance(data, list | tuple) else None
    waiting = partial(_says_waiting, data) if not whole and hasattr(data, "waiting") else None
    return Data(schema, kind, "iterable", start, batch_rows, once=once, peeked=peeked, plain=plain, waiting=waiting)


def _says_waiting(data: Any) -> bool:
    """Is the next element at hand, according to the iterable's attribute or method ``waiting``?"""
    return bool(data.waiting() if callable(data.waiting) else data.waiting)


def _of_callable(data: Callable[[], Any], declared: pa.Schema | None, batch_rows: int, lull: Lull | None) -> Data:
    first = None if declared else open_data(data(), batch_rows=batch_rows, lull=lull)
    schema = first.schema if first else declared

    opened = first

    def start() -> Iterator[InputElement]:
        nonlocal opened
        opened = open_data(data(), schema=schema, batch_rows=batch_rows, lull=lull)
        yield from opened.elements()

    def waiting() -> bool:
        return opened is not None and opened.waiting is not None and opened.waiting()

    peeked = first.elements() if first else None
    return Data(schema, "live", "callable", start, batch_rows, peeked=peeked, waiting=waiting)


def _peek(elements: Iterator[InputElement]) -> tuple[pa.Schema, Iterator[InputElement]]:
    """The schema of the first batch, and the elements with what was read put back in front."""
    read: list[InputElement] = []
    for element in elements:
        read.append(element)
        if not isinstance(element, Punctuation):
            return settled(element.schema, "iterable"), _resumed(read, elements)
    hint = 'pass schema=, for example schema=pa.schema({"ts": pa.int64()})'
    raise SourceError("the iterable has no batch that shows its schema (was it consumed before?)", hint=hint)


def _watched(elements: Iterator[Any], lull: Lull | None) -> Iterator[Any]:
    return elements if lull is None else lull.watch(elements)


def _normal(data: Iterable[Any], lull: Lull | None) -> Iterator[InputElement]:
    """Batches and promises out of an iterable's elements; anything else is an error that names the position."""
    iterator = _watched(iter(data), lull)
    with closing_if_possible(iterator):
        for position, element in enumerate(iterator):
            if isinstance(element, Punctuation | pa.RecordBatch):
                yield element
            elif isinstance(element, pa.Table | pa.RecordBatchReader):
                yield from _batches(element)
            elif hasattr(element, "__arrow_c_stream__"):
                yield from _batches(_exported(element))
            elif hasattr(element, "__arrow_c_array__"):
                yield _imported(element)
            else:
                hint = "elements are record batches, tables and promises"
                if isinstance(element, dict):
                    hint += "; for rows as dicts pass pa.Table.from_pylist(rows)"
                raise SourceError(f"element {position} (from 0) is a {type(element).__name__}", hint=hint)


def _batches(data: Any) -> Iterator[InputElement]:
    if isinstance(data, pa.RecordBatch):
        yield data
    elif isinstance(data, pa.Table):  # a table without rows may have no batch, but it has a schema
        yield from data.to_batches() or [pa.RecordBatch.from_pylist([], schema=data.schema)]
    elif isinstance(data, pa.ipc.RecordBatchStreamReader):
        yield from ipc_elements(data, "the reader")
    else:
        yield from data


def _exported(data: Any) -> pa.RecordBatchReader:
    try:
        return pa.RecordBatchReader.from_stream(data)
    except (pa.ArrowException, TypeError) as error:
        raise SourceError(f"cannot read a {type(data).__name__}: {error}", hint=_READABLE) from error


def _imported(data: Any) -> pa.RecordBatch:
    try:
        return pa.record_batch(data)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise SourceError(f"cannot read a {type(data).__name__}: {error}", hint=_READABLE) from error


def _resumed(read: list[Any], rest: Iterator[Any]) -> Iterator[Any]:
    """The elements that were read to learn the schema, then the rest; closing it closes the user's generator."""
    with closing_if_possible(rest):
        yield from read
        yield from rest
