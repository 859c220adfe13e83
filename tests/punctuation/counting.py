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
    """How many times as many steps the second half of 4 n takes as the second half of 2 n: 2 if they are linear, a
    little more with a logarithm, 4 if they are quadratic. What it costs to begin makes no difference.

    ``work`` prepares a function for each size; only what that does is counted."""
    once, twice, four = (steps(work(times * size)) for times in (1, 2, 4))
    return (four - twice) / (twice - once)


def calls(function: Callable[[], object]) -> int:
    """How many functions of Python it calls, itself not counted; what is written in C costs none."""
    count = 0

    def profile(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count - 1
