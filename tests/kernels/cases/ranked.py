"""Cases of programs whose guard is one of slack by rows: a row is late if more than so many greater ones came
before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from oop.kernels.steps import ColumnForm, Op, ProgramCode, Step, Update, UpdateKind
from tests.kernels.cases.inputs import Case, new_rng


def _ranked(rank: int, floats: bool) -> tuple[Any, ...]:
    """Times in disorder, ever more slices, and a batch with a time that is none."""
    rng = new_rng()
    times = [np.sort(rng.integers(0, 900, n)) + rng.integers(-40, 40, n) for n in (1, 700, 0, 5_000, 30)]
    columns: list[Any] = [t / 8 if floats else t for t in times]
    odd = np.array([5.0, np.nan, 7.0]) if floats else pa.array([5, None, 7], pa.int64())
    batches = [pa.record_batch({"ts": column}) for column in [*columns, odd, columns[1]]]
    window = (12.5, 12.5, 0.0) if floats else (100, 100, 0)
    steps = (
        Step(Op.LOAD, 0, 0, form=ColumnForm.RAW8),
        Step(Op.GUARD, 0, 0, form=ColumnForm(int(floats))),
        Step(Op.MARK, 0),
        Step(Op.LOAD, 1, 0, form=ColumnForm.RAW8),
        Step(Op.WINDOW, 2, 1, 2, numbers=window),
    )
    code = ProgramCode(steps, 3, (), (), (), 2, (Update(UpdateKind.COUNT, -1, -1, 0),), 1, floats)
    return code, ["int64"], 0, [(batches, [], []), (batches[:2], [], [])], {"rank": rank}


def cases() -> Iterator[Case]:
    for rank in (0, 1, 10, 600, 4_096):
        for floats in (False, True):
            what = "floats" if floats else "whole"
            yield Case("TrainProgram", f"ranked-{rank}-{what}", lambda r=rank, f=floats: _ranked(r, f))
