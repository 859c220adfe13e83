"""Keys of groups: text is coded, so that a key of several texts is a few small numbers.

A batch's text column becomes codes into its distinct values (`read_key`); a table of groups has a dictionary of its own
for each text column, and maps codes to codes, so it looks only at the distinct values of a batch, not at every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from oop.kernels import dictionaries, dispatch, views
from oop.kernels.views import Column

TEXT = "bytes"
CODE = "int32"
_FEW = 256  # rows; fewer are not worth a dictionary


@dataclass(frozen=True, eq=False, slots=True)
class Coded:
    """Row i is ``values[codes[i]]``; a null is a value like others."""

    codes: np.ndarray
    values: Column

    def __len__(self) -> int:
        return len(self.codes)


Key: TypeAlias = Column | Coded


def read_key(array: pa.Array) -> Key:
    """A key column of a batch; text is coded if there are many rows.

    >>> len(read_key(pa.array(["a", "b"] * 200)).values), len(read_key(pa.array(["a", "b"])))
    (2, 2)
    """
    if views.key_kind(array.type) != TEXT or len(array) < _FEW:
        return views.key_column(array)
    return _dictionary(array) or encode_text([array])[0]


def _dictionary(array: pa.Array) -> Coded | None:
    """A dictionary column with the codes that it has; None for other columns, and where indices are null."""
    if not pa.types.is_dictionary(array.type) or array.indices.null_count:
        return None
    return Coded(views.key_column(array.indices.cast(pa.int32())).data, views.column(array.dictionary))


def encode_text(arrays: Sequence[pa.Array]) -> list[Coded]:
    """Several pieces of a text column, coded by one dictionary."""
    kernels = dispatch.kernels()
    table = kernels.GroupTable([TEXT])
    codes = []
    for array in arrays:
        known = _dictionary(array)
        if known is None:
            codes.append(table.map([views.column(array)]).astype(np.int32))
        else:
            ours = table.map([known.values]).astype(np.int32)
            codes.append(kernels.take_fixed(ours, known.codes.astype(np.int64)))
    values = table.columns()[0]
    return [Coded(c, values) for c in codes]


class KeyTable:
    """Dense ids for keys of any kinds; see `GroupTable`, which holds keys that are numbers. ``grows_little`` is for
    keys that take most of the memory of what they belong to.

    >>> table = KeyTable(["bytes", "int"])
    >>> table.map([views.column(pa.array(["a", "b", "a"])), views.column(pa.array([1, 1, 1]))], 3)
    array([0, 1, 0])
    >>> table.arrays([pa.string(), pa.int64()])[0].to_pylist()
    ['a', 'b']
    """

    def __init__(
        self,
        kinds: Sequence[str],
        kernels: dispatch.Kernels | None = None,
        *,
        by_rows: bool = False,
        grows_little: bool = False,
    ) -> None:
        self.kernels = kernels = kernels or dispatch.kernels()
        self.kinds = list(kinds)
        self.texts = {}
        codes = self.kinds
        # the codes of a single text column are the ids
        self.alone = codes == [TEXT]
        if TEXT in codes:
            self.texts = {i: kernels.GroupTable([TEXT]) for i, kind in enumerate(kinds) if kind == TEXT}
            codes = [] if self.alone else [CODE if k == TEXT else k for k in kinds]
        self.codes = kernels.GroupTable(codes, by_rows)
        self.codes.grows_little = grows_little
        self.ids = self.texts[0] if self.alone else self.codes
        """The table whose ids are those of the keys. A caller that only counts keys asks it, which spares a call."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        found = self.codes.nbytes
        for text in self.texts.values():
            found += text.nbytes
        return found

    def reserve(self, groups: int) -> None:
        self.ids.reserve(groups)

    def map(self, keys: Sequence[Key], length: int, rows: np.ndarray | None = None) -> np.ndarray:
        """The id of each row's key; with ``rows``, only those of the rows with these numbers."""
        if not self.texts:
            return self.codes.map(keys, length, rows)  # type: ignore[arg-type]  # none of them is coded
        if self.alone:
            return self._map_text(0, keys[0], rows)
        coded = [
            Column(CODE, self._map_text(i, key, rows).astype(np.int32)) if i in self.texts else self._take(key, rows)
            for i, key in enumerate(keys)
        ]
        return self.codes.map(coded, length if rows is None else len(rows))

    def _map_text(self, place: int, key: Key, rows: np.ndarray | None) -> np.ndarray:
        """The codes of a text column in this table; only values that occur in these rows get a code."""
        if isinstance(key, Column):
            return self.texts[place].map([key], len(key), rows)
        text = self.texts[place]
        codes = key.codes if rows is None else self.kernels.take_fixed(key.codes, rows)
        if len(key.values) > len(codes):  # a large dictionary, of which few values occur
            used, places = np.unique(codes, return_inverse=True)
            return text.map([key.values], len(key.values), used.astype(np.int64))[places]
        occurs = np.zeros(len(key.values), np.bool_)
        occurs[codes] = True
        used = np.flatnonzero(occurs)
        ours = np.zeros(len(key.values), np.int64)
        ours[used] = text.map([key.values], len(key.values), used)
        return self.kernels.take_fixed(ours, codes.astype(np.int64))

    def _take(self, key: Key, rows: np.ndarray | None) -> Column:
        assert isinstance(key, Column)
        if rows is None:
            return key
        valid = None if key.valid is None else self.kernels.take_fixed(key.valid, rows)
        return Column(key.kind, self.kernels.take_fixed(key.data, rows), None, valid)

    def columns(self) -> list[Column]:
        """The keys by id, with text decoded."""
        codes = self.codes.columns()
        found = []
        for i in range(len(self.kinds)):
            if i not in self.texts:
                found.append(codes[i])
            else:
                values = self._text(i, pa.large_binary())
                found.append(views.column(values if self.alone else values.take(pa.array(codes[i].data))))
        return found

    def arrays(self, types: Sequence[pa.DataType], start: int = 0, stop: int | None = None) -> list[pa.Array]:
        """The keys by id as columns of these types; with ``start`` and ``stop``, those of the ids between them."""
        found = []
        codes = self.codes.columns()
        if start and stop is None:
            stop = len(self.ids)
        if stop is not None:
            codes = [views.slice_rows(column, start, stop) for column in codes]
        for i, type_ in enumerate(types):
            if i not in self.texts:
                found.append(dictionaries.to_arrow_type(codes[i], type_))
            elif self.alone:
                texts = self.texts[i].columns()[0]
                found.append(
                    dictionaries.to_arrow_type(texts if stop is None else views.slice_rows(texts, start, stop), type_)
                )
            else:
                plain = pa.types.is_string(type_) or pa.types.is_large_string(type_)
                # the cast comes after `take`: before it, all texts would be laid out, however few are taken
                values = self._text(i, pa.large_string() if plain else pa.large_binary())
                taken = values.take(pa.array(codes[i].data))
                found.append(taken.cast(type_) if plain else dictionaries.to_arrow_type(views.column(taken), type_))
        return found

    def take(self, ids: np.ndarray) -> list[Column]:
        """The keys with these ids, without looking at other keys."""
        codes, found = self.codes.columns(), []
        for i in range(len(self.kinds)):
            if i not in self.texts:
                found.append(self._take_ids(codes[i], ids))
            else:
                here = ids if self.alone else codes[i].data[ids].astype(np.int64)
                found.append(views.take_rows(self.texts[i].columns()[0], here))
        return found

    def _take_ids(self, column: Column, ids: np.ndarray) -> Column:
        if column.valid is not None or not column.data.flags.c_contiguous:
            return views.take_rows(column, ids)
        return Column(column.kind, self.kernels.take_fixed(column.data, ids), None, None)

    def _text(self, place: int, type_: pa.DataType) -> pa.Array:
        """The texts of a column by their codes."""
        return views.to_arrow(self.texts[place].columns()[0], type_)
