"""The rows before which a promise comes due are the same ones, however they are looked for."""

from __future__ import annotations

import numpy as np
import pytest

from oop.operators.source import guard
from oop.punctuation import slack
from oop.punctuation.progress import Progress

BEFORE_ALL = np.iinfo(np.int64).min


def _drawn(random: np.random.Generator) -> tuple[np.ndarray, int, int | None]:
    """Bounds that never decrease, of which the first may be none; the steps; and what was promised before."""
    bounds = np.sort(random.integers(-100, 200, int(random.integers(1, 40))))
    bounds[: int(random.integers(0, 3))] = BEFORE_ALL
    promised = None if random.random() < 0.3 else int(random.integers(-150, 250))
    return bounds, int(random.integers(1, 30)), promised


def _specified(bounds: np.ndarray, every: int, promised: int | None) -> list[int]:
    """Row by row."""
    found = []
    for row, bound in enumerate(bounds.tolist()):
        if bound > BEFORE_ALL and (promised is None or bound // every > promised // every):
            found.append(row)
            promised = bound
    return found


@pytest.mark.parametrize("rows_a_step", [1, 2**60])
def test_due_rows_are_those_whose_bound_reaches_a_new_step(monkeypatch: pytest.MonkeyPatch, rows_a_step: int) -> None:
    monkeypatch.setattr(guard, "ROWS_A_STEP", rows_a_step)
    random = np.random.default_rng(2)
    ways = set()
    for _ in range(1_000):
        bounds, every, promised = _drawn(random)
        progress = Progress(slack(0, every=every), "ts")
        progress.promised = promised
        wanted = _specified(bounds, every, promised)
        ways.add(guard._are_few_steps(bounds, int(np.searchsorted(bounds, BEFORE_ALL, "right")) % len(bounds), every))
        assert guard.due_rows(progress, bounds, [len(bounds)]) == wanted
        assert progress.promised == (bounds[wanted[-1]] if wanted else promised)
    assert (True in ways) == (rows_a_step == 1)
