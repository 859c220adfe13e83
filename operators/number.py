"""Number: the rank of each row, by time, in a column ``__seq``, so that row windows work behind a union.

The sequence numbers that sources give end at a union (DESIGN section 4). A rank is known once no earlier row can come,
and it is one among all rows: one worker numbers them, and only promises about all rows release.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from oop.operators.base import Element, Operator, Part, read_text, text_part
from oop.operators.numbers import SEQ
from oop.operators.ordering import check_order
from oop.operators.releasing import Releasing, ReleasingOperator
from oop.punctuation import Frontier, Punctuation

_NUMBERED = "numbered"


@dataclass(frozen=True, eq=False)
class Number(Releasing):
    """By the time ``on``, then by the columns ``ties``: if those tell all rows apart, as a source and its own number
    do, or are all columns, the ranks do not depend on the order of arrival. A ``__seq`` that comes in is replaced."""

    on: str
    ties: tuple[str, ...] = ()
    name = "Number"
    counts = (SEQ,)

    def schema(self, inputs: Sequence[pa.Schema]) -> pa.Schema:
        for name in self.ties:
            check_order(inputs[0].field(name), "ranking rows of the same time needs")
        kept = [f for f in super().schema(inputs) if f.name != SEQ]
        return pa.schema([*kept, pa.field(SEQ, pa.int64())])

    def translate(self, frontiers: Sequence[Frontier], inputs: Sequence[pa.Schema]) -> Frontier:
        """Numbers begin at 0: how far they have come is known only where rows are counted."""
        out = super().translate(frontiers, inputs)
        if out.bound(self.on) is not None:
            out.advance(Punctuation({SEQ: 0}))
        return out

    def start(self, inputs: Sequence[pa.Schema]) -> Operator:
        return NumberOperator(self, inputs)

    def describe(self) -> str:
        return f"Number by {', '.join((self.on, *self.ties))}"

    def promise_note(self) -> str:
        return f"numbers a row when {self.on} < t is promised for all rows; promises {SEQ} < n"


class NumberOperator(ReleasingOperator):
    def __init__(self, spec: Number, inputs: Sequence[pa.Schema]) -> None:
        super().__init__(spec, inputs)
        self.ports.translate = partial(super(Number, spec).translate, inputs=inputs)
        self.numbered = 0

    def leaving(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        first, self.numbered = self.numbered, self.numbered + rows.num_rows
        kept = [name for name in rows.schema.names if name != SEQ]
        return rows.select(kept).append_column(SEQ, pa.array(np.arange(first, self.numbered)))

    def process_punctuation(self, punct: Punctuation, port: int = 0) -> Iterator[Element]:
        yield from super().process_punctuation(punct, port)
        # all ranks so far have been given
        counted = Punctuation({SEQ: self.numbered})
        if self.numbered and self.ports.out.advance(counted):
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
