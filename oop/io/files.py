"""Files as streams of elements, in any of the formats of `oop.io.formats`.

`expand` turns what the user wrote into paths, `open_file` learns a file's schema and how to read it. Files are read in
batches of bounded size. A damaged file gives the rows before the damage, where its format allows it (IPC streams, CSV
and JSON lines; Parquet and IPC files keep their index at the end), then a `SourceError`.

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
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from oop.errors import SourceError
from oop.io.formats import File, endings_read, format_of
from oop.io.sound import reading

PathLike: TypeAlias = str | os.PathLike[str]


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
            if inner.is_dir() or format_of(inner) is None:
                hint = f'say which files, for example "{path}/**/*.parquet"'
                raise SourceError(f"{path}: cannot read {inner.name} in it", hint=hint)
        if not found:
            raise SourceError(f"{path}: the directory holds no file", hint=endings_read())
        return found
    if not path.exists():
        matches = sorted(glob.glob(str(path), recursive=True)) if glob.has_magic(str(path)) else []
        if not matches:
            hint = "check the path; relative paths start at the working directory"
            raise SourceError(f"{shown(data)}: no such file or directory", hint=hint)
        return [path for match in matches for path in expand(match)]
    if format_of(path) is None:
        raise SourceError(f"{path}: unknown ending {path.suffix!r}", hint=endings_read())
    return [path]


def open_file(path: Path, schema: pa.Schema | None = None) -> File:
    """Learn a file's schema; ``schema`` gives types to text columns that it names."""
    with reading(path):
        size = path.stat().st_size
        if not path.is_file():
            hint = "for a pipe or a socket pass a callable that opens it: lambda: pa.ipc.open_stream(…)"
            raise SourceError(f"{path}: not a regular file", hint=hint)
        if size == 0:
            raise SourceError(f"{path}: the file is empty", hint="write it again, or leave it out")
        found = format_of(path)
        assert found is not None, "expand gives files of known formats"
        return found.open(path, schema)
