"""Keys of several columns kept by row, for tables that are asked for keys more often than for columns
(`csrc/records.h`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from oop.kernels.checks import Array
from oop.kernels.scratch import lasting_array

WORD = 8  # bytes; a record is a whole number of words
MOST_COLUMNS = 16


class KeyRecords:
    """Records of the columns of these widths, one behind the other by id. Wide columns come first, so that every value
    is where its width divides the address."""

    def __init__(self, widths: Sequence[int]) -> None:
        self.places = [0] * len(widths)
        used = 0
        for column in sorted(range(len(widths)), key=lambda c: -widths[c]):
            self.places[column] = used
            used += widths[column]
        self.words = -(-used // WORD)
        self.room = 0
        self.data: Array = np.zeros(0, np.uint64)

    @property
    def nbytes(self) -> int:
        return self.data.nbytes

    def make_room(self, room: int, held: int) -> None:
        """Make room for so many records, of which ``held`` are there."""
        if room > self.room:
            wider = lasting_array(room * self.words, np.uint64)
            wider[: held * self.words] = self.data[: held * self.words]
            self.data, self.room = wider, room

    def column(self, number: int, dtype: Any, count: int) -> Array:
        """The values of a column in the first ``count`` records, where they lie."""
        return np.ndarray((count,), dtype, self.data.data, self.places[number], (self.words * WORD,))
