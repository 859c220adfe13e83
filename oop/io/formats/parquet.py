"""Parquet: its row groups can be read by number, and tell the greatest time in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from oop.io.formats.format import File, FilePiece, Format, Writer
from oop.io.ipc import InputElement
from oop.io.sound import Sound, named, reading
from oop.kernels import views


class Parquet(Format):
    endings = (".parquet", ".pq")
    can_write = True
    changes_dictionaries = True

    def open(self, path: Path, schema: pa.Schema | None) -> File:
        import pyarrow.parquet as pq

        def read(schema: pa.Schema, batch_rows: int) -> Iterator[InputElement]:
            with reading(path), pq.ParquetFile(path) as file:
                yield from map(Sound(), file.iter_batches(batch_rows))

        with pq.ParquetFile(path) as file:
            return File(path, named(file.schema_arrow), file.metadata.num_rows, read)

    def writer(self, file: pa.NativeFile, schema: pa.Schema) -> Writer:
        import pyarrow.parquet as pq

        return pq.ParquetWriter(file, schema)

    def has_pieces(self, path: Path) -> bool:
        return True

    def pieces(self, path: Path, time: str) -> list[FilePiece]:
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            found = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
            type_ = file.schema_arrow.field(time).type
            # ``a.b`` may also be a field of ``a``
            flat = not any(pa.types.is_nested(field.type) for field in file.schema_arrow)
        return [FilePiece(group.num_rows, _greatest(group, time, type_) if flat else None) for group in found]

    def read_piece(self, path: Path, number: int, columns: list[str] | None) -> list[InputElement]:
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            table = file.read_row_group(number, columns)
        sound = pa.Table.from_batches(map(Sound(), table.to_batches()), table.schema)  # before it is copied
        return list(sound.combine_chunks().to_batches())


def _greatest(group: Any, time: str, type_: pa.DataType) -> int | None:
    """The greatest time by a row group's statistics. Not for floats: statistics leave NaN out."""
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
        except (pa.ArrowException, OverflowError, ValueError):  # a time that Python cannot represent
            return None
    return None
