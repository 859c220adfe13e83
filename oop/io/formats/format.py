"""What a file format is: the endings that name it, and how its files are read, as a whole or by pieces, and written.

A format is a subclass of `Format` that names its ``endings``; from then on `format_of` finds it, and with it sources,
sinks and both engines. Nothing else in the package lists endings.

>>> format_of(Path("packets.CSV.gz")).endings
('.csv',)
>>> format_of(Path("packets.txt")) is None
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pyarrow as pa

from oop.frozen import frozen
from oop.io.ipc import InputElement
from oop.punctuation import Punctuation

FORMATS: dict[str, Format] = {}
"""The format of each ending, in lower case."""


@frozen()
class File:
    """A file whose schema is known. ``rows`` is the number of its rows, where the file tells it.

    ``read`` takes the types for columns of text and the greatest number of rows of a batch. ``parses`` answers whether
    text may be read with another file's types.
    """

    path: Path
    schema: pa.Schema
    rows: int | None
    read: Callable[[pa.Schema, int], Iterator[InputElement]]
    parses: Callable[[pa.Schema], bool] = lambda schema: False


@frozen()
class FilePiece:
    """A piece of a file that can be read by its number. ``greatest`` is the greatest time in it, where the file tells
    it and every row has a time."""

    rows: int
    greatest: int | None = None


class Writer(Protocol):
    """What writes a file's batches; ``close`` completes the file and leaves the handle open."""

    def write_batch(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...


class Format:
    """A file format. A subclass that names ``endings`` is known by them as soon as its class is defined.

    ``compressions`` are endings that may follow when a file is read; ``open`` then meets compressed bytes.
    ``can_write`` says that `writer` is there. ``holds_promises`` says that a file keeps promises beside rows (see
    `write_promise`), ``changes_dictionaries`` that batches may bring dictionaries of their own: a format without it is
    given decoded values.
    """

    endings: ClassVar[tuple[str, ...]] = ()
    compressions: ClassVar[tuple[str, ...]] = ()
    can_write: ClassVar[bool] = False
    holds_promises: ClassVar[bool] = False
    changes_dictionaries: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for ending in cls.__dict__.get("endings", ()):
            known = FORMATS.get(ending)
            if known is not None:
                raise TypeError(f"{ending} already names the format {type(known).__name__}")
            FORMATS[ending] = cls()

    def open(self, path: Path, schema: pa.Schema | None) -> File:
        """Learn the schema of a file that is there and not empty; ``schema`` gives types to columns of text.

        It raises SourceError, or what `oop.io.sound.reading` makes one of: errors of Arrow, OSError, EOFError and those
        of zlib. Anything else reaches the user as it is.
        """
        raise NotImplementedError

    def writer(self, file: pa.NativeFile, schema: pa.Schema) -> Writer:
        """What writes batches of this schema to an open file."""
        raise NotImplementedError

    def write_promise(self, writer: Any, schema: pa.Schema, promise: Punctuation) -> None:
        """Write a promise between two batches; only asked of a format that holds them."""
        raise NotImplementedError

    def has_pieces(self, path: Path) -> bool:
        """Can pieces of this file be read by number? Spark then reads it in place; any other file goes through the
        driver. Workers know the formats that are part of the package."""
        return False

    def pieces(self, path: Path, time: str) -> list[FilePiece]:
        """The pieces of a file, from its own index. ``time`` is the column whose greatest value is told."""
        raise NotImplementedError

    def read_piece(self, path: Path, number: int, columns: list[str] | None) -> list[InputElement]:
        """The batches and promises of one piece. ``columns`` are those that are needed; others may be left out."""
        raise NotImplementedError


def format_of(path: Path) -> Format | None:
    """The format that a file's name says, if it is known: by its last ending, or by the one before a compression."""
    name = Path(path.name.lower())
    if name.suffix in FORMATS:
        return FORMATS[name.suffix]
    found = FORMATS.get(Path(name.stem).suffix)
    return found if found is not None and name.suffix in found.compressions else None


def endings_read() -> str:
    """All endings that can be read, for a message."""
    packed = sorted({f"{ending}{more}" for ending, f in FORMATS.items() for more in f.compressions})
    return f"endings that can be read: {', '.join([*sorted(FORMATS), *packed])}"


def endings_written() -> str:
    """All endings that can be written, for a message."""
    return ", ".join(sorted(ending for ending, f in FORMATS.items() if f.can_write))
