"""What is noted for the next save does not grow where nobody saves."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import oop


def noted(windows: int) -> int:
    """Slices that are noted as changed after so many windows have come and gone."""
    batches = (pa.record_batch({"ts": [10 * i, 10 * i + 5], "k": [i, i]}) for i in range(windows))
    source = oop.source(batches, time="ts", punctuate=oop.ordered(), name="s")
    run = source.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()).run()
    assert sum(batch.num_rows for batch in run) == windows
    aggregate: Any = run._boxes[-1].operator
    return len(aggregate.store._changed)


def test_windows_that_come_and_go_leave_nothing_to_save() -> None:
    assert noted(40) == noted(160) == 0
