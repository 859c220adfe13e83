"""Cells: the rows of Spark that carry batches and promises between stages, and also counts and ticks of the clock. They
are few and large.

The columns of a cell say where it goes (`stage`, `key` of the shard, `port`), where it comes from (`sender`, `split`,
`number`), and its `kind`. `value` is a number that Spark itself can sum, and `body` the content. Cells are processed in
the order of port, sender, split and number, so that a retried attempt gives the same output.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from oop.io.sound import Sound, reading
from oop.punctuation import Punctuation
from oop.punctuation.encoding import dumps, loads

ROWS, PROMISES, METRIC, TICK = range(4)
"""The kinds of cells: a batch; a list of promises; a count for the query's progress; the time on the driver's clock."""
LATE, WITHOUT_TIME, FRONTIER, HELD, BYTES = range(5)
"""What a METRIC cell counts. Its `number` says which of these."""

CELLS = pa.schema(
    [
        ("stage", pa.int32()),
        ("key", pa.int32()),
        ("port", pa.int32()),
        ("sender", pa.int32()),
        ("split", pa.int64()),
        ("number", pa.int64()),
        ("kind", pa.int32()),
        ("value", pa.int64()),
        ("body", pa.binary()),
    ]
)
DDL = "stage int, key int, port int, sender int, split long, number long, kind int, value long, body binary"
_MOST_BYTES = 32 << 20  # the most bytes of cells that are handed over together


class Cell(NamedTuple):
    stage: int
    key: int
    port: int
    sender: int
    split: int
    number: int
    kind: int
    value: int
    body: bytes

    @property
    def order(self) -> tuple[int, int, int, int]:
        return self.port, self.sender, self.split, self.number


_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")


_COMPRESSED_BYTES = 65_536  # compressing smaller batches is not worth it


def encode_batch(batch: pa.RecordBatch) -> bytes:
    """A batch with its schema and marks. A large one is compressed, because it is copied many times on its way.

    >>> decode(encode_batch(pa.record_batch({"ts": [1, 2]}))).to_pydict()
    {'ts': [1, 2]}
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(
        sink, batch.schema, options=_COMPRESSED if batch.nbytes >= _COMPRESSED_BYTES else None
    ) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def decode(body: bytes) -> pa.RecordBatch:
    """The batch that `encode_batch` wrote. It may have been on disks and networks since, so damage is an error, not a
    crash."""
    with reading("a batch from another stage", "a disk or a network damaged it: run the query again"):
        with pa.ipc.open_stream(body) as reader:
            batch = next(iter(reader), None)
        if batch is None:
            raise pa.ArrowInvalid("it holds no batch")
        return Sound()(batch)


def encode_promises(promises: Iterable[Punctuation]) -> bytes:
    return dumps([p.to_json() for p in promises]).encode()


def decode_promises(body: bytes) -> list[Punctuation]:
    found = loads(body.decode())
    assert isinstance(found, list)
    return [Punctuation.from_json(p) for p in found]


def chunks(cells: Iterable[Cell]) -> Iterator[list[Cell]]:
    """Cells in lists of bounded size."""
    waiting: list[Cell] = []
    size = 0
    for cell in cells:
        waiting.append(cell)
        size += len(cell.body)
        if size >= _MOST_BYTES:
            yield waiting
            waiting, size = [], 0
    if waiting:
        yield waiting


def batches(cells: Iterable[Cell]) -> Iterator[pa.RecordBatch]:
    """Cells as record batches of bounded size."""
    return map(to_batch, chunks(cells))


def to_batch(cells: Sequence[Cell]) -> pa.RecordBatch:
    columns = [pa.array(column, field.type) for column, field in zip(zip(*cells, strict=True), CELLS, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=CELLS)
