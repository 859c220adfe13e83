"""Rows that are stamped with the engine's clock as they come in (OOP paper, section 4.2: windows on arrival time).

A policy that stamps is declared for a column that the data lacks. Rows are stamped where they are guarded, not where a
thread reads them, so that a clock moved by a test gives the same stamps every time. All rows of a train have one stamp.
A stamp is the greatest time that the clock has shown so far, so stamps never retreat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pyarrow as pa

from oop.errors import SchemaMismatch
from oop.operators.core.arrival import CLOCK
from oop.punctuation import Policy
from oop.punctuation.patterns import Bound
from oop.punctuation.progress import Progress

Now = Callable[[pa.DataType], Bound]
"""Reads the run's clock, in the unit of a type."""


def with_arrival(schema: pa.Schema, policies: Iterable[tuple[str, Policy]]) -> pa.Schema:
    """The columns of rows that have been stamped: those of the data, and one for each policy that stamps.

    >>> import oop
    >>> with_arrival(pa.schema({"v": pa.int64()}), [("at", oop.arrival())]).names
    ['v', 'at']
    """
    for name, policy in policies:
        if policy.stamps:
            if name in schema.names:
                raise SchemaMismatch(
                    f"the data has a column {name!r} of its own, and arrival() makes one",
                    hint="name a column that the data does not have",
                )
            schema = schema.append(pa.field(name, CLOCK))
    return schema


def stamped(batch: pa.RecordBatch, arrivals: Iterable[Progress], now: Now | None) -> pa.RecordBatch:
    """The batch with the time of its arrival in every column that a policy stamps."""
    for progress in arrivals:
        assert now is not None, "rows are stamped by the clock of an engine"
        at = pa.scalar(progress.stamp(now(CLOCK)), CLOCK)
        batch = batch.append_column(pa.field(progress.attribute, CLOCK), pa.repeat(at, batch.num_rows))
    return batch
