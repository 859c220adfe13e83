"""Results of groups: in NumPy, as few groups are not worth a loop of Numba's."""

from __future__ import annotations

from oop.kernels.interpreted_results import InterpretedResults


class GroupResults(InterpretedResults):
    name = "jit"
