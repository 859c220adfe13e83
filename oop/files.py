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

import csv
import glob
import gzip
import itertools
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from oop.errors import SourceError
from oop.punctuation import Punctuation

Element: TypeAlias = pa.RecordBatch | Punctuation
PathLike: TypeAlias = str | os.PathLike[str]

PROMISE_KEY = b"oop.punctuation"
BLOCK_BYTES = 4 << 20
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
    path = Path(data).expanduser()
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
            raise SourceError(f"{data}: no such file or directory", hint=hint)
        return [path for match in matches for path in expand(match)]
    if not _known(path):
        raise SourceError(f"{path}: unknown ending {path.suffix!r}", hint=_CAN_READ)
    return [path]


def _known(path: Path) -> bool:
    return ending(path) in (TEXT_ENDINGS if path.name.lower().endswith(".gz") else _ENDINGS)


def open_file(path: Path, schema: pa.Schema | None = None) -> File:
    """Learn a file's schema; ``schema`` gives types to text columns that it names."""
    with _reading(path):
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


@contextmanager
def _reading(path: Path, hint: str = "the file is damaged or cut short: write it again") -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise SourceError(f"{path}: no such file", hint="it was there before: was it moved?") from error
    except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
        what = str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__
        raise SourceError(f"{path} cannot be read: {what}", hint=hint) from error


def _open_parquet(path: Path) -> File:
    import pyarrow.parquet as pq

    def read(schema: pa.Schema, batch_rows: int) -> Iterator[Element]:
        with _reading(path), pq.ParquetFile(path) as file:
            yield from file.iter_batches(batch_rows)

    with pq.ParquetFile(path) as file:
        return File(path, file.schema_arrow, file.metadata.num_rows, read, lambda schema: False)


def _open_ipc(path: Path) -> File:
    def read(schema: pa.Schema, batch_rows: int) -> Iterator[Element]:
        with _reading(path):
            yield from ipc_elements(_ipc_reader(path), str(path))

    return File(path, _ipc_reader(path).schema, None, read, lambda schema: False)


def _ipc_reader(path: Path) -> Any:
    source = pa.memory_map(str(path))
    magic = source.read(6)
    source.seek(0)
    if magic != b"ARROW1":
        return pa.ipc.open_stream(source)
    hint = "the footer is missing: write it again; of a stream (.arrows) the rows before a cut can be read"
    with _reading(path, hint):
        return pa.ipc.open_file(source)


def ipc_elements(reader: Any, where: str) -> Iterator[Element]:
    """The batches of an IPC reader, and its promises: zero-row batches with metadata ``oop.punctuation``."""
    pairs: Iterable[Any]
    if isinstance(reader, pa.ipc.RecordBatchFileReader):
        pairs = (reader.get_batch_with_custom_metadata(i) for i in range(reader.num_record_batches))
    else:
        pairs = iter(partial(_next_pair, reader), None)
    for number, (batch, metadata) in enumerate(pairs):
        if batch.num_rows or metadata is None or PROMISE_KEY not in metadata:
            yield batch
            continue
        try:
            yield Punctuation.from_json(metadata[PROMISE_KEY])
        except (ValueError, TypeError) as error:
            hint = 'write promises as {"below": {"ts": 17}}, or with Punctuation.to_json()'
            raise SourceError(f"{where}: batch {number}: {error}", hint=hint) from error


def _next_pair(reader: Any) -> Any:
    try:
        return reader.read_next_batch_with_custom_metadata()
    except StopIteration:
        return None


# Text. pyarrow's streaming readers give up a whole block for one bad line, so blocks are cut and mended here.

Parse: TypeAlias = Callable[["pa.Schema | None", "list[str] | None", bytes], pa.Table]


def _parse_csv(delimiter: str, schema: pa.Schema | None, names: list[str] | None, block: bytes) -> pa.Table:
    import pyarrow.csv as arrow_csv

    return arrow_csv.read_csv(
        pa.BufferReader(block),
        arrow_csv.ReadOptions(block_size=len(block) + 1, column_names=names),
        arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in block),
        # as our own sink writes them: nothing is null, "" is an empty string
        arrow_csv.ConvertOptions(column_types=schema, strings_can_be_null=True, quoted_strings_can_be_null=False),
    )


def _parse_json(schema: pa.Schema | None, names: list[str] | None, block: bytes) -> pa.Table:
    import pyarrow.json as arrow_json

    # "ignore" would drop in silence what the first block did not have.
    unexpected = "infer" if schema is None else "error"
    options = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected)
    return arrow_json.read_json(pa.BufferReader(block), arrow_json.ReadOptions(block_size=len(block) + 1), options)


def _look(path: Path, parse: Parse, delimiter: str | None, schema: pa.Schema | None) -> tuple[Any, Any]:
    """The first rows of a text file and what is wrong after them, if anything."""
    start, table, error = b"", None, None
    for block in _blocks(path, delimiter):
        start += block
        table, _, error = _longest(start, partial(parse, schema, None), delimiter)
        if error is not None or (table is not None and table.num_rows):
            break  # a block may hold the header alone, which shows no types
    if not start.strip():
        raise SourceError(f"{path}: the file is empty", hint="write it again, or leave it out")
    return table, error


def _open_text(path: Path, schema: pa.Schema | None) -> File:
    delimiter = TEXT_ENDINGS[ending(path)]
    parse: Parse = _parse_json if delimiter is None else partial(_parse_csv, delimiter)
    table, error = _look(path, parse, delimiter, schema)
    if table is None and schema is None:
        what = str(error).partition("\n")[0]
        hint = "the first line must name the columns" if delimiter else "JSON must be one object on each line"
        raise SourceError(f"{path}: line 1 cannot be read: {what}", hint=hint) from error
    found: Any = schema if table is None else table.schema
    if not found.names:
        raise SourceError(f"{path}: no columns", hint="pass schema=, or leave the file out")

    def parses(other: pa.Schema) -> bool:
        table, error = _look(path, parse, delimiter, other)
        return error is None and set(table.column_names) == set(other.names)

    def read(types: pa.Schema, batch_rows: int) -> Iterator[Element]:
        with _reading(path):
            yield from _read_text(path, parse, delimiter, types)

    return File(path, found, None, read, parses)


def _read_text(path: Path, parse: Parse, delimiter: str | None, types: pa.Schema) -> Iterator[Element]:
    line, rows, names = 1, 0, None
    for block in _blocks(path, delimiter):
        table, good, error = _longest(block, partial(parse, types, names), delimiter)
        if table is not None:
            rows += table.num_rows
            yield from table.to_batches()
            names = names or (None if delimiter is None else table.column_names)
        if error is not None:
            bad = line + block.count(b"\n", 0, good)
            what = str(error).partition("\n")[0]
            hint = f"{rows} rows were read before it; correct it, or pass schema= if a type was guessed wrong"
            raise SourceError(f"{path}: line {bad} cannot be read: {what}", hint=hint) from error
        line += block.count(b"\n")


def _longest(
    block: bytes, parse: Callable[[bytes], pa.Table], delimiter: str | None
) -> tuple[pa.Table | None, int, Exception | None]:
    """Parse the block, or else as many of its first records as parse; their length and what was wrong."""
    try:
        return parse(block), len(block), None
    except (pa.ArrowException, OSError) as error:
        failure = error
    ends = _record_ends(block, delimiter)
    table, good, low, high = None, 0, 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        try:
            table, good, low = parse(block[: ends[middle]]), ends[middle], middle + 1
        except (pa.ArrowException, OSError):
            high = middle
    return table, good, failure


def _record_ends(block: bytes, delimiter: str | None) -> list[int]:
    """Where records end: at newlines, in CSV those with an even number of quotes before them."""
    lines = block.split(b"\n")[:-1]
    ends = list(itertools.accumulate(len(line) + 1 for line in lines))
    if delimiter is None:
        return ends
    quotes = itertools.accumulate(line.count(b'"') for line in lines)
    return [end for end, count in zip(ends, quotes, strict=True) if count % 2 == 0] or ends


def _blocks(path: Path, delimiter: str | None) -> Iterator[bytes]:
    """A text file's bytes, unzipped, in blocks that end where a record ends; then the failure, if any."""
    pieces, data, want = _pieces(path), bytearray(), BLOCK_BYTES
    piece: bytes | None = b""
    failure: Exception | None = None
    while piece is not None:
        try:
            piece = next(pieces, None)
        except (EOFError, OSError, zlib.error) as error:
            piece, failure = None, error
        data += piece or b""
        if piece is not None and len(data) < want:
            continue
        if piece is None and failure is None:
            failure = _open_quote(data, delimiter)
        end = len(data) if piece is None and failure is None else _cut(data, delimiter)
        want = BLOCK_BYTES if end else 2 * len(data)
        if end:
            block = bytes(data[:end])
            del data[:end]
            yield block if block.endswith(b"\n") else block + b"\n"
    if failure is not None:
        raise failure


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        file = gzip.GzipFile(fileobj=raw) if zipped else raw
        while piece := file.read1(BLOCK_BYTES):  # read1 gives what could still be unzipped before a cut
            yield piece


def _cut(data: bytearray, delimiter: str | None) -> int:
    """The end of the last whole record, 0 if there is none."""
    end = data.rfind(b"\n") + 1
    if delimiter is None:
        return end
    last, odd = end, data.count(b'"', 0, end) % 2
    while odd and end:
        before = data.rfind(b"\n", 0, end - 1) + 1
        odd ^= data.count(b'"', before, end) % 2
        end = before
    # No even place in twice the size: a stray quote inside a value, which opens nothing.
    return last if not end and len(data) >= 2 * BLOCK_BYTES else end


def _open_quote(data: bytearray, delimiter: str | None) -> Exception | None:
    """Does the file end inside a quoted value? pyarrow would take the half of it for the whole."""
    if delimiter is None or data.count(b'"') % 2 == 0:
        return None
    tail = data[_cut(data, delimiter) :].decode(errors="replace")
    try:
        list(csv.reader(tail.splitlines(keepends=True), delimiter=delimiter, strict=True))
    except csv.Error as error:
        return EOFError("it ends inside a quoted value") if "unexpected end" in str(error) else None
    return None
