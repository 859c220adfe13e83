"""Slices of seen keys become wider where keys are spread thinly, and narrower where promises come in between."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from oop.operators.dedup.seen_keys import BestRows, SeenKeys
from oop.punctuation import Frontier, Punctuation
from oop.testing.laws import bag

SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.int64()), ("v", pa.int64())])


def rows(first: int, count: int = 6_000) -> pa.RecordBatch:
    rng = np.random.default_rng(first)
    return pa.record_batch(
        [rng.integers(first, first + 1_000, count), rng.integers(0, 2_000, count), rng.integers(0, 9, count)],
        schema=SCHEMA,
    )


@pytest.mark.parametrize("kept", ["keys", "rows"])
def test_slices_change_their_width_and_lose_nothing(kept: str) -> None:
    on = SCHEMA.names[:2]
    seen = SeenKeys(SCHEMA, on, "ts") if kept == "keys" else BestRows(SCHEMA, on, "ts", ["v"], False)
    wanted: dict[tuple[int, int], int] = {}
    widths = []
    for first in range(0, 6_000, 300):
        batch = rows(first)
        seen.add(batch)
        for row in batch.to_pylist():
            key = row["ts"], row["k"]
            wanted[key] = min(wanted.get(key, 9), row["v"])
        for bound in range(first, first + 300, 20):
            frontier = Frontier.of(Punctuation({"ts": bound}))
            gone = [row for found in seen.take_covered(frontier, 1_000) for row in found.to_pylist()]
            due = [{"ts": ts, "k": k, "v": v} for (ts, k), v in wanted.items() if ts < bound]
            for row in due:
                del wanted[row["ts"], row["k"]]
            if kept == "keys":
                due = [{name: row[name] for name in on} for row in due]
            assert bag(gone) == bag(due)
            assert len(seen) == len(wanted)
            widths.append(seen.shift)
    assert widths[0] > 0 and max(widths) > widths[-1] > 0
    saved = dict(seen.save())
    again = SeenKeys(SCHEMA, on, "ts") if kept == "keys" else BestRows(SCHEMA, on, "ts", ["v"], False)
    again.load(saved)
    assert (len(again), again.shift) == (len(seen), seen.shift)


def test_a_key_at_a_time_gets_no_slice_of_its_own() -> None:
    seen = SeenKeys(SCHEMA, ["ts", "k"], "ts")
    for i in range(600):
        assert len(seen.add(rows(10 * i, 1))) == 1
    assert seen.shift > 0 and len(seen) == 600
