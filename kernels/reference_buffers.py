"""The greatest rows of each group, as many as a slack, in Python: what Aurora's BSort holds back, and what tells which
rows are out of order (section 5.2.2 of its paper)."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from oop.kernels.checks import Array, Ints, KernelError, check_array, check_ids, check_times
from oop.kernels.reference_late import least_of

MOST_SLACK = 2**31 - 1
MOST_ROWS = 2**31 - 1  # of one call


class SortBuffers:
    """BSort: rows wait in a buffer of `slack` rows for each group. A row that finds it full pushes out the least of
    these and itself; of equal values the one that came first. `slack` passes of a bubble sort give the same.

    Rows have places, in the order in which they come: the first has place 0. Who keeps the rows themselves takes them
    by place; `compact` says which still wait, and numbers these anew, from 0 on, so that all others can be forgotten.
    To go on elsewhere, push the rows that wait, in order of place, into new buffers: none leaves. NaN is greater than
    every number.

    >>> buffers = SortBuffers(2, np.int64)
    >>> buffers.push(None, np.array([1, 3, 1, 2, 4, 4, 8, 3, 4, 4]))  # figure 8
    array([0, 2, 3, 1, 4, 7, 5, 8])
    >>> buffers.compact()
    array([6, 9])
    >>> buffers.push(None, np.array([5])), buffers.drain()
    (array([1]), array([2, 0]))
    """

    def __init__(self, slack: int, dtype: Any) -> None:
        self.slack, self.dtype = check_slack_rows(slack), check_dtype(dtype)
        self.places = 0
        self._buffers: dict[int, list[tuple[bool, Any, int]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._buffers.values()))

    @property
    def nbytes(self) -> int:
        """Bytes that the rows hold here."""
        return 16 * len(self)

    def push(self, ids: Ints | None, values: Array) -> Ints:
        """Rows of these groups (None: of group 0), in this order. The places of those that leave, in the order of the
        rows that push them out; `places` is the next row's."""
        values = check_push(self.dtype, ids, values)
        left = []
        for value, group in zip(values.tolist(), [0] * len(values) if ids is None else ids.tolist(), strict=True):
            heap = self._buffers.setdefault(group, [])
            row = (value != value, 0 if value != value else value, self.places)
            self.places += 1
            if len(heap) < self.slack:
                heapq.heappush(heap, row)
            else:
                left.append(heapq.heappushpop(heap, row)[2])
        return np.array(left, np.int64)

    def drain(self) -> Ints:
        """All rows leave: group by group, ascending. The next row has place 0."""
        left = [row[2] for _, heap in sorted(self._buffers.items()) for row in sorted(heap)]
        self._buffers.clear()
        self.places = 0
        return np.array(left, np.int64)

    def compact(self) -> Ints:
        """The places of rows that wait, in order: from now on these are 0, 1, …. It looks at all rows and groups, and
        need not be called after every push."""
        kept = sorted(row[2] for heap in self._buffers.values() for row in heap)
        number = {place: i for i, place in enumerate(kept)}
        for heap in self._buffers.values():
            heap[:] = [(*row[:2], number[row[2]]) for row in heap]
        self.places = len(kept)
        return np.array(kept, np.int64)


class RowBounds:
    """For each row the (slack + 1)-th greatest value that came before it in its group: a row that is below
    (`mark_late`) is out of order by `slack`. Where there are fewer, the least value of the type. NaN bounds nothing.

    >>> bounds = RowBounds(1, np.int64)
    >>> before = bounds.push(np.array([0, 1, 0, 0, 0]), np.array([4, 2, 5, 3, 1]))
    >>> before[3:].tolist(), [part.tolist() for part in bounds.held()]
    ([4, 4], [[0, 0, 1], [4, 5, 2]])
    """

    def __init__(self, slack: int, dtype: Any) -> None:
        self.slack, self.dtype = check_slack_rows(slack), check_dtype(dtype)
        self._heaps: list[list[Any]] = []

    @property
    def nbytes(self) -> int:
        """Bytes that the values hold here."""
        return 16 * sum(map(len, self._heaps))

    def push(self, ids: Ints | None, values: Array) -> Array:
        """The bounds before these rows, in this order, of these groups (None: of group 0)."""
        values = check_push(self.dtype, ids, values)
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

    def bounds(self, ids: Ints) -> Array:
        """The bounds of these groups now; each of them has come."""
        heaps = [self._heaps[i] for i in check_ids(ids, len(self._heaps)).tolist()]
        least = np.full(len(heaps), least_of(np.empty(0, self.dtype)), self.dtype)
        for group, heap in enumerate(heaps):
            if len(heap) > self.slack:
                least[group] = heap[0]
        return least

    def held(self) -> tuple[Ints, Array]:
        """The groups and values of all that is kept, group by group, ascending: what to push into new bounds, to go on
        elsewhere."""
        rows = [(group, value) for group, heap in enumerate(self._heaps) for value in sorted(heap)]
        return np.array([g for g, _ in rows], np.int64), np.array([v for _, v in rows], self.dtype)


def check_slack_rows(slack: int) -> int:
    if isinstance(slack, bool) or not isinstance(slack, (int, np.integer)) or not 0 <= slack <= MOST_SLACK:
        raise KernelError(f"slack by rows is a whole number from 0 to {MOST_SLACK}, not {slack!r}")
    return int(slack)


def check_dtype(dtype: Any) -> np.dtype[Any]:
    if np.dtype(dtype) not in (np.int64, np.float64):
        raise KernelError(f"values are int64 or float64, not {np.dtype(dtype)}")
    return np.dtype(dtype)


def check_push(dtype: Any, ids: Ints | None, values: Array) -> Array:
    """What comes fits together; the values, contiguous."""
    values = check_times(values)
    check_array("values", values, dtype)
    if len(values) > MOST_ROWS:
        raise KernelError(f"there can be {MOST_ROWS} rows at once, not {len(values)}")
    if ids is not None:
        check_array("ids", ids, np.int64, len(values))
        if len(ids) and int(ids.min()) < 0:
            raise KernelError(f"ids must not be negative; found {int(ids.min())}")
    return values
