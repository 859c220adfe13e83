"""The way of promises through the boxes of a program: at once, without a queue, and counted as if there were one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.engines.embedded.arcs import Arc
from oop.testing.laws import bag

BOXES = oop.RoundRobin()
"""A scheduler that lets each box run by itself."""
SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.int64()})


def live(ends: list[int], **options: Any) -> oop.Stream:
    """Counts per window and key; batches come one by one, each up to one of these times."""

    def batches() -> Iterator[pa.RecordBatch]:
        for start, end in zip([0, *ends], ends, strict=False):
            times = np.arange(start, end)
            yield pa.record_batch({"ts": times, "k": times % 3})

    stream = oop.source(batches, schema=SCHEMA, time="ts", punctuate=oop.ordered(), name="it", **options)
    return stream.filter(oop.col("k") < 2).window(oop.tumbling(10)).group_by("k").agg(n=oop.count())


def told(stream: oop.Stream, **options: Any) -> dict[str, Any]:
    run = stream.run(oop.Embedded(threads=1, **options))
    elements = list(run.elements())
    boxes, arcs = run.metrics.boxes, run.metrics.arcs
    return {
        "rows": bag([row for e in elements if isinstance(e, pa.RecordBatch) for row in e.to_pylist()]),
        "promises": [str(e) for e in elements if not isinstance(e, pa.RecordBatch)],
        "boxes": [(b.name, b.rows_in, b.rows_out, b.promises_in, b.promises_out, b.peak_buffered_rows) for b in boxes],
        "arcs": [(arc.rows, arc.promises) for arc in arcs],
    }


ENDS = {
    "each closes one": [10 * i for i in range(1, 30)],
    "some close none": [4 * i for i in range(1, 60)],
    "each closes several": [37 * i for i in range(1, 9)],
}


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS.keys())
@pytest.mark.parametrize("options", [{}, {"queue_rows": 1}, {"batch_rows": 1}, {"silent_for": "1h"}, {"check": True}])
def test_it_answers_and_counts_as_boxes_do(ends: list[int], options: dict[str, Any]) -> None:
    assert told(live(ends), **options) == told(live(ends), scheduler=BOXES, **options)


def test_promises_are_put_into_no_queue_of_a_box(monkeypatch: pytest.MonkeyPatch) -> None:
    queued: list[Any] = []
    put = Arc.put

    def watching(arc: Arc[Any], element: Any) -> None:
        if arc.target is not None:
            queued.append(element)
        put(arc, element)

    monkeypatch.setattr(Arc, "put", watching)
    assert live([10, 20, 30]).run(oop.Embedded(threads=1)).to_table().num_rows == 6
    assert queued == [oop.END, oop.END, oop.END]  # the end comes without rows, and takes the way of the boxes


def test_an_error_in_the_last_box_is_the_one_of_the_boxes() -> None:
    def stream() -> oop.Stream:
        batches = [pa.record_batch({"ts": [t], "v": [2**62]}) for t in (1, 2, 3, 4, 15)]
        source = oop.source(lambda: iter(batches), schema=batches[0].schema, time="ts", punctuate=oop.ordered())
        return source.window(oop.tumbling(10)).agg(s=oop.sum("v"))

    errors = []
    for options in ({}, {"scheduler": BOXES}):
        with pytest.raises(oop.OopError, match="does not fit int64") as wrong:
            stream().run(oop.Embedded(threads=1, **options)).to_table()
        errors.append(str(wrong.value))
    assert errors[0] == errors[1]


def test_a_full_queue_behind_the_last_box_makes_promises_wait() -> None:
    counts = live([10 * i for i in range(1, 40)]).filter(oop.col("n") > 0).with_columns(twice=oop.col("n") * 2)
    for options in ({"queue_rows": 1}, {"queue_rows": 3, "batch_rows": 1}):
        assert told(counts, **options)["rows"] == told(counts, scheduler=BOXES)["rows"]
