"""A pipeline of sessions, what it is fed, and the rows that it should give."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import oop
from oop.operators.session.operator import SessionOperator
from oop.testing import Harness


def counted(gap: Any = 3, *keys: str) -> Any:
    return lambda s: s.window(oop.session(gap)).group_by(*keys).agg(n=oop.count())


def harness(gap: Any = 3, *keys: str, time: str | pa.DataType = "int64", **more: Any) -> Harness:
    return Harness(counted(gap, *keys), {"ts": time, "user": "string"}, **more)


def operator_of(h: Harness) -> SessionOperator:
    return next(o for o in h._operators() if isinstance(o, SessionOperator))


def row(start: Any, end: Any, n: int, **keys: Any) -> dict[str, Any]:
    return {"window_start": start, "window_end": end, **keys, "n": n}


def push(h: Harness, *times: Any, user: str | None = "ann") -> None:
    h.push({"ts": list(times), "user": [user] * len(times)})
