"""Arrow IPC files and streams as elements: batches, and promises in their metadata.

Files are read, not mapped: another process that shortens a mapped file ends this one (SIGBUS).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from oop.errors import SourceError
from oop.io.sound import Sound, named, reading
from oop.punctuation import Punctuation

InputElement: TypeAlias = pa.RecordBatch | Punctuation

PROMISE_KEY = b"oop.punctuation"
_NO_FOOTER = "the footer is missing: write it again; of a stream (.arrows) the rows before a cut can be read"


@contextmanager
def opened_ipc(path: Path, column: str | None = None) -> Iterator[Any]:
    """A reader of an IPC file or stream, whichever the path holds. With ``column`` it reads only that column of a
    file."""
    with reading(path), pa.OSFile(str(path)) as source:
        is_file = source.read(6) == b"ARROW1"
        source.seek(0)
        if not is_file:
            yield pa.ipc.open_stream(source)
            return
        with reading(path, _NO_FOOTER):
            reader = pa.ipc.open_file(source)
        if column is not None:
            fields = [reader.schema.get_field_index(column)]
            reader = pa.ipc.open_file(source, options=pa.ipc.IpcReadOptions(included_fields=fields))
        yield reader


def ipc_schema(path: Path) -> pa.Schema:
    with opened_ipc(path) as reader:
        return named(reader.schema)


def ipc_rows(path: Path, column: str) -> list[int]:
    """The rows of each batch of an IPC file. No more than one column is read."""
    with opened_ipc(path, column) as reader:
        return [reader.get_batch(number).num_rows for number in range(reader.num_record_batches)]


def ipc_elements(reader: Any, where: str) -> Iterator[InputElement]:
    """The batches of an IPC reader, and its promises: zero-row batches with metadata ``oop.punctuation``."""
    sound = Sound()
    if isinstance(reader, pa.ipc.RecordBatchFileReader):
        for number in range(reader.num_record_batches):
            yield from element_at(reader, number, where, sound)
        return
    number = 0
    while True:
        place = f"{where}: batch {number} (from 0)"
        with reading(place):
            try:
                batch, metadata = reader.read_next_batch_with_custom_metadata()
            except StopIteration:
                return
            sound(batch)
        yield from _with_promise(batch, metadata, place)
        number += 1


def element_at(reader: Any, number: int, where: str, sound: Sound | None = None) -> Iterator[InputElement]:
    """One batch of an IPC file, and the promise that it carries."""
    place = f"{where}: batch {number} (from 0)"
    with reading(place):
        batch, metadata = reader.get_batch_with_custom_metadata(number)
        (sound or Sound())(batch)
    return _with_promise(batch, metadata, place)


def _with_promise(batch: pa.RecordBatch, metadata: Any, where: str) -> Iterator[InputElement]:
    promised = metadata is not None and PROMISE_KEY in metadata
    if batch.num_rows or not promised:
        yield batch
    if not promised:
        return
    try:
        yield Punctuation.from_json(metadata[PROMISE_KEY])
    except (ValueError, TypeError) as error:
        hint = 'write promises as {"below": {"ts": 17}}, or with Punctuation.to_json()'
        raise SourceError(f"{where}: {error}", hint=hint) from error
