"""The common base of windows with a timeout (Aurora paper, section 5.2.2.2): they may go out early, and say so."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from oop.operators.core.spec import Spec
from oop.operators.groups.store_operator import unique_schema

EARLY = "__early"
"""The output column that says whether the window timed out."""


class Timed(Spec):
    """A mixin that stands before the spec of the windows among the bases. ``timeout`` is in the clock's unit."""

    timeout: int
    clocked = True

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        return unique_schema([*super().schema(inputs), pa.field(EARLY, pa.bool_())])

    def describe(self) -> str:
        return f"{super().describe()} timeout {self.timeout}us"

    def promise_note(self) -> str:
        return f"{super().promise_note()}, or when it has waited so long"
