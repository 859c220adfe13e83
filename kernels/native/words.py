"""Keys as words of 64 bits, in C."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from oop.kernels.checks import Words
from oop.kernels.native.columns import make_columns
from oop.kernels.native.library import check_code, ffi, lib, point
from oop.kernels.scratch import new_array
from oop.kernels.views.columns import Column
from oop.kernels.words import count_words, lay_out


def pack_words(columns: Sequence[Column], nulls: bool, length: int) -> Words:
    width, places, shifts = _lay_out(tuple(column.kind for column in columns), nulls)
    words = new_array(length * width, np.uint64)
    words[:] = 0
    given, held = make_columns(columns)
    check_code(lib.oop_pack_words(given, places, shifts, len(columns), length, width, point(words)))
    del held
    return words.reshape(length, width)


@functools.lru_cache(maxsize=64)
def _lay_out(kinds: tuple[str, ...], nulls: bool) -> tuple[int, Any, Any]:
    """The layout as C takes it, cached because it would be most of the time for small batches."""
    fields = lay_out(kinds)[0]
    places, shifts = (ffi.new("int32_t[]", [field[i] for field in fields] or [0]) for i in (0, 1))
    return count_words(kinds, nulls), places, shifts
