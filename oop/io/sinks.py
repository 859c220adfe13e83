"""Where ``run(to=…)`` puts what comes out: a path, a callable, or an object with ``write``.

A file is written under a temporary name beside its own and renamed when it is whole (`replacing`), so that no reader
ever sees half a file. Only IPC files and streams can hold promises; what they hold `oop.punctuated()` reads back.

>>> import pyarrow as pa
>>> batches = []
>>> sink = open_sink(batches.append, pa.schema({"ts": pa.int64()}))
>>> sink.write(pa.record_batch({"ts": [1, 2]}))
>>> sink.close()
>>> batches[0].num_rows
2
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from oop.errors import SchemaMismatch, SinkError, WrongArgument
from oop.io.fitting import fit
from oop.io.ipc import PROMISE_KEY
from oop.io.replacing import Replacement, sweep, writing
from oop.punctuation import Punctuation

PART_ROWS = 1_000_000


class Sink(Protocol):
    """What the engine calls: batches and promises in order, then either ``close`` or ``abort``."""

    def write(self, batch: pa.RecordBatch) -> None: ...

    def promise(self, punct: Punctuation) -> None: ...

    def close(self) -> None: ...

    def abort(self) -> None: ...


def open_sink(to: Any, schema: pa.Schema) -> Sink:
    """Open the sink that ``to`` names.

    >>> import pyarrow as pa
    >>> open_sink("out.txt", pa.schema({"ts": pa.int64()}))
    Traceback (most recent call last):
        ...
    oop.errors.WrongArgument: cannot write out.txt: endings are .parquet, .pq, .arrow, .ipc, .feather, .arrows, .csv, /
    Hint: choose one of them
    """
    if isinstance(to, str | os.PathLike):
        path = Path(os.path.expanduser(to))
        if "\0" in str(path):
            raise WrongArgument(f"{str(path)!r} is no path", hint="a path has no zero byte in it")
        if str(to).endswith(("/", os.sep)) or os.path.isdir(path):  # which says no where it must not look
            return DirectorySink(path, schema)
        return FileSink(path, schema)
    if hasattr(to, "write"):
        return ObjectSink(to)
    if callable(to):
        return CallableSink(to)
    hint = "to='out.parquet', to=batches.append"
    raise WrongArgument(
        f"to= takes a path, a callable or an object with write(batch), not a {type(to).__name__}", hint=hint
    )


class CallableSink:
    """Calls a function with each batch; promises are not for it."""

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
    """An object with ``write``; of ``promise``, ``close`` and ``abort`` it may lack any."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def write(self, batch: pa.RecordBatch) -> None:
        self._target.write(batch)

    def promise(self, punct: Punctuation) -> None:
        self._call("promise", punct)

    def close(self) -> None:
        self._call("close")

    def abort(self) -> None:
        # Not close() in its place: to many objects that means "keep it", and what is there is not whole.
        self._call("abort")

    def _call(self, name: str, *arguments: object) -> None:
        method = getattr(self._target, name, None)
        if method is not None:
            method(*arguments)


class FileSink:
    """One file; it appears under its name at ``close``. ``abort`` leaves an older file as it was."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        make = _WRITERS.get(path.suffix.lower())
        if make is None:
            known = ", ".join(_WRITERS)
            raise WrongArgument(f"cannot write {path}: endings are {known}, /", hint="choose one of them")
        self._path = path
        # Neither CSV nor the IPC file format can change dictionaries from batch to batch.
        self._schema = schema if make in (_parquet_writer, _stream_writer) else _decoded(schema)
        self._promises = make in (_file_writer, _stream_writer)
        self._new = Replacement(path)
        self._file: Any = None
        try:
            with writing(path), _typed(path, self._schema):
                self._file = pa.OSFile(str(self._new.temporary), "wb")
                self._writer = make(self._file, self._schema)
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
        if self._promises:
            empty = pa.RecordBatch.from_pylist([], schema=self._schema)
            with writing(self._path):
                self._writer.write_batch(empty, custom_metadata={PROMISE_KEY: punct.to_json()})

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
                self._writer.close()  # a Parquet writer left open would try it again when it is collected
            self._discard()

    def _discard(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # on a full disk; nothing of it will be kept
                self._file.close()
        self._new.discard()

    def _check_open(self) -> None:
        if not self._open:
            raise ValueError(f"{self._path} is closed")


class Occupied(SinkError, FileExistsError):
    """A folder has the parts of another run in it."""


class DirectorySink:
    """Numbered Parquet files of at most `PART_ROWS` rows; each appears when it is whole.

    ``abort`` removes the part in progress and keeps the whole ones before it, which readers may have seen.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        with writing(path):
            path.mkdir(parents=True, exist_ok=True)
            old = sorted(path.glob("part-*"))
        if old:
            raise Occupied(f"{path} holds {old[0].name} of another run", hint="remove it, or write elsewhere")
        with writing(path):
            sweep(path)
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
            self._part = FileSink(self._path / f"part-{self._parts:05d}.parquet", self._schema)
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
    """What a format has no place for is an error about the columns."""
    try:
        yield
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError, pa.ArrowInvalid) as error:
        columns = ", ".join(f"{field.name} {field.type}" for field in schema)
        hint = "write .arrow, which takes every type, or cast the column before, with .with_columns"
        raise SchemaMismatch(f"cannot write {path} with {columns}: {error}", hint=hint) from error


def _parquet_writer(file: pa.NativeFile, schema: pa.Schema) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetWriter(file, schema)


def _csv_writer(file: pa.NativeFile, schema: pa.Schema) -> Any:
    import pyarrow.csv as arrow_csv

    return arrow_csv.CSVWriter(file, schema)


def _file_writer(file: pa.NativeFile, schema: pa.Schema) -> Any:
    return pa.ipc.new_file(file, schema)


def _stream_writer(file: pa.NativeFile, schema: pa.Schema) -> Any:
    return pa.ipc.new_stream(file, schema)


_WRITERS: dict[str, Callable[[pa.NativeFile, pa.Schema], Any]] = {
    ".parquet": _parquet_writer,
    ".pq": _parquet_writer,
    ".arrow": _file_writer,
    ".ipc": _file_writer,
    ".feather": _file_writer,
    ".arrows": _stream_writer,
    ".csv": _csv_writer,
}
