"""Finds JSON lines that would crash the process in pyarrow's parser: it recurses until its stack overflows, and it does
not expect a line ``null``. Both are found here before they reach the parser, and become ordinary errors of a line.

Brackets outside of strings are counted. The count is exact up to the first place that is no JSON, where the parser
stops.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

MOST_NESTED = 100  # levels of values
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_STRING = re.compile(rb'"[^"]*"')
_STEPS = np.zeros(256, np.int8)
_STEPS[[ord("["), ord("{")]] = 1
_STEPS[[ord("]"), ord("}")]] = -1


def _others(kept: bytes) -> bytes:
    return bytes(byte for byte in range(256) if byte not in kept)


_NO_MARKS, _NO_NULLS = _others(b'"[]{}'), _others(b"[]{}n")


def check_json(block: bytes) -> None:
    """Raise the error that the parser should raise instead of crashing.

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
    null = tight.startswith(b"null") or b"}null" in tight  # a suspicion: it may stand in a string
    if (many or null) and b"\\" in block:
        block = _ESCAPED.sub(b"", block)
    if many and (_depths(_brackets(block)) > MOST_NESTED).any():
        raise pa.ArrowInvalid(f"JSON parse error: values are nested more than {MOST_NESTED} deep")
    if null:
        marks = _STRING.sub(b"", block).translate(None, _NO_NULLS)
        if (_depths(marks)[np.frombuffer(marks, np.uint8) == ord("n")] <= 0).any():
            raise pa.ArrowInvalid("JSON parse error: a line is null, not an object")


def _brackets(block: bytes) -> bytes:
    """The brackets outside of strings. A string without brackets leaves two quotes side by side, which are dropped."""
    marks = block.translate(None, _NO_MARKS).replace(b'""', b"")
    return _STRING.sub(b"", marks) if b'"' in marks else marks


def _depths(marks: bytes) -> np.ndarray:
    return np.cumsum(_STEPS[np.frombuffer(marks, np.uint8)], dtype=np.int64)
