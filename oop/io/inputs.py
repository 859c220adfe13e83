"""What ``oop.source(data, …)`` reads: files, tables, readers, iterables, callables, as streams of elements.

>>> import pyarrow as pa
>>> table = pa.table({"ts": [1, 2, 3]})
>>> [batch.num_rows for batch in open_input(table, batch_rows=2).elements()]
[2, 1]
>>> open_input(iter([table])).kind
'live'
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from oop.errors import SchemaMismatch, SourceError
from oop.io.files import expand, open_file
from oop.io.fitting import agreed, difference, fit, settled, text_types
from oop.io.frames import frame_schema, is_frame
from oop.io.ipc import Element, ipc_elements
from oop.io.lulls import Lull
from oop.io.ring import SCHEMA as RING_SCHEMA
from oop.io.ring import Ring
from oop.io.sound import reading
from oop.punctuation import Punctuation

Kind = Literal["file", "memory", "live"]

_TRAIN_ELEMENTS = 65_536  # in one train, however few rows they have

_READABLE = (
    "give path(s), a Table, RecordBatch or reader, a pandas or Polars DataFrame, a DuckDB relation, "
    "an iterable of batches and promises, an oop.Ring, or a callable that returns one of these"
)


@dataclass(eq=False)
class Input:
    """Data that a source can read; its schema is known before it runs.

    ``kind`` tells data that lies there whole (a file, in memory) from data that comes; ``rows`` is the number
    of rows where that is written somewhere. Every batch of `elements` has exactly this schema. ``plain`` is data that
    is a list, ``frame`` a Spark DataFrame with its ``channel`` column and the ``channels`` that are known, ``paths``
    are the files that it reads, ``ring`` is one that tells when nothing is there. ``waiting`` says whether the next
    element is at hand, where that can be known. ``progress`` tells how far it is, ``lull`` whether it is waited for.

    >>> import pyarrow as pa
    >>> given = open_input(pa.table({"ts": [1, 2, 3]}))
    >>> given.label, given.kind, given.rows, given.schema.names
    ('table', 'memory', 3, ['ts'])
    """

    schema: pa.Schema
    kind: Kind
    label: str
    start: Callable[[], Iterator[Element]] = field(repr=False)
    batch_rows: int = field(repr=False)
    _: KW_ONLY
    rows: int | None = None
    once: bool = field(default=False, repr=False)
    plain: Sequence[Element] | None = field(default=None, repr=False)
    peeked: Iterator[Element] | None = field(default=None, repr=False)
    frame: Any = field(default=None, repr=False)
    channel: str | None = field(default=None, repr=False)
    channels: tuple[str, ...] = field(default=(), repr=False)
    paths: tuple[str, ...] = field(default=(), repr=False)
    ring: Ring | None = field(default=None, repr=False)
    waiting: Callable[[], bool] | None = field(default=None, repr=False)
    progress: Callable[[], Any] | None = field(default=None, repr=False)
    lull: Lull | None = field(default=None, repr=False)
    used: bool = field(default=False, repr=False, init=False)

    def count_rows(self) -> int | None:
        """The number of rows where it can be known without reading. Of a list they are counted only when asked for:
        there may be very many batches, and small."""
        return self.rows if self.plain is None else _count_rows(self.plain)

    def elements(self) -> Iterator[Element]:
        """The batches and promises from the beginning, anew at each call."""
        if self.used and self.once:
            raise _consumed(self.label)
        raw = self.start() if self.peeked is None else self.peeked
        self.used, self.peeked = True, None
        return self._fitted(raw)

    def trains(self, rows: int) -> Iterator[list[Element]]:
        """The elements in lists of about so many rows; one element each where the next may be long in coming. Of a
        ring an empty list: there is nothing yet."""
        if self.ring is not None:
            return self.ring.trains(rows)
        elements = self.elements()
        if self.kind == "live":
            return ([element] for element in elements)
        lengths = None if self.plain is None else self._lengths(self.plain)
        if self.plain is None or lengths is None:
            return _coupled(elements, rows)
        return _cut(list(self.plain), lengths, rows)

    def _lengths(self, elements: Sequence[Element]) -> list[int] | None:
        """The rows of each element, if every batch is as the stream has them: then none is looked at on its way."""
        schema, most = self.schema, self.batch_rows
        found = []
        for element in elements:
            if isinstance(element, pa.RecordBatch):
                rows = element.num_rows
                if rows > most or not element.schema.equals(schema, check_metadata=True) or not _fits_together(element):
                    return None
                found.append(rows)
            elif isinstance(element, Punctuation):
                found.append(0)
            else:
                return None
        return found

    def _fitted(self, raw: Iterator[Element]) -> Iterator[Element]:
        number = 0
        with closing_if_possible(raw):
            for element in raw:
                if isinstance(element, Punctuation):
                    yield element
                    continue
                where = f"batch {number} (from 0) of {self.label}"
                if self.kind != "file" and not _fits_together(element):
                    with reading(where, "its buffers are too short for its rows: build it anew"):
                        element.validate()
                batch = fit(element, self.schema, where)
                number += 1
                if batch.num_rows <= self.batch_rows:
                    yield batch
                else:
                    for at in range(0, batch.num_rows, self.batch_rows):
                        yield batch.slice(at, self.batch_rows)


def _fits_together(batch: pa.RecordBatch) -> bool:
    """Are its buffers as long as its rows say? What a caller holds in memory is looked at no closer than that."""
    try:
        batch.validate()
    except pa.ArrowException:
        return False
    return True


def _cut(elements: list[Element], lengths: list[int], rows: int) -> Iterator[list[Element]]:
    """The same as `_coupled`, for a list whose elements have so many rows each: where they are small, steps count."""
    ends = np.cumsum(lengths)
    start = before = 0
    while start < len(elements):
        enough = int(np.searchsorted(ends, before + rows)) + 1
        end = min(enough, len(elements), start + _TRAIN_ELEMENTS)
        yield elements[start:end]
        start, before = end, int(ends[end - 1])


def _coupled(elements: Iterator[Element], rows: int) -> Iterator[list[Element]]:
    """Elements in lists of about so many rows."""
    train: list[Element] = []
    held = 0
    with closing_if_possible(elements):
        while True:
            try:
                element = next(elements)
            except StopIteration:
                break
            except Exception:
                if train:  # what was read before it went wrong is not lost
                    yield train
                raise
            train.append(element)
            if not isinstance(element, Punctuation):
                held += element.num_rows
            if held >= rows or len(train) >= _TRAIN_ELEMENTS:
                yield train
                train, held = [], 0
    if train:
        yield train


@contextmanager
def closing_if_possible(iterator: Iterator[Any]) -> Iterator[None]:
    """A generator that is not read to its end is closed, so that its ``finally`` runs now, not some time later."""
    try:
        yield
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            close()


def open_input(
    data: Any, *, schema: pa.Schema | None = None, batch_rows: int = 65_536, lull: Lull | None = None
) -> Input:
    """Make an `Input` of anything a source may be given.

    Without ``schema`` an iterable is read up to its first batch; what was read is kept for the first run. ``lull`` is
    told when one that comes live is waited for.

    >>> import pyarrow as pa
    >>> from oop.punctuation import Punctuation
    >>> batches = [pa.record_batch({"ts": [1, 2]}), Punctuation(below={"ts": 3})]
    >>> [type(e).__name__ for e in open_input(batches).elements()]
    ['RecordBatch', 'Punctuation']
    """
    if batch_rows < 1:
        raise ValueError(f"batch_rows must be at least 1, not {batch_rows}")
    if schema is not None:
        schema = settled(schema, "the declared schema")
    if is_frame(data):
        kind: Kind = "live" if data.isStreaming else "memory"
        known = agreed(frame_schema(data), schema, "Spark DataFrame")
        return Input(known, kind, "Spark DataFrame", _only_on_spark, batch_rows, frame=data)
    listed = list(data) if isinstance(data, list | tuple) else [data]
    if listed and all(isinstance(part, str | os.PathLike) for part in listed):
        return _of_files(listed, schema, batch_rows)
    if isinstance(data, pa.Table | pa.RecordBatch):
        label = "table" if isinstance(data, pa.Table) else "batch"
        known = agreed(data.schema, schema, label)
        return Input(known, "memory", label, lambda: _batches(data), batch_rows, rows=data.num_rows)
    if isinstance(data, pa.ipc.RecordBatchFileReader):
        known = agreed(data.schema, schema, "reader")
        return Input(known, "memory", "reader", lambda: ipc_elements(data, "the reader"), batch_rows)
    if isinstance(data, pa.RecordBatchReader):
        known = agreed(data.schema, schema, "reader")
        return Input(known, "live", "reader", lambda: _watched(_batches(data), lull), batch_rows, once=True)
    if isinstance(data, Ring):
        known = agreed(RING_SCHEMA, schema, "ring")
        return Input(known, "live", "ring", lambda: _waited_for(data), batch_rows, ring=data)
    if hasattr(data, "__arrow_c_stream__"):
        return _of_stream(data, schema, batch_rows)
    if hasattr(data, "__arrow_c_array__"):
        return open_input(_imported(data), schema=schema, batch_rows=batch_rows)
    if isinstance(data, Iterable) and not isinstance(data, bytes | bytearray | dict):
        return _of_iterable(data, schema, batch_rows, lull)
    if callable(data):
        return _of_callable(data, schema, batch_rows, lull)
    raise SourceError(f"cannot read a {type(data).__name__}", hint=_READABLE)


def _waited_for(ring: Ring) -> Iterator[Element]:
    """For those who have nothing else to do."""
    for train in ring.trains(ring.batch):
        if not train:
            time.sleep(ring.pause)
        yield from train


def _only_on_spark() -> Iterator[Element]:
    hint = "run it with engine=oop.Spark(session), or pass its rows as Arrow: data.toArrow()"
    raise SourceError("a Spark DataFrame runs only on the Spark engine", hint=hint)


def _of_files(data: list[Any], declared: pa.Schema | None, batch_rows: int) -> Input:
    paths = expand(data)
    files = [open_file(path, declared and text_types(declared)) for path in paths]
    schema = declared or settled(files[0].schema, str(paths[0]))
    types = text_types(schema)
    for file in files:
        problem = difference(file.schema, schema, "the declared schema" if declared else str(paths[0]))
        if problem is not None and not file.parses(types):
            hint = "read files that differ as different sources"
            raise SchemaMismatch(f"{file.path}: {problem}", hint=hint)

    def start() -> Iterator[Element]:
        for file in files:
            for element in file.read(types, batch_rows):
                # The end of one file is not yet the end of the stream.
                if not (isinstance(element, Punctuation) and element.is_end and file is not files[-1]):
                    yield element

    label = paths[0].name if len(paths) == 1 else f"{paths[0].name} and {len(paths) - 1} more"
    counts = [file.rows for file in files if file.rows is not None]
    rows = sum(counts) if len(counts) == len(files) else None
    names = tuple(str(path.absolute()) for path in paths)
    return Input(schema, "file", label, start, batch_rows, rows=rows, paths=names)


def _of_stream(data: Any, declared: pa.Schema | None, batch_rows: int) -> Input:
    root = type(data).__module__.split(".")[0].lstrip("_")
    label = f"{root} {type(data).__name__}"
    most = 0

    def counted(batches: Iterable[pa.RecordBatch]) -> Iterator[Element]:
        nonlocal most
        rows = 0
        for batch in batches:
            rows += batch.num_rows
            yield batch
        if most and not rows:  # an exporter that hands out the same drained stream again does not say so
            raise _consumed(label)
        most = max(most, rows)

    def start() -> Iterator[Element]:
        reader = _exported(data)
        # A DuckDB connection has one open result at a time: held open, it would shut out its other relations.
        yield from counted(reader.read_all().to_batches() if root == "duckdb" else reader)

    rows = len(data) if root in ("pandas", "polars") else None
    if declared is not None:
        return Input(declared, "memory", label, start, batch_rows, rows=rows)
    reader = _exported(data)
    schema = settled(reader.schema, label)
    if root == "duckdb":
        reader.close()
        return Input(schema, "memory", label, start, batch_rows)
    return Input(schema, "memory", label, start, batch_rows, rows=rows, peeked=counted(reader))


def _of_iterable(data: Iterable[Any], declared: pa.Schema | None, batch_rows: int, lull: Lull | None) -> Input:
    whole = isinstance(data, list | tuple)
    kind: Kind = "memory" if whole else "live"

    def start() -> Iterator[Element]:
        return _normal(data, lull)

    schema, peeked = (declared, None) if declared else _peek(start())
    once = isinstance(data, Iterator)
    plain = data if isinstance(data, list | tuple) else None
    waiting = partial(_says_waiting, data) if not whole and hasattr(data, "waiting") else None
    return Input(schema, kind, "iterable", start, batch_rows, once=once, peeked=peeked, plain=plain, waiting=waiting)


def _says_waiting(data: Any) -> bool:
    """What an iterable says itself, by an attribute or a method: is its next element at hand?"""
    return bool(data.waiting() if callable(data.waiting) else data.waiting)


def _count_rows(elements: Iterable[Any]) -> int | None:
    """Where it can be known without reading: none of them is itself to be read."""
    rows = 0
    for element in elements:
        if isinstance(element, pa.RecordBatch | pa.Table):
            rows += element.num_rows
        elif not isinstance(element, Punctuation):
            return None
    return rows


def _of_callable(data: Callable[[], Any], declared: pa.Schema | None, batch_rows: int, lull: Lull | None) -> Input:
    first = None if declared else open_input(data(), batch_rows=batch_rows, lull=lull)
    schema = first.schema if first else declared

    opened = first

    def start() -> Iterator[Element]:
        nonlocal opened
        opened = open_input(data(), schema=schema, batch_rows=batch_rows, lull=lull)
        yield from opened.elements()

    def waiting() -> bool:
        return opened is not None and opened.waiting is not None and opened.waiting()

    peeked = first.elements() if first else None
    return Input(schema, "live", "callable", start, batch_rows, peeked=peeked, waiting=waiting)


def _peek(elements: Iterator[Element]) -> tuple[pa.Schema, Iterator[Element]]:
    """The schema of the first batch, and the elements with what was read put back in front."""
    read: list[Element] = []
    for element in elements:
        read.append(element)
        if not isinstance(element, Punctuation):
            return settled(element.schema, "iterable"), _resumed(read, elements)
    hint = 'pass schema=, for example schema=pa.schema({"ts": pa.int64()})'
    raise SourceError("the iterable has no batch that shows its schema (was it consumed before?)", hint=hint)


def _watched(elements: Iterator[Any], lull: Lull | None) -> Iterator[Any]:
    return elements if lull is None else lull.watch(elements)


def _normal(data: Iterable[Any], lull: Lull | None) -> Iterator[Element]:
    """Batches and promises out of an iterable's elements; anything else is an error that says where."""
    iterator = _watched(iter(data), lull)
    with closing_if_possible(iterator):
        for position, element in enumerate(iterator):
            if isinstance(element, Punctuation):
                yield element
            elif isinstance(element, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
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


def _batches(data: Any) -> Iterator[Element]:
    if isinstance(data, pa.RecordBatch):
        yield data
    elif isinstance(data, pa.Table):  # one without rows may have no batch, and yet it has a schema
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


def _consumed(label: str) -> SourceError:
    hint = "pass a list, or a callable that makes a new one for each run"
    return SourceError(f"the {label} was already consumed: it can be read only once", hint=hint)


def _resumed(read: list[Any], rest: Iterator[Any]) -> Iterator[Any]:
    """What was read to know the schema, then the rest; closing it closes the user's generator."""
    with closing_if_possible(rest):
        yield from read
        yield from rest
