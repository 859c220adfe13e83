"""Keys as words of 64 bits: narrow columns share one, so that comparing two keys is comparing few numbers.

The kernel `pack_words` makes the words of rows; `unpack_words` turns them back into columns. One more word, the last,
has a bit for each column that is null; keys without nulls do without it.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from oop.kernels.checks import Words
from oop.kernels.views.columns import DTYPES, Column

WORD_BITS = 64


def lay_out(kinds: Sequence[str]) -> tuple[list[tuple[int, int]], int]:
    """The word and the shift of each column, and how many words there are. A bytes column has a word for its code.

    >>> lay_out(["int32", "int", "int8", "bytes"])
    ([(0, 0), (1, 0), (0, 32), (2, 0)], 3)
    """
    return _lay_out(tuple(kinds))


@functools.cache
def _lay_out(kinds: tuple[str, ...]) -> tuple[list[tuple[int, int]], int]:
    fields, free = [], list[int]()
    for kind in kinds:
        bits = WORD_BITS if kind == "bytes" else 8 * np.dtype(DTYPES[kind]).itemsize
        place = next((place for place, left in enumerate(free) if left >= bits), len(free))
        if place == len(free):
            free.append(WORD_BITS)
        fields.append((place, WORD_BITS - free[place]))
        free[place] -= bits
    return fields, len(free)


def count_words(kinds: Sequence[str], nulls: bool) -> int:
    """How many words a key of these columns has, at least one.

    >>> [count_words(kinds, nulls) for kinds, nulls in ((["int32", "int32"], False), (["int"], True), ([], False))]
    [1, 2, 1]
    """
    return max(lay_out(kinds)[1] + nulls, 1)


def unpack_words(words: Words, kinds: Sequence[str], nulls: bool) -> list[Column]:
    """The columns from which `pack_words` made these words.

    >>> words = np.array([[2 << 32 | 7]], np.uint64)
    >>> [column.data.tolist() for column in unpack_words(words, ["int32", "int32"], nulls=False)]
    [[7], [2]]
    """
    found = []
    for number, (kind, (place, shift)) in enumerate(zip(kinds, lay_out(kinds)[0], strict=True)):
        dtype = np.dtype(DTYPES[kind])
        data = (words[:, place] >> np.uint64(shift)).astype(f"uint{8 * dtype.itemsize}").view(dtype)
        valid = (words[:, -1] >> np.uint64(number)) & np.uint64(1) == 0 if nulls else None
        found.append(Column(kind, data, None, None if valid is None or valid.all() else valid))
    return found
