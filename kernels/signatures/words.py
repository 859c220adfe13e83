"""Keys as words of 64 bits; `oop.kernels.words` says how they are laid out."""

from __future__ import annotations

from collections.abc import Sequence

from oop.kernels.checks import KernelError, Words
from oop.kernels.keys import check_lengths
from oop.kernels.signatures.stem import Stem
from oop.kernels.views.columns import Column
from oop.kernels.words import WORD_BITS


class KeyWordKernels(Stem):
    def pack_words(self, columns: Sequence[Column], nulls: bool, length: int | None = None) -> Words:
        """The words of each row's key; equal keys have equal words. With `nulls` there is one more word, for nulls.

        >>> from oop.kernels.dispatch import kernels
        >>> import numpy as np
        >>> src, dst = (Column("int32", np.array(data, np.int32)) for data in ([7, 1], [2, 0]))
        >>> kernels("reference").pack_words([src, dst], nulls=False).tolist() == [[2 << 32 | 7], [1]]
        True
        """
        length = check_lengths(columns, length)
        if any(column.kind == "bytes" for column in columns):
            raise KernelError("bytes have no words: code them first")
        if len(columns) > WORD_BITS:
            raise KernelError(f"a key has at most {WORD_BITS} columns here")
        if not nulls and any(column.valid is not None for column in columns):
            raise KernelError("there is no word for nulls")
        return self.run.pack_words(columns, nulls, length)
