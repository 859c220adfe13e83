"""Keys as words of 64 bits, in Numba."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oop.kernels.checks import Words
from oop.kernels.jit.compiler import NO_ROWS, as_input, as_mask
from oop.kernels.jit.tables import pack_bits
from oop.kernels.views.columns import Column
from oop.kernels.words import count_words, lay_out


def pack_words(columns: Sequence[Column], nulls: bool, length: int) -> Words:
    kinds = [column.kind for column in columns]
    words = np.zeros((length, count_words(kinds, nulls)), np.uint64)
    for number, (column, (place, shift)) in enumerate(zip(columns, lay_out(kinds)[0], strict=True)):
        bits = as_input(column.data).view(f"uint{8 * column.data.itemsize}")
        floats, last = column.kind == "float", words.shape[1] - 1
        pack_bits(bits, as_mask(column.valid), NO_ROWS, floats, place, shift, last, number, words)
    return words
