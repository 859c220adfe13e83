"""JSON lines that would end the process: pyarrow's parser recurses, until its stack is at an end, and does not expect a
line ``null``. Both are found here before it sees them, and are errors like any other that a line may have.

Brackets outside of strings are counted. That is exact up to the first place which is no JSON, where the parser stops.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

MOST_NESTED = 100  # values in each other
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_STRING = re.compile(rb'"[^"]*"')
_STEPS = np.zeros(256, np.int8)
_STEPS[[ord("["), ord("{")]] = 1
_STEPS[[ord("]"), ord("}")]] = -1


def _others(kept: bytes) -> bytes:
    return bytes(byte for byte in range(256) if byte not in kept)


_NO_MARKS, _NO_NULLS = _others(b'"[]{}'), _others(b"[]{}n")


def check_json(block: bytes) -> None:
    """Raise what the parser would raise if it could.

    >>> check_json(b'{"a": [[1], [2]], "b": "[[[["}')
    >>> check_json(b'{"a": ' + b"[" * 500)
    Traceback (most recent call last):
        ...
    pyarrow.lib.ArrowInvalid: JSON parse error: values are nested more than 100 deep
    >>> check_json(b'{"a": null} null')
    Traceback (most recent call last):
        ...
    pyarrow.lib.ArrowInvalid: JSON parse error: a line is null, not an object
    """
    many = block.count(b"[") + block.count(b"{") > MOST_NESTED
    tight = block.translate(None, b" \t\r\n") if b"null" in block else b""
    null = tight.startswith(b"null") or b"}null" in tight  # or so it looks: it may stand in a string
    if (many or null) and b"\\" in block:
        block = _ESCAPED.sub(b"", block)
    if many and (_depths(_brackets(block)) > MOST_NESTED).any():
        raise pa.ArrowInvalid(f"JSON parse error: values are nested more than {MOST_NESTED} deep")
    if null:
        marks = _STRING.sub(b"", block).translate(None, _NO_NULLS)
        if (_depths(marks)[np.frombuffer(marks, np.uint8) == ord("n")] <= 0).any():
            raise pa.ArrowInvalid("JSON parse error: a line is null, not an object")


def _brackets(block: bytes) -> bytes:
    """Those outside of strings. Strings without any are two quotes side by side, which change nothing."""
    marks = block.translate(None, _NO_MARKS).replace(b'""', b"")
    return _STRING.sub(b"", marks) if b'"' in marks else marks


def _depths(marks: bytes) -> np.ndarray:
    return np.cumsum(_STEPS[np.frombuffer(marks, np.uint8)], dtype=np.int64)
