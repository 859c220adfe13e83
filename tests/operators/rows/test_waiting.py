"""Rows that wait for a promise, against a plain list."""

from __future__ import annotations

import math
import random

import pyarrow as pa
import pytest

import oop
from oop.operators.core import time_slices
from oop.operators.rows.waiting_rows import WaitingRows
from oop.punctuation import END, Frontier, Punctuation
from oop.testing import bag

SCHEMA = pa.schema(
    [
        ("ts", pa.int64()),
        ("link", pa.dictionary(pa.int32(), pa.string())),
        ("tags", pa.list_(pa.int64())),
        ("price", pa.decimal128(9, 2)),
    ]
)


def rows_of(batches, rows):
    return [r for b in batches for out in rows.released(b) for r in out.to_pylist()]


def some_rows(rng, floats):
    number = float if floats else int
    return [
        {
            "ts": rng.choice([None, math.nan]) if floats and rng.random() < 0.2 else number(rng.randint(-400, 400)),
            "link": rng.choice(["A", "B", None]),
            "tags": [rng.randint(0, 3)] * rng.randint(0, 3),
            "price": None,
        }
        for _ in range(rng.randint(0, 40))
    ]


def pieces_of(rows):
    return [b for pieces in [*rows._slices.values(), rows._valueless] for b in pieces]


def test_rows_that_stay_keep_none_alive_that_have_left():
    """One batch over many slices: what is left of it is accounted for, and is all that is kept."""
    schema = pa.schema([("ts", pa.int64()), ("text", pa.string())])
    rows = WaitingRows(schema, "ts")
    for _ in range(3):
        times = list(range(640))
        rows.add(pa.record_batch({"ts": times, "text": ["x" * 1000] * 640}, schema=schema))
    most = rows.nbytes
    assert most >= 3 * 640 * 1000
    left = 640 - 16
    assert sum(b.num_rows for b in rows.take_below(left)) == 3 * left
    assert rows.nbytes < most / 20
    held = {b.address: b.size for piece in pieces_of(rows) for c in piece.columns for b in c.buffers() if b is not None}
    assert sum(held.values()) <= rows.nbytes


@pytest.mark.parametrize("floats", [False, True])
def test_rows_leave_as_a_list_would_let_them(floats, monkeypatch):
    """Below bounds, by group, saved in pieces and loaded at any point; what is accounted for is what is there."""
    schema = SCHEMA.set(0, pa.field("ts", pa.float64() if floats else pa.int64()))
    for seed in range(60):
        rng = random.Random(seed)
        monkeypatch.setattr(time_slices, "SPREAD", rng.choice([2, 64]))
        rows, model, stored = WaitingRows(schema, "ts"), [], {}
        frontier = Frontier()
        for _ in range(rng.randint(1, 12)):
            new = some_rows(rng, floats)
            rows.add(pa.RecordBatch.from_pylist(new, schema=schema))
            model += new
            where = rng.choice([None, {"link": rng.choice(["A", None])}])
            frontier.advance(Punctuation({} if where and rng.random() < 0.2 else {"ts": rng.randint(-400, 400)}, where))
            found = rows_of(rows.take_covered(frontier), rows)
            gone = [r for r in model if frontier.covers_row(r)]
            model = [r for r in model if not frontier.covers_row(r)]
            assert bag(_plain(found)) == bag(_plain(gone))
            assert len(rows) == len(model)
            held = [r["ts"] for r in model if r["ts"] is not None and not math.isnan(r["ts"])]
            assert rows.least() == min(held, default=None)
            assert rows.nbytes == sum(b.get_total_buffer_size() for b in pieces_of(rows))
            if rng.random() < 0.4:
                for key, part in rows.save():
                    if part is None:
                        del stored[key]
                    else:
                        stored[key] = part
                if rng.random() < 0.5:
                    rows = WaitingRows(schema, "ts")
                    rows.load(stored.items())
        assert bag(_plain(rows_of(rows.take_covered(Frontier.of(END)), rows))) == bag(_plain(model))
        assert len(rows) == rows.nbytes == 0


def _plain(rows):
    return [{**r, "tags": tuple(r["tags"])} for r in rows]


def test_rows_of_one_time_stay_in_order_when_slices_get_longer():
    rows = WaitingRows(pa.schema([("ts", pa.int64()), ("n", pa.int64())]), "ts")
    rng = random.Random(1)
    given = [{"ts": rng.randint(0, 2000), "n": n} for n in range(4000)]
    for start in range(0, len(given), 100):
        rows.add(pa.RecordBatch.from_pylist(given[start : start + 100]))
    assert rows.slicing.shift > 0
    found = [r for b in rows.take_below(5000) for r in b.to_pylist()]
    for ts in range(2001):
        assert [r["n"] for r in found if r["ts"] == ts] == [r["n"] for r in given if r["ts"] == ts]


def test_only_slices_that_changed_are_saved():
    rows = WaitingRows(pa.schema([("ts", pa.int64())]), "ts")
    rows.add(pa.record_batch({"ts": [1, 2, 3]}))
    assert [k for k, _ in rows.save()] == ["shift", "slice/1", "slice/2", "slice/3"]
    rows.add(pa.record_batch({"ts": [2]}))
    list(rows.take_below(2))
    assert [(k, p is None) for k, p in rows.save()] == [("shift", False), ("slice/1", True), ("slice/2", False)]


def test_state_of_another_plan_is_refused():
    rows = WaitingRows(pa.schema([("ts", pa.int64())]), "ts")
    rows.add(pa.record_batch({"ts": [1]}))
    wider = WaitingRows(pa.schema([("ts", pa.int64()), ("k", pa.int64())]), "ts")
    with pytest.raises(oop.OopError, match="saved without the column 'k'"):
        wider.load(rows.save())
