"""A pipeline gives the same answer for every kind of input, and has one for streams with little or nothing in them."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import oop
from tests.oop_.streams.pipelines import (
    EXPECTED,
    INT_TIME,
    PACKETS,
    bag,
    bag_of_text,
    elements_of,
    per_pair,
    rows_of,
    source,
    tumbled,
)

# --- every kind of input gives the same answer


def with_promises(table: pa.Table, rows: int = 100) -> list[Any]:
    times = table.column("ts").to_numpy()
    least = np.minimum.accumulate(times[::-1])[::-1]
    out: list[Any] = []
    for at in range(0, len(times), rows):
        out += table.slice(at, rows).combine_chunks().to_batches()
        out.append(oop.Punctuation(below={"ts": int(least[at + rows])}) if at + rows < len(times) else oop.END)
    return out


def in_file(write: Callable[[Path], None], name: str) -> Callable[[Path], Any]:
    def make(folder: Path) -> Path:
        write(folder / name)
        return folder / name

    return make


def write_ipc(path: Path, open_: Callable[..., Any]) -> None:
    with open_(path, PACKETS.schema) as writer:
        for batch in PACKETS.to_batches(max_chunksize=300):
            writer.write_batch(batch)


def write_csv(path: Path) -> None:
    from pyarrow import csv

    csv.write_csv(PACKETS, path)


def write_json(path: Path) -> None:
    import json

    path.write_text("".join(json.dumps(row) + "\n" for row in PACKETS.to_pylist()), encoding="utf-8")


def two_files(folder: Path) -> list[Path]:
    paths = [folder / "a.parquet", folder / "b.parquet"]
    pq.write_table(PACKETS.slice(0, 900), paths[0])
    pq.write_table(PACKETS.slice(900), paths[1])
    return paths


def from_polars(folder: Path) -> Any:
    return pytest.importorskip("polars").from_arrow(PACKETS)


def from_pandas(folder: Path) -> Any:
    pytest.importorskip("pandas")
    return PACKETS.to_pandas(types_mapper={pa.int64(): pd_int64()}.get)


def pd_int64() -> Any:
    import pandas as pd

    return pd.Int64Dtype()


def from_duckdb(folder: Path) -> Any:
    duckdb = pytest.importorskip("duckdb")
    pq.write_table(PACKETS, folder / "packets.parquet")
    return duckdb.read_parquet(str(folder / "packets.parquet"))


INPUTS: dict[str, Callable[[Path], Any]] = {
    "Parquet": in_file(lambda p: pq.write_table(PACKETS, p, row_group_size=300), "p.parquet"),
    "IPC file": in_file(lambda p: write_ipc(p, pa.ipc.new_file), "p.arrow"),
    "IPC stream": in_file(lambda p: write_ipc(p, pa.ipc.new_stream), "p.arrows"),
    "CSV": in_file(write_csv, "p.csv"),
    "JSON lines": in_file(write_json, "p.jsonl"),
    "several files": two_files,
    "a glob": lambda folder: str(two_files(folder)[0].with_name("*.parquet")),
    "Table": lambda folder: PACKETS,
    "RecordBatch": lambda folder: PACKETS.combine_chunks().to_batches()[0],
    "reader": lambda folder: PACKETS.to_reader(max_chunksize=77),
    "list of batches": lambda folder: PACKETS.to_batches(max_chunksize=50),
    "list of tables": lambda folder: [PACKETS.slice(i, 190) for i in range(0, PACKETS.num_rows, 190)],
    "generator": lambda folder: (PACKETS.slice(i, 10) for i in range(0, PACKETS.num_rows, 10)),
    "with empty batches": lambda folder: [PACKETS.slice(0, 0), PACKETS, PACKETS.slice(0, 0)],
    "callable": lambda folder: lambda: iter(PACKETS.to_batches(max_chunksize=99)),
    "Polars": from_polars,
    "pandas": from_pandas,
    "DuckDB": from_duckdb,
}


@pytest.mark.parametrize("kind", INPUTS)
def test_every_kind_of_input(kind: str, tmp_path: Path) -> None:
    run = per_pair(source(INPUTS[kind](tmp_path), oop.slack(40))).run()
    assert bag_of_text(run.to_table().to_pylist()) == EXPECTED
    assert len(run.late) == 0


@pytest.mark.parametrize("kind", ["iterable", "callable", "IPC file", "IPC stream"])
def test_promises_in_the_data(kind: str, tmp_path: Path) -> None:
    elements = with_promises(PACKETS)
    data: Any = {"iterable": elements, "callable": lambda: iter(elements)}.get(kind)
    if data is None:
        data = tmp_path / ("p.arrow" if kind == "IPC file" else "p.arrows")
        with (pa.ipc.new_file if kind == "IPC file" else pa.ipc.new_stream)(data, PACKETS.schema) as writer:
            nothing = PACKETS.schema.empty_table().combine_chunks().to_batches() or [
                pa.RecordBatch.from_pylist([], schema=PACKETS.schema)
            ]
            for element in elements:
                if isinstance(element, oop.Punctuation):
                    metadata = {"oop.punctuation": element.to_json()}
                    writer.write_batch(nothing[0], custom_metadata=metadata)
                else:
                    writer.write_batch(element)
    run = per_pair(source(data, oop.punctuated())).run()
    found = list(run.elements())
    batches = [e for e in found if isinstance(e, pa.RecordBatch)]
    assert bag([row for b in batches for row in b.to_pylist()]) == EXPECTED
    assert len(run.late) == 0
    assert found[-1] is oop.END or found[-1].is_end
    assert len(batches) > 5, "results come as the stream goes on"


# --- streams with little in them


@pytest.mark.parametrize("policy", [oop.ordered(), oop.slack(3), oop.slack(rows=2), oop.punctuated(), oop.at_end()])
def test_empty_streams(policy: Any) -> None:
    for data in ([], iter(()), INT_TIME.empty_table(), lambda: [], [INT_TIME.empty_table()] * 2):
        stream = tumbled(data, policy, schema=INT_TIME)
        run = stream.run()
        table = run.to_table()
        assert table.num_rows == 0
        assert table.schema == pa.schema({"window_start": pa.int64(), "window_end": pa.int64(), "n": pa.int64()})
        assert len(run.late) == 0
        assert run.late.to_table().num_rows == 0


def test_a_stream_of_only_promises() -> None:
    promises = [oop.Punctuation(below={"ts": t}) for t in (5, 25, 25, 10, 31)]
    found = elements_of(tumbled(promises, oop.punctuated(), schema=INT_TIME))
    assert found[-1] == oop.END
    starts = [p.below["window_start"] for p in found[:-1] if "window_start" in p.below]
    ends = [p.below["window_end"] for p in found[:-1] if "window_end" in p.below]
    assert starts == [0, 20, 30]
    assert ends == [10, 30, 40]


def test_promises_only_at_the_end() -> None:
    table = pa.table({"ts": [15, 5, 2, 31]})
    expected = [(0, 2), (10, 1), (30, 1)]
    for data, policy in (
        (table, oop.at_end()),
        (table, oop.punctuated()),
        ([table, oop.END], oop.punctuated()),
        ([table, oop.Punctuation(below={"ts": 100})], oop.punctuated()),
        ([table, oop.Punctuation(below={"ts": math.inf})], oop.punctuated()),
    ):
        run = tumbled(data, policy).run()
        assert [(r["window_start"], r["n"]) for r in run.to_table().to_pylist()] == expected
        assert len(run.late) == 0


def test_one_group_of_all_rows_ends_with_the_stream() -> None:
    assert rows_of(source(PACKETS, oop.at_end()).agg(n=oop.count())) == [{"n": PACKETS.num_rows}]
