"""Number: the rank of each row, by time, so that row windows work behind a union.

The sequence numbers that sources give end at a union. Behind it rows are ranked by time, then by source and their
number there (`oop.plan.numbering` brings both as one column), else by their values. The rank is a hidden column, like
the number that a source gives, and it exists only if an operator counts rows. A rank is known once no earlier row can
come. It counts all rows, so one worker numbers them, and only promises about all rows release rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from oop.frozen import frozen
from oop.operators.core.context import Context
from oop.operators.core.operator import Element, Operator
from oop.operators.core.ordering import check_order
from oop.operators.core.parts import Part, read_text, text_part
from oop.operators.core.spec import Spec
from oop.operators.rows.releasing import Releasing, ReleasingOperator, by_time
from oop.operators.source.numbers import SEQ, SHOWN, append_numbers, schema_with_number
from oop.punctuation import Frontier, Punctuation
from oop.punctuation.crossing import Counted, Crossing
from oop.punctuation.group_promises import Advance

_NUMBERED = "numbered"


@frozen(eq=False)
class Number(Releasing):
    """Rows are ranked by the time ``on``, then by the columns ``ties``. If the ties tell all rows apart (as a source
    and its own number do) or are all columns, the ranks do not depend on how rows are batched. A ``__seq`` of the input
    is dropped; with ``numbers`` the rank takes its place."""

    on: str
    ties: tuple[str, ...] = ()
    numbers: bool = False
    name = "Number"
    note = "numbers a row when {self.on} < t is promised for all rows; promises " + f"{SHOWN} < n"
    numbers_rows = True

    @property
    def counts(self) -> tuple[str, ...]:  # type: ignore[override]
        return (SEQ,) if self.numbers else ()

    def with_number(self) -> Spec | None:
        return replace(self, numbers=True)

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        for name in self.ties:
            check_order(inputs[0].field(name), "ranking rows of the same time needs")
        kept = pa.schema([f for f in super().schema(inputs) if f.name != SEQ])
        return schema_with_number(kept) if self.numbers else kept

    def crossing(self, inputs: Sequence[pa.Schema]) -> Crossing:
        return NumberCrossing(self.on) if self.numbers else super().crossing(inputs)

    def start(self, context: Context) -> Operator:
        return NumberOperator(self, context)

    def describe(self) -> str:
        by = "source and row number" if self.ties == (SEQ,) else ", ".join(self.ties)
        return f"Number by {self.on}{', ' if by else ''}{by}"


class NumberCrossing(Counted):
    """The crossing of a Number. It promises ``__seq < 0`` as soon as the time ``on`` releases rows: that ranks grow.
    How far they have come is known only to the running operator, which counts."""

    def __init__(self, on: str) -> None:
        super().__init__(by_time(on), [Punctuation({SEQ: 0})])
        self.on = on

    def translate(self, frontiers: Sequence[Frontier]) -> Frontier:
        released = self.of.translate(frontiers)
        return released if released.bound(self.on) is None else super().translate(frontiers)


class NumberOperator(ReleasingOperator):
    def __init__(self, spec: Number, context: Context) -> None:
        super().__init__(spec, context)
        self.numbers = spec.numbers
        self.numbered = 0

    def leaving(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        first, self.numbered = self.numbered, self.numbered + rows.num_rows
        kept = rows.select([name for name in rows.schema.names if name != SEQ])
        return append_numbers(kept, range(first, self.numbered)) if self.numbers else kept

    def released(self, new: Advance, port: int) -> Iterator[Element]:
        yield from super().released(new, port)
        # Later rows get higher ranks than all rows so far.
        counted = Punctuation({SEQ: self.numbered})
        if self.numbers and self.numbered and self.ports.out.advance(counted):
            yield counted

    def save(self) -> Iterator[Part]:
        yield from super().save()
        yield text_part(_NUMBERED, self.numbered)

    def load(self, parts: Iterable[Part]) -> None:
        found = dict(parts)
        super().load(found.items())
        count = found.get(_NUMBERED)
        numbered = 0 if count is None else read_text(count)
        assert isinstance(numbered, int)
        self.numbered = numbered
