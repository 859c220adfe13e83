"""What the laws of all operators share."""

from __future__ import annotations

import pytest

from tests.operators.fuzz import CASES

PIECES = 5  # each operator's cases run in pieces, so that a failure is found soon


@pytest.fixture(params=range(PIECES))
def seeds(request: pytest.FixtureRequest) -> range:
    piece = request.param
    return range(piece * CASES // PIECES, (piece + 1) * CASES // PIECES)
