"""The common base of the ordered merge and the input sort: buffers of an in-order plan, which rows leave in order.

Promises about attributes other than the one that orders the rows cross as far as the held rows allow (`beside.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from oop.operators.core.context import Context
from oop.operators.core.operator import Keeping
from oop.operators.core.parts import Part
from oop.operators.core.spec import Spec
from oop.operators.in_order.beside import Beside, InBuffer
from oop.punctuation.crossing import Crossing


class Buffering(Spec):
    """``on`` orders the rows, ``beside`` are the other attributes that promises cross about."""

    on: str
    beside: tuple[str, ...]
    sorts = True

    @property
    def held_back(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.beside

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset({self.on, *self.beside})

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        """Promises about ``on`` cross unchanged, because no waiting row is below what all inputs have promised."""
        return InBuffer(len(inputs), self.on, self.beside)

    def promise_note(self) -> str:
        lowered = f"; promises {', '.join(self.beside)} < the least that it holds" if self.beside else ""
        return super().promise_note() + lowered


class BufferingOperator(Keeping):
    """Its open results (`open_results`) are the rows that it holds, which may be below a bound on another
    attribute."""

    shows_open = True

    def __init__(self, spec: Buffering, context: Context) -> None:
        super().__init__(spec, context)
        self.spec = spec
        self.beside = Beside(self.ports)

    def load_common(self, parts: Iterable[Part]) -> dict[str, pa.RecordBatch | None]:
        found = super().load_common(parts)
        self.beside = Beside(self.ports)
        return found
