"""`Context`: all that an operator is told when it is started."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from oop.frozen import frozen
from oop.operators.core.batches import BATCH_ROWS
from oop.punctuation import Interest
from oop.punctuation.patterns import Bound


@frozen()
class Context:
    """What the engine that starts an operator knows, and the operator's spec does not.

    >>> Context((pa.schema([("ts", pa.int64())]),)).batch_rows
    65536
    """

    inputs: Sequence[pa.Schema]
    """The columns of each port."""
    batch_rows: int = BATCH_ROWS
    """The most rows of a batch that leaves. An operator that has much to put out does so in batches of this size, each
    made when it is asked for, so that the engine may do something else in between (OOP paper, section 6: a window that
    ends must not hold up the rows of the next)."""
    wanted: frozenset[str] | None = None
    """The columns of the output that its consumers use; None: all. An operator may leave out the others."""
    interests: Sequence[Interest] | None = None
    """The promises that help the consumers; None: any may. An operator need not make others."""
    now: Callable[[pa.DataType], Bound] | None = None
    """Reads the run's clock in the unit of a type, for operators that stamp rows with it."""

    def held(self, needed: frozenset[str] | None) -> pa.Schema:
        """The columns of its only port that an operator must hold; ``needed`` are those its spec needs (None: all)."""
        (schema,) = self.inputs
        return pa.schema([f for f in schema if needed is None or f.name in needed])
