"""Steps instead of seconds: how many instructions of Python a function executes, whatever else the machine does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(function: Callable[[], object]) -> int:
    """The instructions that it and all that it calls execute; what is written in C counts as one."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


def growth(work: Callable[[int], Callable[[], object]], size: int) -> float:
    """How many times as many steps four times as much takes: about 4 if they are linear, 5 with a logarithm, 16 if they
    are quadratic. ``work`` prepares a function for each size; only what that does is counted."""
    return steps(work(4 * size)) / steps(work(size))
