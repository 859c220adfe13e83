"""The greatest rows of each group, as many as the slack says: these are what Aurora's BSort holds back, and they tell
which rows are out of order (Aurora paper, section 5.2.2)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from oop.kernels.checks import INT64, Array, Ints, KernelError, check_array, check_ids, check_times
from oop.kernels.signatures.stem import KernelWithState, Stem

MOST_SLACK = 2**31 - 1
MOST_ROWS = 2**31 - 1  # in one call


class BuffersBase(KernelWithState):
    """What the declarations of both kinds of buffers have in common."""

    def __init__(self, slack: int, dtype: Any) -> None:
        if isinstance(slack, bool) or not isinstance(slack, (int, np.integer)) or not 0 <= slack <= MOST_SLACK:
            raise KernelError(f"slack by rows is a whole number from 0 to {MOST_SLACK}, not {slack!r}")
        self.slack, self.dtype = int(slack), np.dtype(dtype)
        if self.dtype not in (np.int64, np.float64):
            raise KernelError(f"values are int64 or float64, not {self.dtype}")
        self.run_init()

    def _check_push(self, ids: Ints | None, values: Array) -> Array:
        """Check that ids and values fit together; return the values, contiguous."""
        values = check_times(values)
        check_array("values", values, self.dtype)
        if len(values) > MOST_ROWS:
            raise KernelError(f"there can be {MOST_ROWS} rows at once, not {len(values)}")
        if ids is not None:
            check_array("ids", ids, INT64, len(values))
            if len(ids) and int(ids.min()) < 0:
                raise KernelError(f"ids must not be negative; found {int(ids.min())}")
        return values


class SortBuffersBase(BuffersBase):
    """BSort: rows wait in a buffer of `slack` rows for each group. A row that finds the buffer full pushes out the
    least of the waiting rows and itself; of equal values, the one that came first. `slack` passes of a bubble sort give
    the same order. NaN is greater than every number.

    Rows have places in the order in which they come, from 0 on; the owner of the rows takes them by place. `compact`
    says which rows still wait and numbers them anew from 0, so that the owner can forget all others. To go on with
    other buffers, push the waiting rows into new ones, in order of place: none leaves.

    >>> from oop.kernels.dispatch import kernels
    >>> buffers = kernels("reference").SortBuffers(2, np.int64)
    >>> buffers.push(None, np.array([1, 3, 1, 2, 4, 4, 8, 3, 4, 4]))  # figure 8
    array([0, 2, 3, 1, 4, 7, 5, 8])
    >>> buffers.compact()
    array([6, 9])
    >>> buffers.push(None, np.array([5])), buffers.drain()
    (array([1]), array([2, 0]))
    """

    @abstractmethod
    def __len__(self) -> int:
        """How many rows wait."""

    @property
    @abstractmethod
    def places(self) -> int:
        """The next row's place."""

    def push(self, ids: Ints | None, values: Array) -> Ints:
        """Push rows of these groups (None: of group 0), in this order. Return the places of those that leave, in the
        order of the rows that push them out."""
        return self.run_push(ids, self._check_push(ids, values))

    @abstractmethod
    def run_push(self, ids: Ints | None, values: Array) -> Ints: ...

    @abstractmethod
    def drain(self) -> Ints:
        """Let all rows leave; return their places, group by group, ascending. The next row has place 0."""

    @abstractmethod
    def compact(self) -> Ints:
        """The places of the waiting rows, in order; from now on these rows have places 0, 1, …. It looks at all rows
        and groups, and need not be called after every push."""


class RowBoundsBase(BuffersBase):
    """For each row, its bound: the (slack + 1)-th greatest value that came before it in its group. More than `slack`
    greater values came before a row that is below its bound (`find_late`). With fewer values the bound is the least
    value of the type. NaN bounds nothing.

    >>> from oop.kernels.dispatch import kernels
    >>> bounds = kernels("reference").RowBounds(1, np.int64)
    >>> before = bounds.push(np.array([0, 1, 0, 0, 0]), np.array([4, 2, 5, 3, 1]))
    >>> before[3:].tolist(), [part.tolist() for part in bounds.held()]
    ([4, 4], [[0, 0, 1], [4, 5, 2]])
    """

    def push(self, ids: Ints | None, values: Array) -> Array:
        """Push rows of these groups (None: of group 0), in this order; return the bound of each."""
        return self.run_push(ids, self._check_push(ids, values))

    @abstractmethod
    def run_push(self, ids: Ints | None, values: Array) -> Array: ...

    def bounds(self, ids: Ints) -> Array:
        """The bounds of these groups now; each of them has had a row."""
        return self.run_bounds(check_ids(ids, self.run_groups()))

    @abstractmethod
    def run_groups(self) -> int:
        """How many groups there are: one more than the greatest that had a row."""

    @abstractmethod
    def run_bounds(self, ids: Ints) -> Array: ...

    @abstractmethod
    def held(self) -> tuple[Ints, Array]:
        """The group and the value of all that is kept, group by group, ascending. Pushed into new bounds, they give the
        same state."""


class BufferKernels(Stem):
    SortBuffers: type[SortBuffersBase]
    RowBounds: type[RowBoundsBase]
