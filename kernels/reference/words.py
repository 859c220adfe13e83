"""Keys as words of 64 bits, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oop.kernels.checks import Words
from oop.kernels.keys import normalize_column
from oop.kernels.views.columns import Column
from oop.kernels.words import count_words, lay_out


def pack_words(columns: Sequence[Column], nulls: bool, length: int) -> Words:
    kinds = [column.kind for column in columns]
    words = np.zeros((length, count_words(kinds, nulls)), np.uint64)
    for number, (column, (place, shift)) in enumerate(zip(columns, lay_out(kinds)[0], strict=True)):
        data = normalize_column(column).data if column.kind == "float" else column.data
        bits = np.ascontiguousarray(data).view(f"uint{8 * data.itemsize}").astype(np.uint64) << np.uint64(shift)
        if column.valid is not None:
            bits = np.where(column.valid, bits, np.uint64(0))
            words[:, -1] |= (~column.valid).astype(np.uint64) << np.uint64(number)
        words[:, place] |= bits
    return words
