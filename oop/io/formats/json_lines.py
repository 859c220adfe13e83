"""JSON with one object on each line."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from oop.io.formats.format import File, Format
from oop.io.formats.text_file import open_text


class JsonLines(Format):
    endings = (".json", ".jsonl", ".ndjson")
    compressions = (".gz",)

    def open(self, path: Path, schema: pa.Schema | None) -> File:
        return open_text(path, None, schema, "JSON must be one object on each line")
