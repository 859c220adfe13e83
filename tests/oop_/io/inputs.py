"""A table that the tests of inputs write to files and read back: its rows, its promises, and the error behind them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

from oop.errors import SchemaMismatch, SourceError
from oop.io.data import Data
from oop.punctuation import Punctuation

N = 1_000
TABLE = pa.table({"ts": list(range(N)), "k": [f"k{i % 7}" for i in range(N)]})
BATCHES = TABLE.to_batches(max_chunksize=100)
P = Punctuation(below={"ts": 5})


def batches_of(given: Data) -> list[pa.RecordBatch]:
    return [e for e in given.elements() if not isinstance(e, Punctuation)]


def rows_of(given: Data) -> list[dict[str, Any]]:
    return [row for batch in batches_of(given) for row in batch.to_pylist()]


def until_error(given: Data) -> tuple[list[dict[str, Any]], Exception]:
    """The rows that came, and the error that then did."""
    rows: list[dict[str, Any]] = []
    with pytest.raises((SourceError, SchemaMismatch)) as caught:
        for element in given.elements():
            rows += [] if isinstance(element, Punctuation) else element.to_pylist()
    return rows, caught.value


def write_ipc(path: Path, elements: list[Any], stream: bool, schema: pa.Schema = TABLE.schema) -> Path:
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(str(path), schema) as writer:
        for element in elements:
            if isinstance(element, Punctuation):
                empty = pa.RecordBatch.from_pylist([], schema=schema)
                writer.write_batch(empty, custom_metadata={"oop.punctuation": element.to_json()})
            else:
                writer.write_batch(element)
    return path


def write(path: Path) -> Path:
    name = path.name.removesuffix(".gz")
    if name.endswith((".parquet", ".pq")):
        pq.write_table(TABLE, path)
    elif name.endswith((".arrow", ".feather", ".ipc", ".arrows")):
        write_ipc(path, list(BATCHES), stream=name.endswith(".arrows"))
    elif name.endswith((".csv", ".tsv")):
        delimiter = "\t" if name.endswith(".tsv") else ","
        sink = pa.BufferOutputStream()
        arrow_csv.write_csv(TABLE, sink, arrow_csv.WriteOptions(delimiter=delimiter))
        put(path, sink.getvalue().to_pybytes())
    else:
        put(path, "".join(json.dumps(row) + "\n" for row in TABLE.to_pylist()).encode())
    return path


def put(path: Path, data: bytes) -> Path:
    path.write_bytes(gzip.compress(data) if path.name.endswith(".gz") else data)
    return path


ENDINGS = [".parquet", ".pq", ".arrow", ".feather", ".ipc", ".arrows", ".csv", ".tsv", ".json", ".jsonl"]
ENDINGS += [".ndjson", ".csv.gz", ".tsv.gz", ".json.gz", ".jsonl.gz", ".CSV"]
