"""Sinks: where ``run(to=…)`` puts results. `targets` reads what ``to`` names.

A file is written under a temporary name beside its own and renamed when it is whole (`replacing`), so that no reader
ever sees half a file. Promises go into a file whose format can hold them; `oop.punctuated()` reads them back.

>>> import pyarrow as pa
>>> batches = []
>>> sink = open_sink(batches.append, pa.schema({"ts": pa.int64()}))
>>> sink.write(pa.record_batch({"ts": [1, 2]}))
>>> sink.close()
>>> batches[0].num_rows
2
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from oop.errors import SchemaMismatch, SinkError, WrongArgument
from oop.io.fitting import fit
from oop.io.replacing import Replacement, sweep, writing
from oop.io.targets import FileTarget, FolderTarget, ObjectTarget, RemoteFolder, read_target
from oop.punctuation import Punctuation

PART_ROWS = 1_000_000


class Sink(Protocol):
    """What the engine calls: ``write`` and ``promise`` in order of the stream, then either ``close`` or ``abort``."""

    def write(self, batch: pa.RecordBatch) -> None: ...

    def promise(self, punct: Punctuation) -> None: ...

    def close(self) -> None: ...

    def abort(self) -> None: ...


def open_sink(to: Any, schema: pa.Schema) -> Sink:
    """Open the sink that ``to`` names (see `oop.io.targets`).

    >>> import pyarrow as pa
    >>> open_sink("s3a://bucket/out/", pa.schema({"ts": pa.int64()}))
    Traceback (most recent call last):
        ...
    oop.errors.WrongArgument: s3a://bucket/out/ is on another file system, which only Spark can write to
    Hint: run it with engine=oop.Spark(…), or pass a callable that takes the batches
    """
    target = read_target(to)
    if isinstance(target, RemoteFolder):
        hint = "run it with engine=oop.Spark(…), or pass a callable that takes the batches"
        raise WrongArgument(f"{target.address} is on another file system, which only Spark can write to", hint=hint)
    if isinstance(target, FolderTarget):
        return DirectorySink(target.path, schema)
    if isinstance(target, FileTarget):
        return FileSink(target, schema)
    if isinstance(target, ObjectTarget):
        return ObjectSink(target.target)
    return CallableSink(target.function)


class CallableSink:
    """Calls a function with each batch; promises are dropped."""

    def __init__(self, function: Callable[[pa.RecordBatch], object]) -> None:
        self._function = function

    def write(self, batch: pa.RecordBatch) -> None:
        self._function(batch)

    def promise(self, punct: Punctuation) -> None:
        pass

    def close(self) -> None:
        pass

    def abort(self) -> None:
        pass


class ObjectSink:
    """An object with ``write``; ``promise``, ``close`` and ``abort`` are optional."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def write(self, batch: pa.RecordBatch) -> None:
        self._target.write(batch)

    def promise(self, punct: Punctuation) -> None:
        self._call("promise", punct)

    def close(self) -> None:
        self._call("close")

    def abort(self) -> None:
        # Never close() instead: many objects keep what they have when they are closed, and it is not whole here.
        self._call("abort")

    def _call(self, name: str, *arguments: object) -> None:
        method = getattr(self._target, name, None)
        if method is not None:
            method(*arguments)


class FileSink:
    """One file, which appears under its name at ``close``. ``abort`` leaves an older file as it was."""

    def __init__(self, target: FileTarget, schema: pa.Schema) -> None:
        path = target.path
        self._path = path
        self._format = target.format
        self._schema = schema if self._format.changes_dictionaries else _decoded(schema)
        self._new = Replacement(path)
        self._file: Any = None
        try:
            with writing(path), _typed(path, self._schema):
                self._file = pa.OSFile(str(self._new.temporary), "wb")
                self._writer = self._format.writer(self._file, self._schema)
        except BaseException:
            self._discard()
            raise
        self._open = True

    def write(self, batch: pa.RecordBatch) -> None:
        self._check_open()
        fitted = fit(batch, self._schema, f"writing {self._path.name}")
        with writing(self._path), _typed(self._path, self._schema):
            self._writer.write_batch(fitted)

    def promise(self, punct: Punctuation) -> None:
        self._check_open()
        if self._format.holds_promises:
            with writing(self._path):
                self._format.write_promise(self._writer, self._schema, punct)

    def close(self) -> None:
        if not self._open:
            return
        try:
            with writing(self._path):
                self._writer.close()
                self._file.close()
                self._new.finish()
            self._open = False
        finally:
            self.abort()

    def abort(self) -> None:
        if self._open:
            self._open = False
            with suppress(pa.ArrowException, OSError, ValueError):
                self._writer.close()  # a Parquet writer left open would write when it is garbage collected
            self._discard()

    def _discard(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # the disk may be full; the file is removed anyway
                self._file.close()
        self._new.discard()

    def _check_open(self) -> None:
        if not self._open:
            raise ValueError(f"{self._path} is closed")


class Occupied(SinkError, FileExistsError):
    """A folder holds files of another run."""


def prepare_folder(path: Path) -> None:
    """Make a folder to write to, unless it is there; files of another run in it are an error."""
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
        old = sorted(path.glob("part-*"))
    if old:
        raise Occupied(f"{path} holds {old[0].name} of another run", hint="remove it, or write elsewhere")
    with writing(path):
        sweep(path)


class DirectorySink:
    """Numbered Parquet files of at most `PART_ROWS` rows; each appears when it is whole.

    ``abort`` removes the file in progress and keeps the whole ones before it, which readers may have seen.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        prepare_folder(path)
        self._path = path
        self._schema = schema
        self._parts = 0
        self._rows = 0
        self._part: FileSink | None = None
        self._open = True

    def write(self, batch: pa.RecordBatch) -> None:
        if not self._open:
            raise ValueError(f"{self._path} is closed")
        at = 0
        while at < batch.num_rows:
            piece = batch.slice(at, PART_ROWS - self._rows)
            self._current().write(piece)
            at += piece.num_rows
            self._rows += piece.num_rows
            if self._rows == PART_ROWS:
                self._roll()

    def promise(self, punct: Punctuation) -> None:
        pass

    def close(self) -> None:
        if self._open and (self._part is not None or not self._parts):
            self._current()  # an empty answer is a file without rows, so that a reader finds the columns
            self._roll()
        self._open = False

    def abort(self) -> None:
        self._open = False
        if self._part is not None:
            self._part.abort()

    def _current(self) -> FileSink:
        if self._part is None:
            self._part = FileSink(FileTarget(self._path / f"part-{self._parts:05d}.parquet"), self._schema)
        return self._part

    def _roll(self) -> None:
        self._current().close()
        self._part = None
        self._parts += 1
        self._rows = 0


def _decoded(schema: pa.Schema) -> pa.Schema:
    kinds = [t.value_type if pa.types.is_dictionary(t) else t for t in schema.types]
    return pa.schema(list(zip(schema.names, kinds, strict=True)))


@contextmanager
def _typed(path: Path, schema: pa.Schema) -> Iterator[None]:
    """Turn a format's error about a type that it cannot hold into one that names the columns."""
    try:
        yield
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError, pa.ArrowInvalid) as error:
        columns = ", ".join(f"{field.name} {field.type}" for field in schema)
        hint = "write .arrow, which takes every type, or cast the column before, with .with_columns"
        raise SchemaMismatch(f"cannot write {path} with {columns}: {error}", hint=hint) from error
