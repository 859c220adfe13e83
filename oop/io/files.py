"""Files as streams of elements: Parquet, Arrow IPC, CSV, JSON lines.

`expand` turns what the user wrote into paths, `open_file` learns a file's schema and how to read it. All is
read in pieces of bounded size. A damaged file gives the rows before the damage, where its format allows (IPC
streams, CSV and JSON lines; Parquet and IPC files keep their index at the end), then a `SourceError`.

>>> from pathlib import Path
>>> expand("nowhere.parquet")
Traceback (most recent call last):
    ...
oop.errors.SourceError: nowhere.parquet: no such file or directory
Hint: check the path; relative paths start at the working directory
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from oop.errors import SourceError
from oop.io.ipc import Element, ipc_elements, ipc_schema, opened_ipc
from oop.io.sound import Sound, named, reading
from oop.io.text import first_rows, read_text

PathLike: TypeAlias = str | os.PathLike[str]

TEXT_ENDINGS = {".csv": ",", ".tsv": "\t", ".json": None, ".jsonl": None, ".ndjson": None}
PARQUET_ENDINGS = (".parquet", ".pq")
IPC_ENDINGS = (".arrow", ".feather", ".ipc", ".arrows")
_ENDINGS = (*PARQUET_ENDINGS, *IPC_ENDINGS, *TEXT_ENDINGS)
_CAN_READ = f"endings that can be read: {', '.join(_ENDINGS)}; the text formats also as .gz"


@dataclass(frozen=True)
class File:
    """A file whose schema is known. ``parses`` answers whether text may be read with another file's types."""

    path: Path
    schema: pa.Schema
    rows: int | None
    read: Callable[[pa.Schema, int], Iterator[Element]]
    parses: Callable[[pa.Schema], bool]


def ending(path: Path) -> str:
    """The last ending that is not ``.gz``, in lower case."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def expand(data: PathLike | Iterable[PathLike]) -> list[Path]:
    """The files that a path, a directory, a glob pattern or a list of them stands for, in reading order."""
    if not isinstance(data, str | os.PathLike):
        return [path for part in data for path in expand(part)]
    with reading(shown(data), "check the path, and that this user may look there"):
        return _expand(Path(os.path.expanduser(data)), data)


def shown(data: PathLike) -> str:
    """A path as text that can be printed and is not too long for it."""
    text = os.fspath(data).encode(errors="replace").decode(errors="replace").replace("\0", "\\0")
    return text if len(text) <= 300 else f"{text[:300]}…"


def _expand(path: Path, data: PathLike) -> list[Path]:
    if path.is_dir():
        # Names that start with . or _ are other programs' marks and files still being written.
        found = sorted(p for p in path.iterdir() if not p.name.startswith((".", "_")))
        for inner in found:
            if inner.is_dir() or not _known(inner):
                hint = f'say which files, for example "{path}/**/*.parquet"'
                raise SourceError(f"{path}: cannot read {inner.name} in it", hint=hint)
        if not found:
            raise SourceError(f"{path}: the directory holds no file", hint=_CAN_READ)
        return found
    if not path.exists():
        matches = sorted(glob.glob(str(path), recursive=True)) if glob.has_magic(str(path)) else []
        if not matches:
            hint = "check the path; relative paths start at the working directory"
            raise SourceError(f"{shown(data)}: no such file or directory", hint=hint)
        return [path for match in matches for path in expand(match)]
    if not _known(path):
        raise SourceError(f"{path}: unknown ending {path.suffix!r}", hint=_CAN_READ)
    return [path]


def _known(path: Path) -> bool:
    return ending(path) in (TEXT_ENDINGS if path.name.lower().endswith(".gz") else _ENDINGS)


def open_file(path: Path, schema: pa.Schema | None = None) -> File:
    """Learn a file's schema; ``schema`` gives types to text columns that it names."""
    with reading(path):
        size = path.stat().st_size
        if not path.is_file():
            hint = "for a pipe or a socket pass a callable that opens it: lambda: pa.ipc.open_stream(…)"
            raise SourceError(f"{path}: not a regular file", hint=hint)
        if size == 0:
            raise SourceError(f"{path}: the file is empty", hint="write it again, or leave it out")
        if ending(path) in PARQUET_ENDINGS:
            return _open_parquet(path)
        if ending(path) in IPC_ENDINGS:
            return _open_ipc(path)
        return _open_text(path, schema)


def _open_parquet(path: Path) -> File:
    import pyarrow.parquet as pq

    def read(schema: pa.Schema, batch_rows: int) -> Iterator[Element]:
        with reading(path), pq.ParquetFile(path) as file:
            yield from map(Sound(), file.iter_batches(batch_rows))

    with pq.ParquetFile(path) as file:
        return File(path, named(file.schema_arrow), file.metadata.num_rows, read, lambda schema: False)


def _open_ipc(path: Path) -> File:
    def read(schema: pa.Schema, batch_rows: int) -> Iterator[Element]:
        with opened_ipc(path) as reader:
            yield from ipc_elements(reader, str(path))

    return File(path, ipc_schema(path), None, read, lambda schema: False)


def _open_text(path: Path, schema: pa.Schema | None) -> File:
    delimiter = TEXT_ENDINGS[ending(path)]
    table, error = first_rows(path, delimiter, schema)
    if table is None and schema is None:
        what = str(error).partition("\n")[0]
        hint = "the first line must name the columns" if delimiter else "JSON must be one object on each line"
        raise SourceError(f"{path}: line 1 cannot be read: {what}", hint=hint) from error
    found: Any = schema if table is None else table.schema
    if not found.names:
        raise SourceError(f"{path}: no columns", hint="pass schema=, or leave the file out")

    def parses(other: pa.Schema) -> bool:
        table, error = first_rows(path, delimiter, other)
        return error is None and set(table.column_names) == set(other.names)

    def read(types: pa.Schema, batch_rows: int) -> Iterator[Element]:
        with reading(path):
            yield from read_text(path, delimiter, types)

    return File(path, found, None, read, parses)
