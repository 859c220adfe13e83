"""A running query: Spark's `StreamingQuery`, but it raises the errors of oop, and gives counts by the names of sources
and stages."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from oop.engines.spark.failures import ours

_LOOK = 0.25  # seconds between two looks at the progress


class Query(StreamingQuery):
    """``table`` is the name of the table in memory that takes the result of a query without a sink."""

    def __init__(self, query: StreamingQuery, built: Any, table: str | None = None) -> None:
        super().__init__(query._jsq)
        self._built = built
        self._table = table

    def awaitTermination(self, timeout: float | None = None) -> bool | None:
        """Wait until the query has ended. An error in a worker is raised as an error of oop.

        Spark itself goes on asking inputs that have ended. This stops the query when all inputs have ended and
        everything has been processed.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._ours(lambda: super(Query, self).awaitTermination(_LOOK)):
            if self._has_ended():
                self.stop()
            elif deadline is not None and time.monotonic() >= deadline:
                return False
        self._built.close()
        return None if timeout is None else True

    def _has_ended(self) -> bool:
        """Has every input promised its end, in a micro-batch that is complete?"""
        progress = self.lastProgress
        if progress is None or not progress.sources:
            return False
        offsets = [json.loads(source.endOffset or "null") for source in progress.sources]
        return all(isinstance(offset, dict) and offset.get("ended") is True for offset in offsets)

    def processAllAvailable(self) -> None:
        """Wait until everything that is available now has been processed."""
        self._ours(super().processAllAvailable)

    def exception(self) -> Any:
        found = super().exception()
        return None if found is None else (ours(found) or found)

    def stop(self) -> None:
        super().stop()
        self._built.close()

    def _ours(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except StreamingQueryException as failure:
            self._built.close()
            named = ours(failure)
            if named is None:
                raise
            raise named from None

    def to_table(self) -> pa.Table:
        """Wait for the end of a query that was started without a sink, and give its result."""
        if self._table is None:
            raise ValueError("the query writes to a sink: read the result there")
        self.awaitTermination()
        return self._built.session.table(self._table).toArrow()

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """By source or stage: late rows in all micro-batches so far, and all other counts of the last micro-batch.

        Spark keeps the progress of the last hundred micro-batches. Late rows of earlier ones are not in the sum.
        """
        found: dict[str, dict[str, int]] = {}
        for progress in self.recentProgress:
            row = (progress.observedMetrics or {}).get(self._built.metrics)
            for name, value in row.asDict().items() if row is not None else ():
                what, _, where = name.partition(" ")
                if value is not None:
                    known = found.setdefault(where, {})
                    known[what] = known.get(what, 0) + value if what in ("late", "without_time") else value
        return found
