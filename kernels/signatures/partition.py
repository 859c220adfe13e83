"""Keys to shards, rows to the shards of their keys, and rows by number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from oop.kernels.checks import INT64, Array, Ints, KernelError, check_array, check_ids, check_writable
from oop.kernels.keys import check_lengths
from oop.kernels.signatures.stem import Stem
from oop.kernels.views.columns import Column


class PartitionKernels(Stem):
    def hash_partition(self, columns: Sequence[Column], shards: int, length: int | None = None) -> NDArray[np.int32]:
        """The shard of every row, by a hash of its key that is the same in every process and on every machine.

        >>> from oop.kernels.dispatch import kernels
        >>> kernels("reference").hash_partition([Column("int", np.array([1, 2, 3, 1]))], 4)
        array([3, 0, 3, 3], dtype=int32)
        """
        _check_shards(shards)
        return self.run.hash_partition(columns, shards, check_lengths(columns, length))

    def exchange_rows(
        self, keys: Sequence[Column], values: Sequence[Array], outs: Sequence[Sequence[Array]], ends: Ints
    ) -> None:
        """Append each row's values to the shard of its key: the values of shard s go to `outs[column][s]`, in order,
        behind the `ends[s]` values that are there already. `ends` is updated in place.

        >>> from oop.kernels.dispatch import kernels
        >>> outs, ends = [[np.zeros(3, np.int64) for _ in range(2)]], np.array([1, 0])
        >>> kernels("reference").exchange_rows([Column("int", np.array([2, 1]))], [np.array([7, 8])], outs, ends)
        >>> outs, ends
        ([[array([0, 7, 0]), array([8, 0, 0])]], array([2, 1]))
        """
        check_array("ends", ends, INT64)
        check_writable(ends=ends)
        _check_shards(len(ends))
        length = check_lengths(keys, len(values[0]) if values else None)
        if len(outs) != len(values) or any(len(out) != len(ends) for out in outs):
            raise KernelError("there must be an array for each column and shard")
        rooms = {len(out) for column in outs for out in column}
        if len(rooms) > 1 or (rooms and not 0 <= int(ends.min()) <= int(ends.max()) <= min(rooms)):
            raise KernelError("the arrays of all shards must be of one length, and hold what ends says")
        for value, column in zip(values, outs, strict=True):
            _check_fixed(value)
            check_array("values", value, value.dtype, length)
            for out in column:
                check_array("out", out, value.dtype)
                if not out.flags.writeable or not out.flags.c_contiguous:
                    raise KernelError("output arrays must be writable and contiguous")
        self.run.exchange_rows(keys, values, outs, ends, length)

    def take_fixed(self, values: Array, rows: Ints) -> Array:
        """`values[rows]`, for values of a fixed width of 1, 2, 4 or 8 bytes.

        >>> from oop.kernels.dispatch import kernels
        >>> kernels("reference").take_fixed(np.array([5, 6, 7], np.int16), np.array([2, 0]))
        array([7, 5], dtype=int16)
        """
        _check_fixed(values)
        self._check_ids(rows, len(values), name="rows")
        return self.run.take_fixed(values, rows)

    def take_out(self, values: Array, rows: Ints) -> Array:
        """`values[rows]`, which are zeros from then on. A row that is named again has a zero there.

        >>> from oop.kernels.dispatch import kernels
        >>> values = np.array([5, 6, 7])
        >>> kernels("reference").take_out(values, np.array([2, 0])), values
        (array([7, 5]), array([0, 6, 0]))
        """
        _check_fixed(values)
        if not values.flags.writeable or not values.flags.c_contiguous:
            raise KernelError("values that are taken out must be writable and contiguous")
        check_ids(rows, len(values), name="rows")  # also for bodies that would find it out: after some are gone
        return self.run.take_out(values, rows)


def _check_fixed(values: Array) -> None:
    wrong = not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.hasobject
    if wrong or values.dtype.itemsize not in (1, 2, 4, 8):
        raise KernelError("values must be a one-dimensional array of 1, 2, 4 or 8 bytes each")


def _check_shards(shards: int) -> None:
    if not 1 <= shards < 2**31:
        raise KernelError(f"shards must be from 1 to {2**31 - 1}, not {shards}")
