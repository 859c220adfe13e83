"""Boxes whose operators are spread over threads (`sharded.py`)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

import pyarrow as pa

from oop.engines.embedded.boxes import Box
from oop.engines.embedded.sharded import Sharded
from oop.operators.core.batches import CROSSING_ROWS, TRAIN_ROWS, as_one
from oop.operators.core.operator import Element


class ShardedBox(Box):
    """A box whose operator works on several threads. Its output comes later, and the number of rows on their way is
    limited."""

    sharded: Sharded

    def __post_init__(self) -> None:
        super().__post_init__()
        assert isinstance(self.operator, Sharded)
        self.sharded = self.operator
        self.sharded.room = self.capacity

    @property
    def has_work(self) -> bool:
        waits = self.sharded.waiting_rows < self.capacity and any(arc.queue for arc in self.inputs)
        return not self.failed and (waits or self.sharded.has_output)

    @property
    def can_run(self) -> bool:
        return self.has_work and not self.is_pushed_back

    def run(self, rows: int | None) -> bool:
        """Hand waiting rows to the shards, up to the number that may be on their way, and put out what has come
        back."""
        taken, before = 0, self.rows_out
        while self.sharded.waiting_rows < self.capacity and (rows is None or taken < rows):
            ready = [arc for arc in self.inputs if arc.queue]
            if not ready:
                break
            for arc in ready:
                advance = arc.take_advance()
                if advance:
                    self.process_advance(advance, arc.port)
                    continue
                batches, promises = arc.take_past_promises(min(CROSSING_ROWS, self.capacity))
                taken += self._process_batches(batches, arc.port)
                for promise in promises:
                    self.process_advance((promise,), arc.port)
        if self.rows_out == before or not self.is_full:  # put something out in every turn, or the reader would wait
            self._put_out(self.sharded.ready)
        self.unfinished = self.is_full and self.sharded.has_output
        self.measure()
        return True

    def _go_on(self, hook: Callable[..., Iterable[Element]], *given: object) -> None:
        """Hand the given rows or promises to the shards, and put out what has come back if there is room for it."""
        ready = hook(*given)
        if not self.is_full:
            self._put_out(iter, ready)

    def _put_out(self, hook: Callable[..., Iterable[Element]], *given: object) -> None:
        """Put out what has come back, until a queue behind the box is full. The rest stays with the shards, which pause
        when they have too much of it. So nothing is pending in the box itself."""
        self._turn_ends = sys.maxsize
        self.emit(hook, *given, pausing=True)
        self.pending = None

    def _process_batches(self, batches: list[pa.RecordBatch], port: int) -> int:
        rows = sum(batch.num_rows for batch in batches)
        self.rows_in += rows
        self.batches_in += len(batches)
        if rows < len(batches) * TRAIN_ROWS:  # to process small batches one by one costs more than to join them
            batches = as_one(batches)
        self._go_on(self.sharded.process_batches, batches, port)
        return rows

    def measure(self) -> None:
        super().measure()
        self.peak_buffered = max(self.peak_buffered, self.sharded.peak_rows)
        self.peak_bytes = max(self.peak_bytes, self.sharded.peak_bytes)
        self.gauge.peak = max(self.gauge.peak, self.sharded.peak_rows)  # the peak may have been within a thread's work
