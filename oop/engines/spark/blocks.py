"""Blocks: the pieces in which files are read by position. A row group of Parquet, a batch of an Arrow IPC file.

A position is the number of a file and of a block in it, so that a micro-batch can be read again exactly. Everything
else that a source may be given is first written to such files (`spool`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from oop.io.files import PARQUET_ENDINGS, ending
from oop.io.fitting import fit
from oop.io.ipc import Element, element_at, ipc_rows, opened_ipc
from oop.io.sound import Sound, reading
from oop.kernels import views
from oop.punctuation import Punctuation


@dataclass(frozen=True)
class Block:
    """``greatest`` is the greatest time in it where the file says so, and every row has one."""

    path: str
    number: int
    rows: int
    greatest: int | None = None
    final: bool = False  # of the last file there is: only there does an END in the file end the stream


@dataclass(frozen=True)
class Position:
    """The next block to read, and how many blocks came before it in all files."""

    file: int = 0
    block: int = 0
    blocks: int = 0


@dataclass(frozen=True)
class Listing:
    """The files there are, and whether more may come. ``failure`` is why no more will."""

    paths: tuple[str, ...]
    ended: bool
    failure: str | None = None


@dataclass(frozen=True)
class Files:
    """Files that lie there whole, read in this order."""

    paths: tuple[str, ...]

    def listing(self) -> Listing:
        return Listing(self.paths, True)


def following(listing: Listing, at: Position, time: str) -> Iterator[tuple[Block, Position]]:
    """The blocks from a position on, each with the position behind it."""
    for file in range(at.file, len(listing.paths)):
        blocks = blocks_of(listing.paths[file], time)
        final = listing.ended and file == len(listing.paths) - 1
        for block in blocks[at.block if file == at.file else 0 :]:
            last = block.number == len(blocks) - 1
            at = Position(file + 1, 0, at.blocks + 1) if last else Position(file, block.number + 1, at.blocks + 1)
            yield replace(block, final=final), at


def blocks_of(path: str, time: str) -> tuple[Block, ...]:
    """The blocks of a file, from what it says about itself; found out again when the file is another."""
    with reading(Path(path)):
        said = Path(path).stat()
    return _blocks_of(path, time, said.st_mtime_ns, said.st_size)


@lru_cache(4096)
def _blocks_of(path: str, time: str, modified: int, size: int) -> tuple[Block, ...]:
    with reading(Path(path)):
        if ending(Path(path)) in PARQUET_ENDINGS:
            import pyarrow.parquet as pq

            with pq.ParquetFile(path) as file:
                found = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
                type_ = file.schema_arrow.field(time).type
                # ``a.b`` may also be a field of ``a``
                flat = not any(pa.types.is_nested(field.type) for field in file.schema_arrow)
            greatest = [_greatest(g, time, type_) if flat else None for g in found]
            return tuple(Block(path, i, g.num_rows, greatest[i]) for i, g in enumerate(found))
        return tuple(Block(path, i, rows) for i, rows in enumerate(ipc_rows(Path(path), time)))


def _greatest(group: Any, time: str, type_: pa.DataType) -> int | None:
    """From a row group's statistics; not for floats, whose NaN they leave out."""
    for i in range(group.num_columns):
        column = group.column(i)
        if column.path_in_schema != time:
            continue
        said = column.statistics
        if said is None or not said.has_min_max or not said.has_null_count or said.null_count:
            return None
        if pa.types.is_floating(type_) or pa.types.is_decimal(type_):
            return None
        try:
            return int(views.times(pa.array([said.max], type_))[0])
        except (pa.ArrowException, OverflowError, ValueError):  # a type of time that Python has no value for
            return None
    return None


def read_block(block: Block, schema: pa.Schema, columns: list[str] | None = None) -> Iterator[Element]:
    """The elements of a block: batches with exactly this schema (or of it these columns), and promises."""
    if columns is not None:
        schema = pa.schema([schema.field(c) for c in columns])
    where = f"block {block.number} (from 0) of {block.path}"
    with reading(Path(block.path)):
        if ending(Path(block.path)) in PARQUET_ENDINGS:
            import pyarrow.parquet as pq

            with pq.ParquetFile(block.path) as file:
                table = file.read_row_group(block.number, columns)
            sound = pa.Table.from_batches(map(Sound(), table.to_batches()), table.schema)  # before it is copied
            elements: list[Element] = list(sound.combine_chunks().to_batches())
        else:
            with opened_ipc(Path(block.path)) as reader:
                elements = list(element_at(reader, block.number, block.path))
    for element in elements:
        if isinstance(element, Punctuation):
            if block.final or not element.is_end:  # the end of one file is not yet the end of the stream
                yield element
        else:
            yield fit(element if columns is None else element.select(columns), schema, where)
