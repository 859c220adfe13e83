"""The compiler of the Numba kernels: the only file that imports numba.

Loops are compiled at their first call, in each process; `OOP_JIT_CACHE=1` keeps them on disk.
"""

from __future__ import annotations

import os
from typing import Any

import numba
import numpy as np

from oop.kernels.checks import Array, Bools

# No fastmath: it would fuse or reorder what must be rounded as in the other implementations.
compile_loop: Any = numba.njit(nogil=True, cache=os.environ.get("OOP_JIT_CACHE") == "1")


def as_input(array: Array) -> Array:
    """A contiguous view that cannot be written.

    Numba compiles anew for each type of argument, and to it an array from Arrow, which is read-only, and one
    from NumPy differ: as an input each loop sees only one of the two.
    """
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


# An absent argument is an empty array, not None, for the same reason.
NO_ROWS = as_input(np.zeros(0, np.int64))
NO_MASK = as_input(np.zeros(0, np.bool_))


def as_mask(valid: Bools | None) -> Bools:
    """A validity mask as loops take it: empty if all rows are valid."""
    return NO_MASK if valid is None else as_input(valid)
