"""Damaged files: bytes of a sound one changed, removed, cut off, by a seeded generator, and read in every way there is.

Run as a program, since a crash of a library must end a process that is not the test's:
``python -m tests.oop_.io.mutants <first> <last>`` prints each mutant's number, which is its seed, before it is tried.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import oop
from oop.engines.spark.blocks import blocks_of, read_block
from oop.engines.spark.cells import decode, encode_batch
from oop.io.opening import open_data
from oop.punctuation import Punctuation

ROWS = 120


def columns(rng: random.Random) -> dict[str, pa.Array]:
    """One of each kind whose buffers point into each other."""
    words = ["x" * rng.randint(0, 20) if rng.random() < 0.9 else None for _ in range(ROWS)]
    lists = [[rng.randint(0, 9)] * rng.randint(0, 3) for _ in range(ROWS)]
    runs = pa.RunEndEncodedArray.from_arrays([ROWS // 2, ROWS], ["a", None])
    return {
        "ts": pa.array(range(ROWS)),
        "k": pa.array([rng.choice(["a", "b", "c", None]) for _ in range(ROWS)]).dictionary_encode(),
        "word": pa.array(words),
        "wide": pa.array(words, pa.large_string()),
        "view": pa.array(words, pa.string_view()),
        "bytes": pa.array([w and w.encode() for w in words], pa.binary()),
        "list": pa.array([*lists[:-1], None]),
        "fixed": pa.array([[1, 2]] * ROWS, pa.list_(pa.int32(), 2)),
        "map": pa.array([[("a", 1)]] * ROWS, pa.map_(pa.string(), pa.int8())),
        "struct": pa.array([{"a": 1, "b": "z" * rng.randint(0, 3)} for _ in range(ROWS)]),
        "inner": pa.array([["p", None], ["q", "r"]] * (ROWS // 2), pa.list_(pa.dictionary(pa.int8(), pa.string()))),
        "decimal": pa.array(range(ROWS), pa.decimal128(10, 2)),
        "flag": pa.array([True, None] * (ROWS // 2)),
        "runs": runs,
    }


def write(kind: str, path: Path) -> None:
    table = pa.table(columns(random.Random(1)))
    if kind == "cell":
        path.write_bytes(encode_batch(pa.record_batch(columns(random.Random(1)))))
        return
    if kind == "parquet":
        pq.write_table(table.drop_columns(["runs", "inner"]), path, row_group_size=50, compression="none")
        return
    compression = "lz4" if kind == "compressed" else None
    options = pa.ipc.IpcWriteOptions(compression=compression, emit_dictionary_deltas=kind == "stream")
    new = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
    with new(str(path), table.schema, options=options) as writer:
        for batch in table.to_batches(max_chunksize=50):
            promise = Punctuation({"ts": 0}, {"k": "a"}).to_json()
            writer.write_batch(batch, custom_metadata={"oop.punctuation": promise})


def mutate(data: bytes, seed: int) -> bytes:
    rng = random.Random(seed)
    found = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        what, at = rng.random(), rng.randrange(len(found))
        if what < 0.5:
            found[at] = rng.randrange(256)
        elif what < 0.7:
            found[at] ^= 1 << rng.randrange(8)
        elif what < 0.85:
            word = rng.choice([b"\xff" * 8, b"\0" * 8, b"\xff" * 7 + b"\x7f", b"\0\0\0\x80" * 2])
            found[at : at + 8] = word[: len(found) - at]
        elif what < 0.95 and len(found) > 8:
            del found[at : at + rng.randint(1, 8)]
        else:
            del found[max(at, 1) :]
    return bytes(found)


def run_plans(path: Path) -> None:
    """Every column is copied by rows, and read as values of Python."""
    rows = oop.source(str(path), time="ts", punctuate={"ts": oop.punctuated()}, nulls="aside")
    rows.window(oop.tumbling(50)).group_by("k").agg(n=oop.count(), last=oop.max("ts")).run().to_table()
    oop.union(rows, rows).run().to_table().combine_chunks()
    _values(rows.sort().run().to_table())


def _values(data: pa.Table | pa.RecordBatch) -> None:
    with suppress(ArithmeticError):  # a type that was damaged may have no values in Python: a decimal of scale -2^31
        data.to_pylist()


def read_blocks(path: Path) -> None:
    """As workers of Spark read it."""
    schema = open_data(str(path)).schema
    for block in blocks_of(str(path), "ts"):
        for element in read_block(block, schema):
            if not isinstance(element, Punctuation):
                _values(pa.Table.from_batches([element] * 2).combine_chunks())


def decode_cell(path: Path) -> None:
    _values(decode(path.read_bytes()))


ENDINGS = {"file": ".arrow", "compressed": ".feather", "stream": ".arrows", "parquet": ".parquet", "cell": ".cell"}
READERS: dict[str, tuple[Callable[[Path], None], ...]] = {
    "file": (run_plans, read_blocks),
    "compressed": (run_plans, read_blocks),
    "stream": (run_plans,),
    "parquet": (run_plans, read_blocks),
    "cell": (decode_cell,),
}


def main(first: int, last: int) -> None:
    """The formats take turns."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {kind: Path(folder) / f"data{end}" for kind, end in ENDINGS.items()}
        for kind, path in paths.items():
            write(kind, path)
        whole = {kind: path.read_bytes() for kind, path in paths.items()}
        for number in range(first, last):
            kind = list(ENDINGS)[number % len(ENDINGS)]
            print("mutant", number, kind, flush=True)
            paths[kind].write_bytes(mutate(whole[kind], number))
            for read in READERS[kind]:
                said = _outcome(read, paths[kind])
                if said is not None:
                    print(read.__name__, said, flush=True)


def _outcome(read: Callable[[Path], None], path: Path) -> str | None:
    """What is wrong with the way in which it went, if anything."""
    try:
        read(path)
    except oop.errors.SourceError as error:
        if not error.hint or (path.suffix != ENDINGS["cell"] and path.name not in error.what):
            return f"unclear: {error}"
    except oop.errors.OopError:
        return None  # for example a column whose name has changed
    except Exception as error:
        return f"raw: {type(error).__name__} {str(error)[:200]}"
    return None


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
