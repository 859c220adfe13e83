"""Cases of programs with users' aggregates. C calls a function of the user's, which here is one of ctypes around the
plain loops: the cases run where Numba cannot be imported."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np

from oop.errors import OopError
from oop.kernels.once import once
from oop.kernels.steps import CHUNK_ROWS, ColumnForm, Op, ProgramCode, Step, Update, UpdateKind
from oop.kernels.user.folds import KINDS, Fold, Functions
from oop.kernels.user.plain import PlainLoops
from tests.kernels.cases.drawn_programs import NAMES, drawn_batch
from tests.kernels.cases.inputs import Case, new_rng

_POINTER, _WHOLE = ctypes.c_void_p, ctypes.c_int64
_LOOP = ctypes.CFUNCTYPE(
    ctypes.c_int32, _POINTER, _POINTER, _WHOLE, _WHOLE, _WHOLE, _POINTER, _POINTER, _POINTER, _POINTER
)


class LoopsInC(PlainLoops):
    """Plain loops that C can call."""

    @once
    def _function(self) -> Any:
        return _LOOP(self._called)

    @property
    def address(self) -> int:
        return int(ctypes.cast(self._function, _POINTER).value or 0)

    def _called(self, *given: Any) -> int:
        ids, there, there_count, n, size, arrays, *values, row = given
        pointers = _array(arrays, 1 + len(self.functions.states), np.uint64).tolist()
        counts = _array(pointers[0], size, np.int64)
        state = [_array(p, size, KINDS[kind]) for p, kind in zip(pointers[1:], self.functions.states, strict=True)]
        columns = [_array(v, n, KINDS[kind]) for v, kind in zip(values, self.fold.values, strict=False)]
        groups, valid = _array(ids, n, np.int64), _array(there, there_count, np.bool_) if there_count else None
        for i in range(n):
            one = slice(i, i + 1)
            try:
                self.add(groups[one], [c[one] for c in columns], None if valid is None else valid[one], counts, state)
            except OopError:
                _array(row, 1, np.int64)[0] = i
                return 1
        return 0


def _array(address: int, length: int, dtype: Any) -> np.ndarray:
    if not length:
        return np.zeros(0, dtype)
    held = (ctypes.c_uint8 * (length * np.dtype(dtype).itemsize)).from_address(address)
    return np.frombuffer(held, dtype)


def _wrapped_sum(state: int, value: int) -> int:
    return (state + value + 2**63) % 2**64 - 2**63


FOLDS = {
    "sum": (Fold(Functions(0, _wrapped_sum), ("int",)), ("i4",), ["int64", "int64"]),
    "rows": (Fold(Functions(0, lambda s: s + 1), ()), (), ["int64", "int64"]),
    "two": (
        Fold(
            Functions((0, 0.0, False), lambda s, x, b: (s[0] + 1, s[1] + x, s[2] or b)),
            ("float", "bool"),
        ),
        ("f8", "b"),
        ["int64", "int64", "float64", "bool"],
    ),
    "fails": (
        Fold(Functions(0.0, lambda s, v, x: s + x // (v - 3)), ("int", "float")),
        ("i1", "f8"),
        ["int64", "float64"],
    ),
}


def _user(name: str, slide: int) -> tuple[Any, ...]:
    """Rows by a key into windows, of which a chunk has one or several, with nulls among the values."""
    rng = new_rng()
    fold, columns, arrays = FOLDS[name]
    batches = [drawn_batch(rng, size, False) for size in (700, CHUNK_ROWS, 40)]
    forms = {"i1": ColumnForm.INT8, "i4": ColumnForm.INT32, "f8": ColumnForm.RAW8, "b": ColumnForm.BITS}
    steps = [
        Step(Op.LOAD, 0, NAMES.index("ts"), form=ColumnForm.RAW8),
        Step(Op.WINDOW, 1, 0, 1, numbers=(slide, slide, 0)),
        Step(Op.LOAD, 2, NAMES.index("u2"), form=ColumnForm.RAW2),
        *(Step(Op.LOAD, 3 + i, NAMES.index(c), form=forms[c]) for i, c in enumerate(columns)),
    ]
    registers = [3 + i for i in range(len(columns))]
    value, by = [*registers, -1, -1][:2]
    updates = (Update(UpdateKind.COUNT, -1, -1, 0), Update(UpdateKind.USER, value, by, 1, LoopsInC(fold)))
    code = ProgramCode(tuple(steps), 3 + len(columns), (), (2,), ("uint16",), 1, updates, 0)
    return code, ["int64", *arrays], 0, [(batches, [], []), (batches[:1], [], [])], {}


def cases() -> Iterator[Case]:
    for name in FOLDS:
        for slide in (20, 1000):
            yield Case("TrainProgram", f"user-{name}-{slide}", lambda name=name, slide=slide: _user(name, slide))
