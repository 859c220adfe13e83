"""A row at a time: what the running policy, which is the executable specification, says itself."""

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
    """Any policy: timers, those by group whose groups decide about each other, and those that have no kernel."""

    def bounds(self, times: np.ndarray, rows: pa.RecordBatch) -> np.ndarray:
        return observed(self.progress, times, *map(rows.column, self.progress.columns))


def observed(progress: Progress, times: np.ndarray, *columns: pa.Array) -> np.ndarray:
    """The bound before each row; ``columns`` are those of the groups, if there are any."""
    values = list(map(of_column, columns))
    groups: Any = None if not values else values[0] if len(values) == 1 else zip(*values, strict=True)
    return as_bounds(progress.observe(times.tolist(), groups), times)


def as_bounds(bounds: Iterable[Bound | None], times: np.ndarray) -> np.ndarray:
    """As numbers of the times' type: its least one where nothing is known, or less than any row may have."""
    least = least_of(times)
    return np.array([least if bound is None else max(bound, least) for bound in bounds], times.dtype)
