"""Promises and policies' state as JSON text: plain values as they are, others tagged by their kind.

Nothing from outside is ever unpickled, so what a checkpoint or an Arrow file holds is read back by this module.

>>> from datetime import date
>>> dumps({"groups": ["A", date(2008, 8, 24), None, float("inf")]})
'{"groups": ["A", {"$": "date", "v": "2008-08-24"}, null, {"$": "float", "v": "inf"}]}'
>>> loads(dumps({"groups": [date(2008, 8, 24)]}))
{'groups': [datetime.date(2008, 8, 24)]}
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

_KINDS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    # datetime before date: a datetime is a date, and the first that fits is taken
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "decimal": (Decimal, str, Decimal),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "timedelta": (timedelta, lambda d: str(d // timedelta(microseconds=1)), lambda s: timedelta(microseconds=int(s))),
}


def _encode(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _encode(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_encode(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"$": "float", "v": str(value)}
    if value is None or isinstance(value, str | int | float):
        return value
    for kind, (type_, write, _) in _KINDS.items():
        if isinstance(value, type_):
            return {"$": kind, "v": write(value)}
    raise TypeError(f"a value of type {type(value).__name__} cannot be written as text: {value!r}")


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(v) for v in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"$", "v"}:
        kind, text = value["$"], value["v"]
        if not isinstance(kind, str) or not isinstance(text, str):
            raise ValueError(f"not a value: {value!r}")
        if kind == "float":
            return float(text)
        if kind not in _KINDS:
            raise ValueError(f"unknown kind of value: {kind!r}")
        try:
            return _KINDS[kind][2](text)
        except ArithmeticError as error:  # what Decimal raises
            raise ValueError(f"not a {kind}: {text!r}") from error
    return {k: _decode(v) for k, v in value.items()}


def dumps(value: Any) -> str:
    return json.dumps(_encode(value), allow_nan=False)


def loads(text: str | bytes) -> Any:
    """Read what `dumps` wrote; anything else is a ValueError.

    >>> loads("[" * 10_000)
    Traceback (most recent call last):
        ...
    ValueError: values are nested too deep
    """
    try:
        return _decode(json.loads(text))
    except RecursionError:
        raise ValueError("values are nested too deep") from None
