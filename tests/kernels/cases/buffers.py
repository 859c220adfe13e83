"""Cases of the kernels that hold the greatest rows of each group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from oop.kernels.dispatch import Kernels
from tests.kernels.cases.inputs import Case, disorder, new_rng


def run_buffers(kernels: Kernels, kernel: str, slack: Any, dtype: Any, steps: list[Any]) -> Any:
    """Run steps, each of which is a pair of ids and values to push, a method, or groups whose bounds are asked for."""
    buffers = getattr(kernels, kernel)(slack, dtype)
    found: list[Any] = []
    for step in steps:
        if isinstance(step, np.ndarray):
            found.append(buffers.bounds(step))
        else:
            found.append(getattr(buffers, step)() if isinstance(step, str) else buffers.push(*step))
        if hasattr(buffers, "places"):
            found.append((len(buffers), buffers.places))
    return found


def cases() -> Iterator[Case]:
    rng = new_rng()
    whole, pieces = [9000], [3, 40, 700, 1, 2000, 0, 200, 5, 5, 5, 4000, 1000]
    for label, values in disorder().items():
        n = len(values)
        shapes: tuple[tuple[str, Any, list[int], tuple[int, ...]], ...] = (
            ("whole", None, whole, (0, 1, 50, 1500)),
            ("pieces", None, pieces, (7, 1500)),
            ("three", rng.integers(0, 3, n), whole, (7, 1500)),
            ("three_pieces", rng.integers(0, 3, n), pieces, (50,)),
            ("skewed", rng.zipf(1.4, n) % 300, pieces, (1, 50)),
            ("many", rng.integers(0, 4000, n), whole, (1,)),
            ("many_pieces", rng.integers(0, 4000, n), pieces, (2,)),
        )
        for shape, ids, lengths, slacks in shapes:
            ends = np.cumsum(lengths)
            spans = [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]
            pushed = [(None if ids is None else ids[span], values[span]) for span in spans]
            sorts = [*pushed, "compact", pushed[0], "compact", "drain", pushed[-1], "drain", "drain"]
            every = np.zeros(1, np.int64) if ids is None else np.unique(ids)
            some = every[::-2]  # some of the groups that have come, in another order
            bounds = [*pushed, every, some, "held", pushed[0], "held", some[:0], every, some]
            for slack in slacks:
                for kernel, steps in (("SortBuffers", sorts), ("RowBounds", bounds)):
                    args = (slack, values.dtype, steps)
                    yield Case(kernel, f"{label}-{shape}-{slack}", lambda args=args: args)
    one = np.zeros(1, np.int64)
    figure = np.array([1, 3, 1, 2, 4, 4, 8, 3, 4, 4])
    strided, other = np.arange(40)[::-2], np.arange(40) % 5
    for wrong in (one - 1, one, one + 10, one * 1.0):
        yield Case(
            "RowBounds", f"wrong-bounds_of_{wrong[0]}", lambda wrong=wrong: (1, np.int64, [(one[:0], one[:0]), wrong])
        )
    for kernel in ("SortBuffers", "RowBounds"):
        yield Case(kernel, "figure-8", lambda: (2, np.int64, [(None, figure)]))
        yield Case(kernel, "nothing", lambda: (2, np.int64, [(None, one[:0]), (one[:0], one[:0])]))
        yield Case(kernel, "strided", lambda: (2, np.int64, [(other[::2], strided), (other[::2], strided)]))
        yield Case(kernel, "endless", lambda: (2**31 - 1, np.int64, [(None, figure), (one + 9, one)]))
        yield Case(kernel, "wrong-slack", lambda: (-1, np.int64, []))
        yield Case(kernel, "wrong-slack_float", lambda: (2.0, np.int64, []))
        yield Case(kernel, "wrong-slack_large", lambda: (2**31, np.int64, []))
        yield Case(kernel, "wrong-dtype", lambda: (1, np.int32, []))
        yield Case(kernel, "wrong-values", lambda: (1, np.int64, [(None, one * 1.0)]))
        yield Case(kernel, "wrong-ids", lambda: (1, np.int64, [(one - 1, one)]))
        yield Case(kernel, "wrong-short", lambda: (1, np.int64, [(figure, one)]))


RUNNERS = {"SortBuffers": run_buffers, "RowBounds": run_buffers}
