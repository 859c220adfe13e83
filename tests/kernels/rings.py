"""A ring that gets a row every microsecond, ways to wait for it and to empty it, and what must then be in its rows."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from oop.kernels.ring import PacketRing, make_packets

FAST = {"rate": 1_000_000, "groups": 3_000, "seed": 5}
"""A row for every microsecond: its time is its number."""


def until(holds: Callable[[], bool]) -> None:
    """However busy the machine is; a minute is for what will never be."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "this does not come true"
        time.sleep(0.001)


def is_made(ring: PacketRing, rows: int) -> bool:
    counts = ring.counts()
    return counts.written + counts.dropped >= rows


def drain_all(ring: PacketRing, most: int = 1000) -> list[np.ndarray]:
    """Until its end."""
    found: list[list[np.ndarray]] = [[], [], [], []]
    while ring.waiting() is not None:
        for pieces, column in zip(found, ring.drain(most).columns(), strict=True):
            pieces.append(column)
    return [np.concatenate(pieces) for pieces in found]


def assert_rows(found: list[np.ndarray]) -> None:
    """Rows of FAST in order, each as its number says."""
    numbers = found[0]
    assert (np.diff(numbers) > 0).all()
    wanted = make_packets(0, int(numbers[-1]) + 1, **FAST)
    for column, whole in zip(found, wanted, strict=True):
        assert column.dtype == whole.dtype
        np.testing.assert_array_equal(column, whole[numbers])
