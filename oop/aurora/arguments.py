"""Checks the arguments of Aurora's operators: functions by name, orders, streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oop.errors import WrongArgument
from oop.operators.functions.function import Function
from oop.site import user_line
from oop.streams.stream import Stream


def named_functions(F: Any) -> dict[str, Function]:
    """The aggregate functions by the names of their result columns, checked."""
    hint = "write {'n': oop.count()}"
    if not isinstance(F, Mapping) or not all(isinstance(name, str) for name in F):
        raise wrong(f"F is a dict from names to aggregates, not {F!r}", hint)
    for name, function in F.items():
        if not isinstance(function, Function):
            raise wrong(f"{name} is not an aggregate such as oop.count(): {function!r}", hint)
    return dict(F)


def check_stream(stream: Any) -> None:
    if not isinstance(stream, Stream):
        raise wrong(
            f"an operator is applied to streams, not to a {type(stream).__name__}",
            "make one of it: oop.source(…, time='Time', punctuate=None)",
        )


def no_order(given: object) -> WrongArgument:
    """The error for an argument that is no order."""
    return wrong(f"what is assumed is an order, not {given!r}", "write oop.Order('Time', slack=2)")


def wrong(what: str, hint: str) -> WrongArgument:
    """The error for an argument, with the user's line."""
    return WrongArgument(what, at=user_line(), hint=hint)
