"""Shared panes of sliding windows (OOP paper, section 4.1: paned-window aggregation).

A pane is a stretch of time whose rows belong to the same windows: edges are at ``k·slide`` and ``k·slide + range mod
slide``. Rows are aggregated once, into their pane; a window is the merge of its panes. `PaneCode` numbers panes by
time; `PaneTree` keeps merges of aligned runs of complete panes, so that a window of n panes costs about 2·log2(n)
merges instead of n.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from typing import TypeGuard

import numpy as np

from oop.errors import TimeError
from oop.operators.core.coverage import INT64_MIN
from oop.operators.groups.store import Store
from oop.operators.groups.table import Table
from oop.operators.windows.bucket import Grid
from oop.operators.windows.windows import Windows

_THIN = 4_096  # from so many rows on, the pane of a window of one pane has a table of its own


def has_panes(grid: Windows) -> TypeGuard[Grid]:
    """Do windows overlap, and is it known where their panes lie? It is known for a grid; with other windows that
    overlap, rows go into each of their windows."""
    return isinstance(grid, Grid) and grid.overlaps


class PaneCode:
    """A pane's number from the first and last wid of its rows, and back; it grows with time. Where windows have no
    panes (`has_panes`), each is its own."""

    def __init__(self, windows: Windows) -> None:
        grid = windows if isinstance(windows, Grid) else Grid(1, 1)
        whole = isinstance(grid.range, int) and isinstance(grid.slide, int)
        self.windows = int(grid.range // grid.slide)  # a row is in this many windows or, off the edges, one more
        if whole and grid.range % grid.slide == 0:
            self.kind = "aligned"
        elif whole:
            self.kind = "alternating"
        else:
            # float edges fall where rounding puts them: number by both ends
            self.kind = "spread"
        self.span = self.windows + 3

    def encode(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        if self.kind == "aligned":
            return last
        if self.kind == "alternating":  # each edge moves one of the ends by one
            return first + last
        if len(last) and np.abs(last).max() >= 2**62 // self.span:
            raise TimeError("a time is too far from the windows' offset", hint="give the window an offset near it")
        return last * self.span + (self.span - 1 - (last - first))

    def decode(self, slot: int) -> tuple[int, int]:
        """The first and last wid of the pane."""
        if self.kind == "aligned":
            return slot - self.windows + 1, slot
        if self.kind == "alternating":
            last = (slot + self.windows) // 2
            return slot - last, last
        last, rest = divmod(slot, self.span)
        return last - (self.span - 1 - rest), last

    def decode_all(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The first and last wids of many panes."""
        return self.decode(slots)  # type: ignore[arg-type, return-value]

    @property
    def thin(self) -> int:
        """With fewer rows than this in a pane, on average, a table for each pane costs more than it saves.

        A window of n panes takes some 2·log2(n) calls if each pane has a table. If panes share tables, all rows of n
        panes are looked at for windows that go out one by one, and far fewer if many go out at a time.
        """
        panes = max(self.windows, 1) * (1 if self.kind == "aligned" else 2)
        return max(1, round(_THIN * (1 + math.log2(panes) / 2) / panes))

    def bounds(self, wid: int) -> tuple[int, int]:
        """A range of slots [low, high) that holds the panes of one window, and perhaps others at its ends."""
        if self.kind == "aligned":
            return wid, wid + self.windows
        if self.kind == "alternating":
            return 2 * wid - self.windows, 2 * wid + self.windows + 1
        return wid * self.span, (wid + self.windows + 2) * self.span

    def first_needed(self, wid: int) -> int:
        """Panes below this slot belong only to windows before ``wid``."""
        return self.bounds(wid)[0]


class PaneTree:
    """Merged runs of panes over a store that has one slice for each pane."""

    def __init__(self, store: Store, code: PaneCode) -> None:
        self.store = store
        self.code = code
        self.nodes: dict[tuple[int, int], Table] = {}
        self.nbytes = 0
        self._sizes: dict[tuple[int, int], int] = {}  # as they were counted: nodes may settle what they hold later
        self._slots: list[int] | None = None

    def touched(self, slots: list[int]) -> None:
        """Rows went into these panes: forget merges that contain them (only a late row can reach one)."""
        self._slots = None
        if self.nodes:
            top = max(level for level, _ in self.nodes) + 1
            for slot in slots:
                for level in range(1, top):
                    if (level, slot >> level) in self.nodes:
                        self._forget(level, slot >> level)

    def forget_below(self, slot: int) -> None:
        """Panes below the slot are gone, and every merge with one of them is of no further use."""
        self._slots = None
        for level, index in [(k, i) for k, i in self.nodes if i << k < slot]:
            self._forget(level, index)

    def _forget(self, level: int, index: int) -> None:
        del self.nodes[level, index]
        self.nbytes -= self._sizes.pop((level, index))

    def slots(self) -> list[int]:
        if self._slots is None:
            self._slots = sorted(self.store.tables)
        return self._slots

    def open_wids(self, above: int, below: int) -> Iterator[int]:
        """The windows from ``above`` to under ``below`` that have at least one pane, oldest first."""
        slots = self.slots()
        begin = 0 if above == INT64_MIN else bisect_left(slots, self.code.first_needed(above))
        for slot in slots[begin:]:
            first, last = self.code.decode(slot)
            if first >= below:
                return
            end = min(last + 1, below)
            yield from range(max(first, above), end)
            above = max(above, end)  # panes come in order of time, so windows before this have been given

    def window(self, wid: int) -> Table | None:
        """The window's groups: its panes merged. All of its panes must be complete."""
        low, high = self.code.bounds(wid)
        slots = self.slots()
        inside = slots[bisect_left(slots, low) : bisect_left(slots, high)]
        # the range may reach too far at its ends; in between, panes are in order of time
        while inside and not self._holds(inside[0], wid):
            inside.pop(0)
        while inside and not self._holds(inside[-1], wid):
            inside.pop()
        if not inside:
            return None
        tables = self._cover(inside[0], inside[-1] + 1)
        if len(tables) == 1:
            return tables[0]
        merged = Table(self.store.shape, False, wid)
        merged.absorb(*tables)
        return merged

    def _holds(self, slot: int, wid: int) -> bool:
        first, last = self.code.decode(slot)
        return first <= wid <= last

    def _cover(self, low: int, high: int) -> list[Table]:
        """The fewest aligned runs of slots that make up [low, high)."""
        found = []
        level = 0
        while low < high:
            if low & 1:
                found.append(self._node(level, low))
                low += 1
            if high & 1:
                high -= 1
                found.append(self._node(level, high))
            low, high, level = low >> 1, high >> 1, level + 1
        return [t for t in found if t is not None]

    def _node(self, level: int, index: int) -> Table | None:
        slots = self.slots()
        start = bisect_left(slots, index << level)
        end = bisect_left(slots, (index + 1) << level)
        if end - start <= 1:
            return self.store.tables[slots[start]] if end > start else None
        node = self.nodes.get((level, index))
        if node is None:
            left, right = self._node(level - 1, 2 * index), self._node(level - 1, 2 * index + 1)
            if left is None or right is None:
                return left or right
            node = self.nodes[level, index] = Table(self.store.shape, False, index << level)
            node.absorb(left, right)
            self._sizes[level, index] = node.nbytes
            self.nbytes += self._sizes[level, index]
        return node
