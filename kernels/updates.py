"""How programs that are interpreted change the aggregates of groups: by the kernels that `UpdateKind` names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from oop.kernels.checks import Array, Bools
from oop.kernels.dispatch import Kernels
from oop.kernels.steps import Update, UpdateKind


class Rows(Protocol):
    """The rows of a chunk that have come through its steps."""

    kernels: Kernels

    def value(self, number: int, rows: Array | None, dtype: Any = None) -> tuple[Array, Bools | None]:
        """The values of a register, and which of them are there: of all rows, or of those with these numbers."""


Updating = Callable[[Rows, Update, Array, Array | None, Sequence[Array]], None]


def _count(run: Rows, update: Update, ids: Array, rows: Array | None, arrays: Sequence[Array]) -> None:
    valid = run.value(update.value, rows)[1] if update.value >= 0 else None
    run.kernels.add_count(ids, valid, arrays[0])


def _by_values(name: str, dtype: Any, width: int) -> Updating:
    """An update by the kernel of this name, which is given the values and so many arrays."""

    def updating(run: Rows, update: Update, ids: Array, rows: Array | None, arrays: Sequence[Array]) -> None:
        values, valid = run.value(update.value, rows, dtype)
        getattr(run.kernels, name)(ids, values, valid, *arrays[:width])

    return updating


def _sum_float(run: Rows, update: Update, ids: Array, rows: Array | None, arrays: Sequence[Array]) -> None:
    values, valid = run.value(update.value, rows)
    run.kernels.add_sum_float(ids, values, valid, arrays[0], arrays[2])


def _moments(run: Rows, update: Update, ids: Array, rows: Array | None, arrays: Sequence[Array]) -> None:
    values, valid = run.value(update.value, rows)
    if update.kind is UpdateKind.WHOLE_MOMENTS:
        bases = arrays[3][ids]
        if bases.any():  # the distance is exact, and then rounded
            values = (values.astype(object) - bases.astype(object)).astype(np.float64)
    run.kernels.add_moments(ids, values, valid, *arrays[:3])


def _by_order(name: str) -> Updating:
    def updating(run: Rows, update: Update, ids: Array, rows: Array | None, arrays: Sequence[Array]) -> None:
        values, valid = run.value(update.value, rows)
        by, known = run.value(update.by, rows)
        getattr(run.kernels, name)(ids, by, known, values, valid, arrays[0])

    return updating


def _user(run: Rows, update: Update, ids: Array, rows: Array | None, arrays: Sequence[Array]) -> None:
    assert update.loops is not None
    taken = [run.value(number, rows) for number in (update.value, update.by) if number >= 0]
    masks = [valid for _, valid in taken if valid is not None]
    valid = np.logical_and.reduce(masks) if masks else None
    update.loops.take(ids, [data for data, _ in taken], valid, arrays)


UPDATES: dict[UpdateKind, Updating] = {
    UpdateKind.COUNT: _count,
    UpdateKind.SUM_INT: _by_values("add_sum_int", np.int64, 3),
    UpdateKind.SUM_UINT: _by_values("add_sum_int", np.uint64, 3),
    UpdateKind.SUM_FLOAT: _sum_float,
    UpdateKind.MIN_INT: _by_values("take_min", np.int64, 2),
    UpdateKind.MAX_INT: _by_values("take_max", np.int64, 2),
    UpdateKind.MIN_UINT: _by_values("take_min", np.uint64, 2),
    UpdateKind.MAX_UINT: _by_values("take_max", np.uint64, 2),
    UpdateKind.MIN_FLOAT: _by_values("take_min", np.float64, 2),
    UpdateKind.MAX_FLOAT: _by_values("take_max", np.float64, 2),
    UpdateKind.SUMMARY: _by_values("add_summary", np.int64, 1),
    UpdateKind.FIRST: _by_order("take_first"),
    UpdateKind.LAST: _by_order("take_last"),
    UpdateKind.MOMENTS: _moments,
    UpdateKind.WHOLE_MOMENTS: _moments,
    UpdateKind.USER: _user,
}
