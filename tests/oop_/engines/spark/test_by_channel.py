"""Rows of a foreign DataFrame, parted by channel: no session is needed for that."""

from __future__ import annotations

import pyarrow as pa
import pytest

from oop.engines.spark.channels import CHANNEL, by_channel

NAN = float("nan")
COLUMNS = [
    pa.array(["b", "a", None, "b", "a", "c"]),
    pa.array([2.0, NAN, None, 2.0, NAN, 0.5]),
    pa.array([0.0, -0.0, None, 0.0, -0.0, 0.5]),
    pa.array([7, 1, None, 7, 1, 9], pa.int32()),
    pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2, 1, 3], pa.int8()), pa.array(["b", "a", "b", "c"])),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda c: str(c.to_pylist()))
@pytest.mark.parametrize("times", [1, 100])
def test_every_row_is_in_the_piece_of_its_channel_in_its_order(column, times):
    values = pa.concat_arrays([column] * times)
    batch = pa.record_batch({"ts": range(len(values)), "k": values})
    pieces = list(by_channel(batch, "k"))
    names = [piece.schema.metadata[CHANNEL] for piece in pieces]
    assert len(set(names)) == len(names) == 4
    assert all(len({*map(str, piece["k"].to_pylist())}) == 1 for piece in pieces)
    assert all(piece["ts"].to_pylist() == sorted(piece["ts"].to_pylist()) for piece in pieces)
    assert sorted(ts for piece in pieces for ts in piece["ts"].to_pylist()) == list(range(len(values)))


def test_without_a_channel_column_there_is_one():
    [piece] = by_channel(pa.record_batch({"ts": [1, 2]}), None)
    assert piece.num_rows == 2 and piece.schema.metadata is None
