"""Judges a row at a time, by asking the running policy, which is the executable specification."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels.signatures.late import least_of
from oop.operators.core.group_values import of_column
from oop.operators.source.judges.judge import Judge
from oop.punctuation.patterns import Bound
from oop.punctuation.progress import Progress


class RowByRow(Judge):
    """Serves any policy: timers, policies by group whose groups influence each other, and policies without a kernel."""

    def bounds(self, times: np.ndarray, rows: pa.RecordBatch) -> np.ndarray:
        return observed(self.progress, times, *map(rows.column, self.progress.columns))


def observed(progress: Progress, times: np.ndarray, *columns: pa.Array) -> np.ndarray:
    """The bound before each row; ``columns`` are those of the groups, if there are any."""
    values = list(map(of_column, columns))
    groups: Any = None if not values else values[0] if len(values) == 1 else zip(*values, strict=True)
    return as_bounds(progress.observe(times.tolist(), groups), times)


def as_bounds(bounds: Iterable[Bound | None], times: np.ndarray) -> np.ndarray:
    """Bounds as numbers of the times' type. An unknown bound, or one below all numbers of the type, is its least
    one."""
    least = least_of(times)
    return np.array([least if bound is None else max(bound, least) for bound in bounds], times.dtype)
