"""The start and the end of windows that leave in pieces."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.operators.aggregate import window_results


def test_the_pieces_of_a_window_share_the_memory_of_its_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_results, "FEW", 0)  # those of windows that leave in their own memory
    keys = np.arange(3_000)
    rows = pa.table({"ts": np.concatenate([keys % 10, 10 + keys % 10]), "k": np.concatenate([keys, keys])})
    counts = oop.source(rows, time="ts", punctuate=oop.at_end()).window(oop.tumbling(10)).group_by("k")
    found = list(counts.agg(n=oop.count()).run(engine=oop.Embedded(threads=1, batch_rows=1_000)))
    assert [batch.num_rows for batch in found] == [1_000] * 6
    assert [set(batch["window_start"].to_pylist()) for batch in found] == [{0}] * 3 + [{10}] * 3
    assert [set(batch["window_end"].to_pylist()) for batch in found] == [{10}] * 3 + [{20}] * 3
    assert len({batch["window_start"].buffers()[1].address for batch in found[:3]}) == 1
