"""Programs, interpreted with the kernels of NumPy."""

from __future__ import annotations

from oop.kernels.interpreted import InterpretedProgram


class TrainProgram(InterpretedProgram):
    name = "reference"
