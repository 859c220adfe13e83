"""First and last: the value at the least or the greatest of something else, usually the time.

Numbers and times are kept by kernels, three words a group; values of other types by `operators/functions/ranked.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels import views
from oop.kernels.signatures.first import FIRST_WORDS, HELD, VALUE, VALUE_HELD
from oop.kernels.views import Column
from oop.operators.core.words import from_words, to_words
from oop.operators.functions.accumulators import Accumulator, Prepared


class First(Accumulator):
    """``state`` has a row of words for each group: what is held, by what, and the value."""

    fields = (("state", np.int64),)
    which = "first"

    def __init__(self, source: pa.DataType, result: pa.DataType) -> None:
        super().__init__(source, result)
        self._arrays = {"state": np.zeros((0, FIRST_WORDS), np.int64)}

    @property
    def saved_columns(self) -> int:
        return FIRST_WORDS

    @property
    def kept(self) -> tuple[object, ...]:
        return *super().kept, self.which

    def prepare(self, values: Any) -> Prepared:
        of, by = map(views.column, values)
        # two zeros of time are one moment; of values each stays what it is
        return Column("int", to_words(of), None, of.valid), Column(
            "int", to_words(by, zeros_equal=True), None, by.valid
        )

    def update(self, ids: np.ndarray, values: Any) -> None:
        of, by = values
        take = getattr(self.kernels, f"take_{self.which}")
        take(ids, by.data, by.valid, of.data, of.valid, self.state)

    def merge(self, ids: np.ndarray, other: Accumulator) -> None:
        getattr(self.kernels, f"merge_{self.which}")(ids, other.state, self.state)

    def result(self) -> pa.Array:
        kind = views.kind_of(self.source)
        valid = self.state[:, HELD] == VALUE_HELD
        data = from_words(np.ascontiguousarray(self.state[:, VALUE]), kind)
        return views.to_arrow(Column(kind, data, valid=None if valid.all() else valid), self.type)

    def to_arrow(self) -> list[pa.Array]:
        return [pa.array(np.ascontiguousarray(self.state[:, word])) for word in range(FIRST_WORDS)]

    def load_arrow(self, columns: Sequence[pa.Array]) -> None:
        self.size = len(columns[0])
        words = [views.column(column).data for column in columns]
        self._arrays["state"] = np.ascontiguousarray(np.stack(words, axis=1))


class Last(First):
    which = "last"
