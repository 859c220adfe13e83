"""Programs, interpreted with Numba's kernels."""

from __future__ import annotations

from oop.kernels.interpreted import InterpretedProgram


class TrainProgram(InterpretedProgram):
    name = "jit"
