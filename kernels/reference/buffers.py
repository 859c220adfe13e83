"""The greatest rows of each group, as many as the slack says, in plain Python."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from oop.kernels.checks import Array, Ints
from oop.kernels.signatures.buffers import RowBoundsBase, SortBuffersBase
from oop.kernels.signatures.late import least_of


class SortBuffers(SortBuffersBase):
    def run_init(self) -> None:
        self._next = 0
        self._buffers: dict[int, list[tuple[bool, Any, int]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._buffers.values()))

    @property
    def nbytes(self) -> int:
        return 16 * len(self)

    @property
    def places(self) -> int:
        return self._next

    def run_push(self, ids: Ints | None, values: Array) -> Ints:
        left = []
        for value, group in zip(values.tolist(), [0] * len(values) if ids is None else ids.tolist(), strict=True):
            heap = self._buffers.setdefault(group, [])
            row = (value != value, 0 if value != value else value, self._next)
            self._next += 1
            if len(heap) < self.slack:
                heapq.heappush(heap, row)
            else:
                left.append(heapq.heappushpop(heap, row)[2])
        return np.array(left, np.int64)

    def drain(self) -> Ints:
        left = [row[2] for _, heap in sorted(self._buffers.items()) for row in sorted(heap)]
        self._buffers.clear()
        self._next = 0
        return np.array(left, np.int64)

    def compact(self) -> Ints:
        kept = sorted(row[2] for heap in self._buffers.values() for row in heap)
        number = {place: i for i, place in enumerate(kept)}
        for heap in self._buffers.values():
            heap[:] = [(*row[:2], number[row[2]]) for row in heap]
        self._next = len(kept)
        return np.array(kept, np.int64)


class RowBounds(RowBoundsBase):
    def run_init(self) -> None:
        self._heaps: list[list[Any]] = []

    @property
    def nbytes(self) -> int:
        return 16 * sum(map(len, self._heaps))

    def run_push(self, ids: Ints | None, values: Array) -> Array:
        bounds = np.full(len(values), least_of(values), values.dtype)
        groups = np.zeros(len(values), np.int64) if ids is None else ids
        self._heaps += [[] for _ in range(int(groups.max(initial=-1)) + 1 - len(self._heaps))]
        for row, (value, group) in enumerate(zip(values.tolist(), groups.tolist(), strict=True)):
            heap = self._heaps[group]
            full = len(heap) > self.slack
            if full:
                bounds[row] = heap[0]
            if value == value:
                (heapq.heappushpop if full else heapq.heappush)(heap, value)
        return bounds

    def run_groups(self) -> int:
        return len(self._heaps)

    def run_bounds(self, ids: Ints) -> Array:
        heaps = [self._heaps[i] for i in ids.tolist()]
        least = np.full(len(heaps), least_of(np.empty(0, self.dtype)), self.dtype)
        for group, heap in enumerate(heaps):
            if len(heap) > self.slack:
                least[group] = heap[0]
        return least

    def held(self) -> tuple[Ints, Array]:
        rows = [(group, value) for group, heap in enumerate(self._heaps) for value in sorted(heap)]
        return np.array([g for g, _ in rows], np.int64), np.array([v for _, v in rows], self.dtype)
