"""Group keys to dense ids.

Keys are compared as SQL groups them: null equals null, NaN equals NaN, -0.0 equals 0.0.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from oop.kernels.checks import INT64, Ints, KernelError, check_array, check_ids
from oop.kernels.keys import check_keys
from oop.kernels.signatures.stem import KernelWithState, Stem
from oop.kernels.views.columns import DTYPES, Column


class GroupTableBase(KernelWithState):
    """Gives every distinct key a dense id, in order of first appearance.

    >>> import pyarrow as pa
    >>> from oop.kernels.dispatch import kernels
    >>> from oop.kernels.views import column
    >>> table = kernels("reference").GroupTable(["int", "bytes"])
    >>> table.map([column(pa.array([7, 7, None])), column(pa.array(["a", "b", "a"]))])
    array([0, 1, 2])
    >>> table.map([column(pa.array([None, 8])), column(pa.array(["a", "a"]))])
    array([2, 3])
    >>> len(table), table.columns()[0].data, table.columns()[0].valid
    (4, array([7, 7, 0, 8]), array([ True,  True, False,  True]))
    """

    grows_little = False
    """Grow key columns by 25 % instead of doubling them: less spare memory, more copies."""

    def __init__(self, kinds: Sequence[str], by_rows: bool = False) -> None:
        """With ``by_rows`` the columns of a key may be kept side by side, which finds keys sooner, and takes columns
        out later."""
        for kind in kinds:
            if kind not in DTYPES:
                raise KernelError(f"no kind of column {kind!r}; there are {', '.join(DTYPES)}")
        self.kinds, self.by_rows = list(kinds), by_rows
        self.run_init()

    @abstractmethod
    def __len__(self) -> int:
        """The number of distinct keys."""

    @abstractmethod
    def reserve(self, groups: int) -> None:
        """Expect so many groups. This is only a hint: a table that is on its way to them grows in one go."""

    def clear(self) -> None:
        """Begin anew, without keys. What memory it has may be kept for those to come."""
        self.run_init()

    def map(self, columns: Sequence[Column], length: int | None = None, rows: Ints | None = None) -> Ints:
        """The id of every row's key; new keys get the next ids. Without key columns, give `length`.

        `rows`, if given, are the numbers of the rows to take, in that order.
        """
        length = check_keys(columns, self.kinds, length)
        if rows is not None:
            if columns and self.finds_outside:
                check_array("rows", rows, INT64)
            else:
                check_ids(rows, length, name="rows")
        return self.run_map(columns, length, rows)

    @abstractmethod
    def run_map(self, columns: Sequence[Column], length: int, rows: Ints | None) -> Ints: ...

    @abstractmethod
    def columns(self) -> list[Column]:
        """The keys, row i being the key of id i; with -0.0 as 0.0, and every NaN the same one."""


class GroupKernels(Stem):
    GroupTable: type[GroupTableBase]
