"""Results of groups, in NumPy."""

from __future__ import annotations

from oop.kernels.interpreted_results import InterpretedResults


class GroupResults(InterpretedResults):
    name = "reference"
