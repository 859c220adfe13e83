"""What a user-defined aggregate keeps: how many rows each group took, and a column for each component of the state.

Kept side by side in rows, the components were updated a little faster, but the whole run was not faster, because a
result had to be copied out. The loops over rows are those of `oop.kernels.user`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from oop.errors import SchemaMismatch
from oop.kernels import dispatch, views
from oop.kernels.checks import INT64_MAX
from oop.kernels.steps import Update, UpdateKind
from oop.kernels.user.checked import UserLoops
from oop.operators.core.writing import Filled, ProgramWriter, Unwritten
from oop.operators.functions.accumulators import Accumulator, Ids

_VALUES = 2  # columns that a program gives a function, at most
_TYPES = {"int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}


class Values:
    """A batch's columns as the loops take them; a row counts where none of them is null."""

    def __init__(self, arrays: Sequence[np.ndarray], valid: np.ndarray | None) -> None:
        self.arrays, self.valid = arrays, valid

    def __getitem__(self, rows: np.ndarray) -> Values:
        take = dispatch.kernels().take_fixed
        return Values([take(a, rows) for a in self.arrays], None if self.valid is None else take(self.valid, rows))


class UserAccumulator(Accumulator):
    """It has an array for each component of the state, ``part0``, ``part1``, …, beside ``counts``."""

    def __init__(self, loops: UserLoops) -> None:
        made = loops.result
        types = [_TYPES[kind] for kind in made.kinds]
        super().__init__(pa.null(), types[0] if made.names is None else pa.struct(zip(made.names, types, strict=True)))
        self.loops = loops
        parts = enumerate(loops.functions.columns(0))
        self._arrays = {"counts": np.zeros(0, np.int64), **{f"part{i}": column for i, column in parts}}

    @property
    def kept(self) -> tuple[object, ...]:
        return *super().kept, self.loops.fold

    @property
    def state(self) -> list[np.ndarray]:
        return [array[: self.size] for name, array in self._arrays.items() if name != "counts"]

    def empty(self) -> Accumulator:
        out = super().empty()
        assert isinstance(out, UserAccumulator)
        out.loops = self.loops
        return out

    def grow(self, size: int, expected: int = 0) -> None:
        held = len(self._arrays["counts"])
        super().grow(size, expected)
        self._begin(held)

    def make_room(self, room: int) -> None:
        held = len(self._arrays["counts"])
        super().make_room(room)
        self._begin(held)

    def _begin(self, held: int) -> None:
        """Let groups from this one on begin with the state of no rows."""
        for i, part in enumerate(self.loops.functions.parts):
            array = self._arrays[f"part{i}"]
            if len(array) > held and array.dtype.type(part).tobytes().strip(b"\0"):  # zeros are there already
                array[held:] = part

    def clear(self, ids: Ids) -> None:
        super().clear(ids)
        for i, part in enumerate(self.loops.functions.parts):
            self._arrays[f"part{i}"][ids] = part

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
        self.loops.add(ids, values.arrays, values.valid, self.counts, self.state)

    def write(self, writer: ProgramWriter, values: Sequence[Filled], array: int) -> Update:
        if len(values) > _VALUES:
            raise Unwritten(f"it is over more than {_VALUES} columns")
        for kind, value in zip(self.loops.fold.values, values, strict=True):
            if value.kind not in (kind, "u" + kind) or value.type == pa.uint64():
                raise Unwritten(f"it has no steps for {value.type}")
        first, second = [*(value.register for value in values), -1, -1][:_VALUES]
        return Update(UpdateKind.USER, first, second, array, self.loops)

    def merge(self, ids: Ids, other: Accumulator) -> None:
        assert isinstance(other, UserAccumulator)
        self.loops.merge(ids, other.counts, other.state, self.counts, self.state)

    def result(self) -> pa.Array:
        return self._result(None)

    def result_in(self, start: np.ndarray, end: np.ndarray) -> pa.Array:
        return self._result((start, end))

    def _result(self, edges: tuple[np.ndarray, np.ndarray] | None) -> pa.Array:
        """The results; null for a group that has taken no row, as in the built-in functions."""
        parts = self.loops.finish(self.counts, self.state, edges)
        none = self.counts == 0
        names = self.loops.result.names
        if names is None:
            return pa.array(parts[0], mask=none)
        return pa.StructArray.from_arrays([pa.array(p) for p in parts], list(names), mask=pa.array(none))


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
