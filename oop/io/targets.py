"""What ``run(to=…)`` means, the same on every engine: a file, a folder, a callable, or an object with ``write``.

>>> read_target("counts.parquet")
FileTarget(path=PosixPath('counts.parquet'))
>>> read_target("counts/"), read_target("counts")
(FolderTarget(path=PosixPath('counts')), FolderTarget(path=PosixPath('counts')))
>>> read_target("s3a://bucket/counts/")
RemoteFolder(address='s3a://bucket/counts/')
>>> read_target("counts.txt")
Traceback (most recent call last):
    ...
oop.errors.WrongArgument: cannot write counts.txt: endings are .arrow, ...
Hint: choose one of them; / at the end names a folder
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from oop.errors import WrongArgument
from oop.frozen import frozen
from oop.io.formats import Format, endings_written, format_of


@frozen()
class FileTarget:
    """One file, in the format that its ending names; it appears when it is whole."""

    path: Path

    @property
    def format(self) -> Format:
        found = format_of(self.path)
        if found is None or not found.can_write or self.path.suffix.lower() in found.compressions:
            hint = "choose one of them; / at the end names a folder"
            raise WrongArgument(f"cannot write {self.path}: endings are {endings_written()}, /", hint=hint)
        return found


@frozen()
class FolderTarget:
    """A folder of Parquet files, with none of another run in it."""

    path: Path


@frozen()
class RemoteFolder:
    """A folder of Parquet files on a file system that only Spark knows, by its address."""

    address: str


@frozen()
class CallableTarget:
    """A function that takes each batch."""

    function: Callable[[pa.RecordBatch], object]


@frozen()
class ObjectTarget:
    """An object with ``write(batch)``; ``promise``, ``close`` and ``abort`` are optional."""

    target: Any


Target: TypeAlias = FileTarget | FolderTarget | RemoteFolder | CallableTarget | ObjectTarget


def read_target(to: Any) -> Target:
    """What ``to`` names. A path is a folder if it ends in a slash, is one already, or has no ending."""
    if isinstance(to, str | os.PathLike):
        return _read_path(os.fspath(to))
    if hasattr(to, "write"):
        return ObjectTarget(to)
    if callable(to):
        return CallableTarget(to)
    hint = "to='out.parquet', to=batches.append"
    raise WrongArgument(
        f"to= takes a path, a callable or an object with write(batch), not a {type(to).__name__}", hint=hint
    )


def _read_path(said: str) -> Target:
    if "\0" in said:
        raise WrongArgument(f"{said!r} is no path", hint="a path has no zero byte in it")
    ends_as_folder = said.endswith(("/", os.sep))
    if is_address(said):
        if not ends_as_folder and Path(said).suffix:
            hint = f"name a folder there: {said}/"
            raise WrongArgument(f"cannot write {said}: one file is written by this process, here", hint=hint)
        return RemoteFolder(said)
    path = Path(os.path.expanduser(said))
    if ends_as_folder or not path.suffix or os.path.isdir(path):  # isdir is False where this user may not look
        return FolderTarget(path)
    target = FileTarget(path)
    _ = target.format  # refuses an ending that cannot be written
    return target


def is_address(path: str) -> bool:
    """Does the path name a file system as well as a place in it?

    >>> is_address("hdfs://host/out"), is_address("/tmp/out")
    (True, False)
    """
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", path) is not None
