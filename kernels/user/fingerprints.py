"""A hash of a function that is the same in every process: of its code, and of all that the code refers to.

It tells users' functions apart. A worker that was shipped the same function twice compiles it once, and state that
another function made is refused.

>>> def adder(step):
...     return lambda state, value: state + step * value
>>> fingerprint(adder(2)) == fingerprint(adder(2)), fingerprint(adder(2)) == fingerprint(adder(3))
(True, False)
"""

from __future__ import annotations

import dis
import math
from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np


def fingerprint(*values: object) -> str:
    """The hash of functions and of plain values. Line numbers and file names do not count."""
    import hashlib  # it loads OpenSSL, which only those with functions of their own need

    seen: set[int] = set()
    return hashlib.sha256("\n".join(text for value in values for text in _say(value, seen)).encode()).hexdigest()


def _say(value: Any, seen: set[int]) -> Iterator[str]:
    value = getattr(value, "py_func", value)  # the function that Numba has compiled
    if isinstance(value, FunctionType):
        if id(value) in seen:  # a function that calls itself
            yield "again"
            return
        seen.add(id(value))
        yield from _say_code(value.__code__, seen)
        named = tuple(sorted((value.__kwdefaults__ or {}).items()))
        yield from _say((value.__defaults__, named, tuple(_bound(value))), seen)
    elif isinstance(value, MethodType):
        yield from _say((value.__func__, vars(value.__self__) if hasattr(value.__self__, "__dict__") else ()), seen)
    elif isinstance(value, partial):
        yield from _say((value.func, value.args, tuple(sorted(value.keywords.items()))), seen)
    elif isinstance(value, dict):
        yield from _say(tuple(sorted(value.items(), key=repr)), seen)
    elif isinstance(value, CodeType):
        yield from _say_code(value, seen)
    elif isinstance(value, tuple | list):
        yield f"{type(value).__qualname__} of {len(value)}"
        for each in value:
            yield from _say(each, seen)
    elif isinstance(value, set | frozenset):  # sets have no order
        yield f"{type(value).__qualname__} of {' '.join(sorted(map(repr, value)))}"
    elif isinstance(value, np.ndarray):
        yield f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    elif isinstance(value, float) and not math.isnan(value):
        yield value.hex()
    elif isinstance(value, ModuleType):
        yield value.__name__
    elif isinstance(value, type) and hasattr(value, "_fields"):  # a namedtuple
        yield f"{value.__qualname__} {value._fields}"
    elif "__qualname__" in dir(value):  # classes, functions written in C
        yield f"{getattr(value, '__module__', None)}.{value.__qualname__}"
    else:
        shown = repr(value)
        yield type(value).__qualname__ if " at 0x" in shown else f"{type(value).__qualname__} {shown}"


def _say_code(code: CodeType, seen: set[int]) -> Iterator[str]:
    yield code.co_code.hex()
    yield f"{code.co_argcount} {code.co_flags} {code.co_names} {code.co_varnames}"
    yield from _say(code.co_consts, seen)


def _bound(function: FunctionType) -> Iterator[Any]:
    """The values of names from outside the function: variables of the enclosing functions, and globals."""
    code = function.__code__
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not set yet
            yield "empty"
    for name in sorted(_globals_of(code)):
        found = function.__globals__.get(name, f"builtin {name}")
        yield found
        if isinstance(found, ModuleType):  # what the code may read there, except functions and classes
            for inner in sorted(set(code.co_names)):
                value = getattr(found, inner, None)
                if not callable(value) and not isinstance(value, ModuleType):
                    yield inner, value


def _globals_of(code: CodeType) -> set[str]:
    """Names that the code, or a function inside it, looks up globally."""
    names = {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for const in code.co_consts:
        if isinstance(const, CodeType):
            names |= _globals_of(const)
    return names
