"""Text files, CSV and JSON lines, as record batches: blocks that end where a record ends, each parsed by pyarrow.

pyarrow's own streaming readers lose a whole block to one bad line, so blocks are cut here, and shortened before a bad
line. A ``delimiter`` means CSV, None means JSON lines. gzip is recognised by its first bytes.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from oop.errors import SourceError
from oop.io.json_depth import check_json

BLOCK_BYTES = 4 << 20


def first_rows(path: Path, delimiter: str | None, schema: pa.Schema | None) -> tuple[Any, Any]:
    """The first rows of a text file, and the error of the line after them, if any."""
    start, table, error = b"", None, None
    for block in _blocks(path, delimiter):
        start += block
        table, _, error = _longest(start, partial(_parse, delimiter, schema, None), delimiter)
        if error is not None or (table is not None and table.num_rows):
            break  # a block may hold the header alone, which shows no types
    if not start.strip():
        raise SourceError(f"{path}: the file is empty", hint="write it again, or leave it out")
    return table, error


def read_text_file(path: Path, delimiter: str | None, types: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of a text file up to the first line that cannot be read, then an error with that line's number."""
    line, rows, names = 1, 0, None
    for block in _blocks(path, delimiter):
        table, good, error = _longest(block, partial(_parse, delimiter, types, names), delimiter)
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


def _parse(delimiter: str | None, schema: pa.Schema | None, names: list[str] | None, block: bytes) -> pa.Table:
    return _parse_json(schema, block) if delimiter is None else _parse_csv(delimiter, schema, names, block)


def _parse_csv(delimiter: str, schema: pa.Schema | None, names: list[str] | None, block: bytes) -> pa.Table:
    import pyarrow.csv as arrow_csv

    return arrow_csv.read_csv(
        pa.BufferReader(block),
        arrow_csv.ReadOptions(block_size=len(block) + 1, column_names=names),
        arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in block),
        # as our own sink writes them: an empty field is null, "" is an empty string
        arrow_csv.ConvertOptions(column_types=schema, strings_can_be_null=True, quoted_strings_can_be_null=False),
    )


def _parse_json(schema: pa.Schema | None, block: bytes) -> pa.Table:
    import pyarrow.json as arrow_json

    check_json(block)
    # "ignore" would silently drop fields that the first block did not have.
    unexpected = "infer" if schema is None else "error"
    options = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected)
    return arrow_json.read_json(pa.BufferReader(block), arrow_json.ReadOptions(block_size=len(block) + 1), options)


def _longest(
    block: bytes, parse: Callable[[bytes], pa.Table], delimiter: str | None
) -> tuple[pa.Table | None, int, Exception | None]:
    """Parse the block, or else the most of its first records that parse: the table, its length in bytes, the error."""
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
    """Where records end: at newlines; in CSV only at those with an even number of quotes before them."""
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
        is_first = True
        while piece := file.read1(BLOCK_BYTES):  # read1 also gives the bytes before a cut
            if is_first:
                _check_encoding(path, piece)
                is_first = False
            yield piece


def _check_encoding(path: Path, start: bytes) -> None:
    """Text in UTF-16 or UTF-32 begins with a mark, or has a zero byte in its first character."""
    if start[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
        found = "UTF-32"
    elif start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        found = "UTF-16"
    elif b"\0" in start[:4]:
        found = "no text, or UTF-16"
    else:
        return
    name = "UTF-32" if found == "UTF-32" else "UTF-16"
    unzipped = f"zcat {path.name} | iconv" if path.name.lower().endswith(".gz") else f"iconv {path.name}"
    hint = f"convert it: {unzipped} -f {name} -t UTF-8 > utf8.csv"
    raise SourceError(f"{path}: line 1 cannot be read: this is {found}, not UTF-8", hint=hint)


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
    # If no newline in twice the block size has an even count, a stray quote inside a value, which opens nothing, is to
    # blame.
    return last if not end and len(data) >= 2 * BLOCK_BYTES else end


def _open_quote(data: bytearray, delimiter: str | None) -> Exception | None:
    """The error if the file ends inside a quoted value; pyarrow would take the half value for the whole."""
    if delimiter is None or data.count(b'"') % 2 == 0:
        return None
    tail = data[_cut(data, delimiter) :].decode(errors="replace")
    try:
        list(csv.reader(tail.splitlines(keepends=True), delimiter=delimiter, strict=True))
    except csv.Error as error:
        return EOFError("it ends inside a quoted value") if "unexpected end" in str(error) else None
    return None
