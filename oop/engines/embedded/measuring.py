"""`Run.metrics`, read from the boxes and arcs of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oop.engines.embedded.boxes import Box
from oop.engines.metrics import ArcMetrics, BoxMetrics, Latency, Metrics
from oop.operators.passing.qos import MonitorOperator, least_in


def gather(boxes: Sequence[Box], peak_rows: int) -> Metrics:
    """The metrics of a run as counted so far."""
    measured = tuple(_of(box) for box in boxes)
    arcs = tuple(
        ArcMetrics(
            box.node.spec.describe(),
            "result" if arc.target is None else arc.target.node.spec.describe(),
            arc.port,
            arc.rows,
            arc.promises,
            arc.queued_rows,
            arc.peak_rows,
        )
        for box in boxes
        for arc in box.outputs
    )
    return Metrics(measured, arcs, peak_rows, _latency(boxes))


def _latency(boxes: Sequence[Box]) -> Latency | None:
    monitor = boxes[-1].operator
    if not isinstance(monitor, MonitorOperator):
        return None
    rows = int(monitor.counts.sum())
    counts = tuple((least_in(s), int(monitor.counts[s])) for s in np.flatnonzero(monitor.counts).tolist())
    return Latency(rows, monitor.total / rows if rows else 0.0, monitor.greatest, counts)


def _of(box: Box) -> BoxMetrics:
    return BoxMetrics(
        box.node.spec.describe(),
        box.node.site,
        box.rows_in,
        box.rows_out,
        box.batches_in,
        box.batches_out,
        box.promises_in,
        box.promises_out,
        box.seconds + getattr(box.operator, "seconds", 0.0),
        box.operator.buffered_rows,
        box.peak_buffered,
        box.operator.state_bytes,
        box.peak_bytes,
        box.operator.late_unused,
        repr(box.frontier),
        box.operator.note,
    )
