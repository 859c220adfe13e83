"""Text with one record on a line and a delimiter between values: CSV and TSV. The first line names the columns."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from oop.io.formats.format import File, Format, Writer
from oop.io.formats.text_file import open_text


class Csv(Format):
    endings: ClassVar[tuple[str, ...]] = (".csv",)
    compressions = (".gz",)
    can_write = True
    delimiter: ClassVar[str] = ","

    def open(self, path: Path, schema: pa.Schema | None) -> File:
        return open_text(path, self.delimiter, schema, "the first line must name the columns")

    def writer(self, file: pa.NativeFile, schema: pa.Schema) -> Writer:
        import pyarrow.csv as arrow_csv

        return arrow_csv.CSVWriter(file, schema, write_options=arrow_csv.WriteOptions(delimiter=self.delimiter))


class Tsv(Csv):
    endings = (".tsv",)
    delimiter = "\t"
