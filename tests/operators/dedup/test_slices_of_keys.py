"""Slices of seen keys become wider where keys are spread thinly, and narrower where promises come in between."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from oop.operators.dedup.best_rows import BestRows
from oop.operators.dedup.seen_keys import SeenKeys
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


def test_keys_that_have_left_go_when_most_of_a_slice_has() -> None:
    """They stay in the table of their slice for a while, but not for ever, are not saved, and are not given again."""
    seen = SeenKeys(SCHEMA, ["ts", "k"], "ts")
    zeros = np.zeros(4_096, np.int64)
    spread = pa.record_batch([np.arange(0, 2**20, 256), zeros, zeros], SCHEMA.names)
    seen.add(spread)
    assert seen.shift > 16  # of slices that are long by now, when rows come in order
    given, bytes_held = [], []
    for first in range(2**20, 2**20 + 2**17, 2_048):
        ts = np.arange(first, first + 2_048)
        seen.add(pa.record_batch([ts, ts, ts], SCHEMA.names))
        given += list(seen.take_covered(Frontier.of(Punctuation({"ts": first + 1_000})), 10_000))
        assert len(seen) == 1_048
        bytes_held.append(seen.nbytes)
    assert max(bytes_held[8:]) < 4 * min(bytes_held[8:])
    left = sorted(ts for batch in given for ts in batch.column("ts").to_pylist())
    assert left == [*range(0, 2**20, 256), *range(2**20, 2**20 + 2**17 - 1_048)]
    again = SeenKeys(SCHEMA, ["ts", "k"], "ts")
    again.load(dict(seen.save()))
    assert len(again) == 1_048
    assert len(again.add(pa.record_batch([ts, ts, ts], SCHEMA.names))) == 1_000
