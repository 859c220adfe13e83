"""A kind of window that overlaps and is no grid: its panes are not known, so rows go into each of their windows."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.operators.aggregate.panes import has_panes
from oop.punctuation.patterns import Bound
from oop.testing import check_operator
from oop.windows.window import PlacedWindow
from tests.operators import fuzz

KEEPS = oop.aggregate(0, lambda s, v: s + 1, name="rows without merge")


@dataclass(frozen=True)
class Uneven:
    """Window ``w`` begins at ``5·w`` and is 8 long, or 12 if its number is odd: a time is in one to three."""

    overlaps = True
    tumbles = False
    gaps = False

    def wids(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        last = times // 5
        first = last - 2
        for _ in range(2):  # a greater one never ends earlier
            first += self.edges(first)[1] <= times
        return first, last

    def wid_bound(self, bound: Bound) -> int:
        wid = int(bound // 5) - 4
        while self.end(wid) <= bound:
            wid += 1
        return wid

    def start(self, wid: Bound) -> Bound:
        return 5 * int(wid)

    def end(self, wid: Bound) -> Bound:
        return 5 * int(wid) + (12 if int(wid) % 2 else 8)

    def edges(self, wids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return 5 * wids, 5 * wids + np.where(wids % 2, 12, 8)


class UnevenWindow(PlacedWindow):
    def windows(self, time: pa.DataType) -> Uneven:
        return Uneven()

    def __str__(self) -> str:
        return "uneven"


def answer(rows: list[dict[str, Any]], keys: list[str]) -> list[dict[str, Any]]:
    found: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    windows = Uneven()
    for row in rows:
        for wid in range(row["ts"] // 5 - 9, row["ts"] // 5 + 9):
            if windows.start(wid) <= row["ts"] < windows.end(wid):
                found[(windows.start(wid), windows.end(wid), *(row[k] for k in keys))].append(row)
    names = ["window_start", "window_end", *keys]
    return [{**dict(zip(names, key, strict=True)), "n": len(rows), "x": max_of(rows)} for key, rows in found.items()]


def max_of(rows: list[dict[str, Any]]) -> Any:
    return max((row["x"] for row in rows if row["x"] is not None), default=None)


@pytest.mark.parametrize("order", ["oop", "iop"])
@pytest.mark.parametrize("merges", [True, False])
def test_laws_of_windows_without_panes(merges: bool, order: str) -> None:
    assert not has_panes(Uneven())
    for seed in range(max(fuzz.CASES // 10, 10)):
        rng = random.Random(seed)
        stream = fuzz.random_stream(rng, pa.int64(), grouped=order == "oop")
        keys = rng.choice([[], ["link"]])
        count = oop.count() if merges else KEEPS("ts")
        check_operator(
            lambda s, keys=keys, count=count: s.window(UnevenWindow()).group_by(*keys).agg(n=count, x=oop.max("x")),
            stream,
            seed=seed,
            order=order,
            threads=1 if order == "iop" else rng.choice([1, 2]),
            expected=answer(fuzz.on_time(stream), keys),
        )
