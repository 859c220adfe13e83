"""Arrow IPC files and streams, which also hold promises. Reading goes by a file's content, not by its ending."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from oop.io.formats.format import File, FilePiece, Format, Writer
from oop.io.ipc import PROMISE_KEY, InputElement, element_at, ipc_elements, ipc_rows, ipc_schema, opened_ipc
from oop.io.sound import reading
from oop.punctuation import Punctuation


class ArrowFile(Format):
    """An IPC file: it has an index at its end, so that batches can be read by number."""

    endings: ClassVar[tuple[str, ...]] = (".arrow", ".feather", ".ipc")
    can_write = True
    holds_promises = True

    def open(self, path: Path, schema: pa.Schema | None) -> File:
        def read(schema: pa.Schema, batch_rows: int) -> Iterator[InputElement]:
            with opened_ipc(path) as reader:
                yield from ipc_elements(reader, str(path))

        return File(path, ipc_schema(path), None, read)

    def writer(self, file: pa.NativeFile, schema: pa.Schema) -> Writer:
        return pa.ipc.new_file(file, schema)

    def write_promise(self, writer: Any, schema: pa.Schema, promise: Punctuation) -> None:
        empty = pa.RecordBatch.from_pylist([], schema=schema)
        writer.write_batch(empty, custom_metadata={PROMISE_KEY: promise.to_json()})

    def has_pieces(self, path: Path) -> bool:
        """True for an IPC file, which begins with its magic word; a stream does not, whatever its ending."""
        with reading(path), path.open("rb") as file:
            return file.read(6) == b"ARROW1"

    def pieces(self, path: Path, time: str) -> list[FilePiece]:
        return [FilePiece(rows) for rows in ipc_rows(path, time)]

    def read_piece(self, path: Path, number: int, columns: list[str] | None) -> list[InputElement]:
        with opened_ipc(path) as reader:
            return list(element_at(reader, number, str(path)))


class ArrowStream(ArrowFile):
    """An IPC stream: it has no index, and if it was cut, the batches before the cut can be read."""

    endings = (".arrows",)
    changes_dictionaries = True

    def writer(self, file: pa.NativeFile, schema: pa.Schema) -> Writer:
        return pa.ipc.new_stream(file, schema)
