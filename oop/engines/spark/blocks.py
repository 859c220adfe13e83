"""Blocks: files are read by position, block by block. A block is a row group of Parquet or a batch of an Arrow IPC
file.

A position is the number of a file and of a block in it, so that a micro-batch can be read again exactly. All other data
that a source may be given is first written to such files (`spool.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pyarrow as pa

from oop.frozen import frozen
from oop.io.fitting import fit
from oop.io.formats import Format, format_of
from oop.io.ipc import InputElement
from oop.io.sound import reading
from oop.punctuation import Punctuation


@frozen()
class Block:
    """One block of a file. ``greatest`` is the greatest time in it, if the file says so and every row has a time."""

    path: str
    number: int
    rows: int
    greatest: int | None = None
    final: bool = False  # is it in the last file? Only there does an END in the file end the stream


@frozen()
class Position:
    """The next block to read, and how many blocks came before it in all files."""

    file: int = 0
    block: int = 0
    blocks: int = 0


@frozen()
class Listing:
    """The files so far. ``ended`` says that no more will come, and ``failure`` why the input broke off, if it did."""

    paths: tuple[str, ...]
    ended: bool
    failure: str | None = None


@frozen()
class Files:
    """Complete files, which are read in this order."""

    paths: tuple[str, ...]

    def listing(self) -> Listing:
        return Listing(self.paths, True)


def following(listing: Listing, at: Position, time: str) -> Iterator[tuple[Block, Position]]:
    """The blocks from a position on, each with the position of the next one."""
    for file in range(at.file, len(listing.paths)):
        blocks = blocks_of(listing.paths[file], time)
        final = listing.ended and file == len(listing.paths) - 1
        for block in blocks[at.block if file == at.file else 0 :]:
            last = block.number == len(blocks) - 1
            at = Position(file + 1, 0, at.blocks + 1) if last else Position(file, block.number + 1, at.blocks + 1)
            yield replace(block, final=final), at


def blocks_of(path: str, time: str) -> tuple[Block, ...]:
    """The blocks of a file, as its metadata tells. They are looked up again when its time or size has changed."""
    with reading(Path(path)):
        said = Path(path).stat()
    return _blocks_of(path, time, said.st_mtime_ns, said.st_size)


@lru_cache(4096)
def _blocks_of(path: str, time: str, modified: int, size: int) -> tuple[Block, ...]:
    with reading(Path(path)):
        pieces = _format(path).pieces(Path(path), time)
    return tuple(Block(path, i, piece.rows, piece.greatest) for i, piece in enumerate(pieces))


def _format(path: str) -> Format:
    found = format_of(Path(path))
    assert found is not None, "files are looked at before blocks of them are read"
    return found


def read_block(block: Block, schema: pa.Schema, columns: list[str] | None = None) -> Iterator[InputElement]:
    """The elements of a block: promises, and batches with exactly this schema, or with these ``columns`` of it."""
    if columns is not None:
        schema = pa.schema([schema.field(c) for c in columns])
    where = f"block {block.number} (from 0) of {block.path}"
    with reading(Path(block.path)):
        elements = _format(block.path).read_piece(Path(block.path), block.number, columns)
    for element in elements:
        if isinstance(element, Punctuation):
            if block.final or not element.is_end:  # the end of one file is not yet the end of the stream
                yield element
        else:
            yield fit(element if columns is None else element.select(columns), schema, where)
