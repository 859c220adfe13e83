"""The steps of a program as C reads them."""

from __future__ import annotations

from typing import Any

from oop.kernels.checks import check_window, float_time_limit, int_time_limits
from oop.kernels.native.library import ffi, lib
from oop.kernels.steps import REAL, SIGNED, Op, Step

_OPS = [getattr(lib, f"OOP_{op.name}") for op in Op]


def write_step(made: Any, step: Step) -> Any:
    """Write a step; the result must live as long as it."""
    made.op, made.out, made.a, made.b, made.c = _OPS[step.op], step.out, step.a, step.b, step.c
    made.form = int(step.form)
    numbers: Any = step.numbers
    if step.op is Op.WINDOW:
        floats = isinstance(numbers[0], float)
        range_, slide, offset = numbers
        check_window(range_, slide, offset, floats)
        if floats:
            made.form = 1
            made.f, made.g, made.h = numbers
            made.k = float_time_limit(*numbers)
        else:
            made.form = 0
            made.x, made.y, made.z = numbers
            made.low, made.high = int_time_limits(*numbers)
    elif step.op is Op.LIMIT:
        made.f = numbers[0]
    elif step.op is Op.SHARD:
        made.x, made.y = (sum(1 << i for i, found in enumerate(numbers) if found == what) for what in (SIGNED, REAL))
    elif numbers:
        made.x, made.y = numbers
    if step.op is not Op.TEXT_EQUAL:
        return None
    text = ffi.from_buffer("uint8_t[]", step.text)
    made.x, made.text = len(step.text), text
    return text
