"""A file of text, whose types are guessed from its first rows unless they are given."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from oop.errors import SourceError
from oop.io.formats.format import File
from oop.io.ipc import InputElement
from oop.io.sound import reading
from oop.io.text import first_rows, read_text_file


def open_text(path: Path, delimiter: str | None, schema: pa.Schema | None, hint: str) -> File:
    """Learn the schema of a text file (see `oop.io.text`); ``hint`` is for one whose first line cannot be read."""
    table, error = first_rows(path, delimiter, schema)
    if table is None and schema is None:
        what = str(error).partition("\n")[0]
        raise SourceError(f"{path}: line 1 cannot be read: {what}", hint=hint) from error
    found: Any = schema if table is None else table.schema
    if not found.names:
        raise SourceError(f"{path}: no columns", hint="pass schema=, or leave the file out")

    def parses(other: pa.Schema) -> bool:
        table, error = first_rows(path, delimiter, other)
        return error is None and set(table.column_names) == set(other.names)

    def read(types: pa.Schema, batch_rows: int) -> Iterator[InputElement]:
        with reading(path):
            yield from read_text_file(path, delimiter, types)

    return File(path, found, None, read, parses)
