"""What a user-defined aggregate keeps: rows of words, as `oop.kernels.user` has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from oop.errors import SchemaMismatch
from oop.kernels import dispatch, views
from oop.kernels.checks import INT64_MAX
from oop.kernels.user import UserLoops
from oop.operators.accumulators import Accumulator, Ids

_TYPES = {"int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}


class Values:
    """A batch's columns as the loops take them; a row counts where none of them is null."""

    def __init__(self, arrays: Sequence[np.ndarray], valid: np.ndarray | None) -> None:
        self.arrays, self.valid = arrays, valid

    def __getitem__(self, rows: np.ndarray) -> Values:
        take = dispatch.kernels().take_fixed
        return Values([take(a, rows) for a in self.arrays], None if self.valid is None else take(self.valid, rows))


class UserAccumulator(Accumulator):
    """``state`` has a row of words for each group (see `oop.kernels.user`); the first is how many rows it has taken."""

    fields = (("state", np.int64),)

    def __init__(self, loops: UserLoops) -> None:
        made = loops.result
        types = [_TYPES[kind] for kind in made.kinds]
        super().__init__(pa.null(), types[0] if made.names is None else pa.struct(zip(made.names, types, strict=True)))
        self.loops = loops
        self._arrays = {"state": np.zeros((0, len(loops.functions.zero)), np.int64)}

    @property
    def kept(self) -> tuple[object, ...]:
        return *super().kept, self.loops.fold

    @property
    def saved_columns(self) -> int:
        return len(self.loops.functions.zero)

    def empty(self) -> Accumulator:
        out = super().empty()
        assert isinstance(out, UserAccumulator)
        out.loops = self.loops
        return out

    def grow(self, size: int, expected: int = 0) -> None:
        held = len(self._arrays["state"])
        super().grow(size, expected)
        state, zero = self._arrays["state"], self.loops.functions.zero
        if len(state) > held and zero.any():
            state[held:] = zero

    def clear(self, ids: Ids) -> None:
        self._arrays["state"][ids] = self.loops.functions.zero

    def prepare(self, values: pa.Array | None) -> Any:
        columns = [] if values is None else [values]
        if len(self.loops.fold.values) > 1:
            columns = [values.field(i) for i in range(len(self.loops.fold.values))]  # type: ignore[union-attr]
        arrays, valid = [], None
        for kind, column in zip(self.loops.fold.values, map(views.column, columns), strict=True):
            arrays.append(_numbers(kind, column))
            if column.valid is not None:
                valid = column.valid if valid is None else valid & column.valid
        return Values(arrays, valid)

    def update(self, ids: Ids, values: Any) -> None:
        self.loops.add(ids, values.arrays, values.valid, self.state)

    def merge(self, ids: Ids, other: Accumulator) -> None:
        self.loops.merge(ids, other.state, self.state)

    def result(self) -> pa.Array:
        return self._result(None)

    def result_in(self, start: np.ndarray, end: np.ndarray) -> pa.Array:
        return self._result((start, end))

    def _result(self, edges: tuple[np.ndarray, np.ndarray] | None) -> pa.Array:
        """Null for a group that has taken no row, as the built-in ones have it."""
        parts = self.loops.finish(self.state, edges)
        none = self.state[:, 0] == 0
        names = self.loops.result.names
        if names is None:
            return pa.array(parts[0], mask=none)
        return pa.StructArray.from_arrays([pa.array(p) for p in parts], list(names), mask=pa.array(none))

    def to_arrow(self) -> list[pa.Array]:
        """The count, then the components; floats as such."""
        floats = self.state.view(np.float64)
        parts = [(floats if kind == "float" else self.state)[:, word] for word, kind in self._words()]
        return [pa.array(part.copy()) for part in (self.state[:, 0], *parts)]

    def load_arrow(self, columns: Sequence[pa.Array]) -> None:
        self.size = len(columns[0])
        state = np.zeros((self.size, self.saved_columns), np.int64)
        state[:, 0] = views.column(columns[0]).data
        for word, kind in self._words():
            state.view(np.float64 if kind == "float" else np.int64)[:, word] = views.column(columns[word]).data
        self._arrays["state"] = state

    def _words(self) -> list[tuple[int, str]]:
        return list(enumerate(self.loops.functions.states, 1))


def _numbers(kind: str, column: views.Column) -> np.ndarray:
    if kind == "bool":
        return column.data != 0
    if column.kind == "uint":
        most = column.data.max(initial=0, where=True if column.valid is None else column.valid)
        if most > INT64_MAX:
            raise SchemaMismatch(
                f"{most} does not fit the int64 that user-defined aggregates compute in",
                hint="cast the column to float64",
            )
        return column.data.view(np.int64)
    return column.data
