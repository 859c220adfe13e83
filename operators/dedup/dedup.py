"""Dedup: keeps one of the rows with equal keys. It is a group-by that puts out a row of each group.

``keep="any"`` lets the first row that comes pass at once, and remembers its key until a promise covers it. ``"first"``
and ``"last"`` are known only then, so they hold the best row so far. Without a span, the time or another attribute that
is promised about must be a key, because otherwise no key could ever be forgotten. With a span see `dedup/within.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from oop.kernels import views
from oop.kernels.steps import MOST_KEYS
from oop.operators.core.context import Context
from oop.operators.core.operator import Operator
from oop.operators.core.ordering import check_order
from oop.operators.core.writing import INT, PARTED_ONCE, ProgramWriter, RowsCode, Unwritten
from oop.operators.dedup.fields import DedupFields
from oop.operators.dedup.operator import KeepBest, PassFirstComer
from oop.operators.dedup.within import KeepInSpan, PassOneNear
from oop.operators.rows.layout import check_takeable
from oop.punctuation import Frontier
from oop.punctuation.crossing import Crossing, Same

KEEP = ("any", "first", "last")


class Dedup(DedupFields):
    """The spec of a Dedup; `fields.py` says what it is given."""

    name = "Dedup"
    never = "could never forget a key"
    unblocked_by = "make a key of the time, or say within=…, or punctuate=oop.at_end()"

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        for field in inputs[0]:
            check_takeable(field)
            if field.name in self.keys:
                views.kind_of(field.type)  # refuses what cannot be compared
            elif self.keep != "any":
                check_order(field, "rows of the same key and time are told apart by")
        return inputs[0]

    def shard_columns(self, inputs: Sequence[pa.Schema]) -> list[tuple[str, ...]] | None:
        return [self.keys] if self.keys else None

    @property
    def needs_order(self) -> bool:
        """Within a span it depends on the order how many rows pass; else each key passes once in any order."""
        return self.keep == "any" and self.within is not None

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        """Promises pass unchanged if rows pass at once; else only promises about what the rows wait for cross."""
        waiting = self.covering(held=self.keep == "last")
        return Same(also=waiting.interests(())[0]) if self.keep == "any" else waiting

    def blocking(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> str | None:
        if any(True for _ in self.covering().translate(frontiers).promises()):
            return None
        return ", ".join(self.keys) if self.within is None else self.time

    def write(self, writer: ProgramWriter, inputs: Sequence[pa.Schema]) -> RowsCode:
        if self.keep != "any" or self.within is not None:
            raise Unwritten(f"keep={self.keep!r}" if self.keep != "any" else "within a span")
        if not self.keys or len(self.keys) > MOST_KEYS:
            raise Unwritten(f"{len(self.keys)} keys")
        if writer.parts:
            raise Unwritten(PARTED_ONCE)
        slot = writer.slot(self.on[0]) if self.on else writer.constant(0, INT)
        (used,) = self.needs(writer.wanted, inputs)
        schema = pa.schema([field for field in inputs[0] if used is None or field.name in used])
        return writer.distinct(schema, [writer.key(name) for name in self.keys], slot)

    def start(self, context: Context) -> Operator:
        if self.within is not None:
            return PassOneNear(self, context) if self.keep == "any" else KeepInSpan(self, context)
        return PassFirstComer(self, context) if self.keep == "any" else KeepBest(self, context)

    def describe(self) -> str:
        span = "" if self.within is None else f" within {self.within}"
        return f"Dedup by {', '.join(self.keys) or 'nothing'}{span}, keep {self.keep}"

    def promise_note(self) -> str:
        if self.keep == "any":
            return "emits at once; forgets a key when a promise covers it"
        return f"emits the {self.keep} row of a key when a promise covers it"
