"""`Passages`: what passes the boxes of a superbox, counted as if each box had taken it as one batch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from oop.engines.embedded.boxes import Box


class Passages:
    """The arcs between boxes that follow each other, which a program passes without putting anything on them."""

    def __init__(self, boxes: Sequence[Box]) -> None:
        arcs = [next(arc for arc in box.outputs if arc.target is after) for box, after in pairwise(boxes)]
        # by the mark behind the box that an arc leads from
        self._passages = list(zip(boxes, arcs, boxes[1:], strict=False))
        self._passed = [0] * len(boxes)

    def count(self, counts: Any) -> None:
        """Count what has passed, of which a program has counted so much since the beginning."""
        for i, (box, arc, after) in enumerate(self._passages):
            rows = counts[i] - self._passed[i]
            if not rows:
                break
            self._passed[i] = counts[i]
            box.rows_out += rows
            box.batches_out += 1
            arc.rows += rows
            after.rows_in += rows
            after.batches_in += 1
