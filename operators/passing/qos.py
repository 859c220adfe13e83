"""Aurora's QoS timestamp: when a row entered the network (Aurora paper, section 5.1, footnote 3, and section 4.1).

It is a hidden column, which exists only on request (`oop.Embedded(latency=True)`). `Enter` adds it behind each source,
`oop.plan.latency` lets every operator carry the oldest timestamp of the rows that a result comes from, and `Monitor`
removes it before the result is read, and counts the latencies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pyarrow as pa

from oop.errors import SchemaMismatch
from oop.frozen import frozen
from oop.kernels import views
from oop.operators.core.arrival import CLOCK
from oop.operators.core.context import Context
from oop.operators.core.marks import keep_late
from oop.operators.core.operator import Element, Operator, Passing
from oop.operators.core.spec import PassingSpec, Spec
from oop.punctuation.patterns import Bound

ENTERED = "__entered"
LEFT_ENTERED = f"{ENTERED}_left"
"""The timestamp of the left row, for operators that put out the timestamps of both sides."""
TYPE = pa.int64()  # in the unit of the clock, like the arrival attribute


def name_taken(at: str | None = None, name: str = ENTERED) -> SchemaMismatch:
    """The error for a user's column of that name."""
    return SchemaMismatch(f"a column may not be called {name} where latency is measured", at=at, hint="rename it")


@frozen()
class Enter(PassingSpec):
    """Stamps rows with the time of their entry."""

    name = "Enter"

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        if ENTERED in inputs[0].names:
            raise name_taken()
        return inputs[0].append(pa.field(ENTERED, TYPE))

    def start(self, context: Context) -> Operator:
        return EnterOperator(self, context)


class ReadsClock(Passing):
    """An operator that reads the run's clock when rows come. (An operator whose rows leave by the clock has a spec that
    is ``clocked``, and is given promises instead, see `operators/core/arrival.py`.)"""

    def __init__(self, spec: Spec, context: Context) -> None:
        super().__init__(spec, context)
        clock = context.now
        self.now: Callable[[], Bound] = (lambda: 0) if clock is None else (lambda: clock(CLOCK))


class EnterOperator(ReadsClock):
    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterable[Element]:
        at = np.full(batch.num_rows, int(self.now()), np.int64)
        return (keep_late(batch.append_column(pa.field(ENTERED, TYPE), pa.array(at)), batch),)


@frozen()
class Monitor(PassingSpec):
    """Aurora's QoS monitor (Aurora paper, figure 3): measures how long ago the rows that each result comes from
    entered."""

    name = "Monitor"
    reads = frozenset({ENTERED})

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        return pa.schema([f for f in inputs[0] if f.name != ENTERED])

    def start(self, context: Context) -> Operator:
        return MonitorOperator(self, context)


class MonitorOperator(ReadsClock):
    """``counts`` are numbers of rows by latency, in steps that grow with the latency: two for each power of two."""

    def __init__(self, spec: Monitor, context: Context) -> None:
        super().__init__(spec, context)
        self.names = spec.schema(context.inputs).names
        self.counts = np.zeros(128, np.int64)
        self.total = self.greatest = 0

    def process_batch(self, batch: pa.RecordBatch, port: int = 0) -> Iterable[Element]:
        waited = np.maximum(int(self.now()) - views.column(batch.column(ENTERED)).data, 0)
        if len(waited):
            self.counts += np.bincount(steps_of(waited), minlength=len(self.counts))
            self.total += int(waited.sum())
            self.greatest = max(self.greatest, int(waited.max()))
        return (keep_late(batch.select(self.names), batch),)


def steps_of(waited: np.ndarray) -> np.ndarray:
    """The step of each latency. The steps are 0, 1, 2, 3, 4-5, 6-7, 8-11, 12-15, …

    >>> steps_of(np.array([0, 1, 2, 3, 5, 6, 11, 12])).tolist(), [least_in(s) for s in range(1, 8)]
    ([0, 1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 6, 8, 12])
    """
    powers = np.frexp(np.maximum(waited, 1).astype(np.float64))[1] - 1
    upper = (waited >> np.maximum(powers - 1, 0)) & 1
    found: np.ndarray = np.where(waited < 2, waited, 2 * powers + upper)
    return found


def least_in(step: int) -> int:
    """The least latency of a step."""
    return step if step < 2 else (2 + step % 2) << (step // 2 - 1)
