"""Number: the rank of each row, by time, so that row windows work behind a union.

The sequence numbers that sources give end at a union. Behind it rows are ranked by time, then by source and their
number there (`oop.plan.numbering` brings both as one column), else by their values. The rank is a hidden column, as the
number that a source gives, and there only where someone counts. A rank is known once no earlier row can come, and it is
one among all rows: one worker numbers them, and only promises about all rows release.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from oop.operators.core.base import Element, Operator, Part, Spec, read_text, text_part
from oop.operators.core.ordering import check_order
from oop.operators.rows.releasing import Releasing, ReleasingOperator
from oop.operators.source.numbers import SEQ, SHOWN, append_numbers, with_number
from oop.punctuation import Frontier, Punctuation

_NUMBERED = "numbered"


@dataclass(frozen=True, eq=False)
class Number(Releasing):
    """By the time ``on``, then by the columns ``ties``: if those tell all rows apart, as a source and its own number
    do, or are all columns, the ranks do not depend on batches. A ``__seq`` that comes in does not leave; ``numbers``:
    the rank does."""

    on: str
    ties: tuple[str, ...] = ()
    numbers: bool = False
    name = "Number"
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
        return with_number(kept) if self.numbers else kept

    def translate(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> Frontier:
        """Numbers begin at 0: how far they have come is known only where rows are counted."""
        out = super().translate(frontiers, inputs)
        if self.numbers and out.bound(self.on) is not None:
            out.advance(Punctuation({SEQ: 0}))
        return out

    def start(self, inputs: Sequence[pa.Schema]) -> Operator:
        return NumberOperator(self, inputs)

    def describe(self) -> str:
        by = "source and row number" if self.ties == (SEQ,) else ", ".join(self.ties)
        return f"Number by {self.on}{', ' if by else ''}{by}"

    def promise_note(self) -> str:
        return f"numbers a row when {self.on} < t is promised for all rows; promises {SHOWN} < n"


class NumberOperator(ReleasingOperator):
    def __init__(self, spec: Number, inputs: Sequence[pa.Schema]) -> None:
        super().__init__(spec, inputs)
        self.ports.translate = partial(super(Number, spec).translate, inputs=inputs)
        self.numbers = spec.numbers
        self.numbered = 0

    def leaving(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        first, self.numbered = self.numbered, self.numbered + rows.num_rows
        kept = rows.select([name for name in rows.schema.names if name != SEQ])
        return append_numbers(kept, range(first, self.numbered)) if self.numbers else kept

    def process_punctuation(self, punct: Punctuation, port: int = 0) -> Iterator[Element]:
        yield from super().process_punctuation(punct, port)
        # all ranks so far have been given
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
