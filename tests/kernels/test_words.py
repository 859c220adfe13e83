"""Keys against their words, and back."""

from __future__ import annotations

import numpy as np
import pytest

from oop.kernels.dispatch import kernels
from oop.kernels.words import unpack_words
from tests.kernels.cases import key_columns

k = kernels("reference")


@pytest.mark.parametrize("label", [n for n, cs in key_columns().items() if all(c.kind != "bytes" for c in cs)])
def test_words_are_equal_iff_keys_are(label: str) -> None:
    columns = key_columns()[label]
    length = len(columns[0]) if columns else 5
    words = k.pack_words(columns, nulls=True, length=length)
    ids = k.GroupTable([c.kind for c in columns]).map(columns, length)
    found = np.unique(np.column_stack((ids, words.astype(object))).astype(str), axis=0) if length else ids
    assert len(found) == len(np.unique(ids)) == len(np.unique(words, axis=0))


@pytest.mark.parametrize("nulls", [False, True])
def test_columns_are_got_back_from_their_words(nulls: bool) -> None:
    for columns in key_columns().values():
        if any(c.kind == "bytes" or (c.valid is not None and not nulls) for c in columns):
            continue
        length = len(columns[0]) if columns else 5
        words = k.pack_words(columns, nulls, length)
        back = unpack_words(words, [c.kind for c in columns], nulls)
        np.testing.assert_array_equal(k.pack_words(back, nulls, length), words)
        for column, other in zip(columns, back, strict=True):
            valid = np.ones(length, np.bool_) if column.valid is None else column.valid
            assert other.kind == column.kind and other.data.dtype == column.data.dtype
            np.testing.assert_array_equal(other.data[valid], column.data[valid])
            np.testing.assert_array_equal(valid, True if other.valid is None else other.valid)
