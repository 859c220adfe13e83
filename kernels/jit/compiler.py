"""The compiler of the Numba kernels: the only file that imports numba.

Loops are compiled at their first call, in each process; `OOP_JIT_CACHE=1` keeps them on disk. Users' functions are
compiled before they run, so that errors come early.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from oop.kernels.checks import Array, Bools
from oop.kernels.results import Result, part_names

# No fastmath: it would fuse or reorder operations, which must be rounded as in the other implementations.
compile_loop: Any = numba.njit(nogil=True, cache=os.environ.get("OOP_JIT_CACHE") == "1")


def as_input(array: Array) -> Array:
    """A contiguous view that cannot be written.

    Numba compiles a loop anew for each type of argument. To it a read-only array, such as one from Arrow, differs in
    type from a writable one, so all inputs are made read-only.
    """
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


# An absent argument is an empty array, not None, for the same reason.
NO_ROWS = as_input(np.zeros(0, np.int64))
NO_MASK = as_input(np.zeros(0, np.bool_))


def as_mask(valid: Bools | None) -> Bools:
    """A validity mask as loops take it: empty if all rows are valid."""
    return NO_MASK if valid is None else as_input(valid)


_CHATTER = ("Failed in", "There are", "Overload", "During:", "File ", "-")


class CannotCompile(Exception):
    """Numba cannot compile a user's function; the text is what its message says is wrong."""


def compile_function(function: Any, examples: Sequence[Any]) -> tuple[Any, Result]:
    """A user's function compiled for arguments like these, and the type of its result."""
    if isinstance(function, FunctionType) and _takes_more(function, len(examples)):
        function = numba.njit(nogil=True)(function)
    # Wrap functions written in C (Numba knows many, but only inside a function) and those with default parameters.
    if not isinstance(function, FunctionType | Dispatcher) or _takes_more(function, len(examples)):
        names = ", ".join(f"a{i}" for i in range(len(examples)))
        function = eval(f"lambda {names}: function({names})", {"function": function})
    compiled = function if isinstance(function, Dispatcher) else numba.njit(nogil=True)(function)
    try:
        compiled.compile(tuple(numba.typeof(example) for example in examples))
    except (NumbaError, NotImplementedError) as error:
        raise CannotCompile(_first_words(str(error))) from error
    found = compiled.overloads[tuple(numba.typeof(example) for example in examples)].signature.return_type
    return compiled, _result_of(types.unliteral(found))


def _takes_more(function: FunctionType | Dispatcher, count: int) -> bool:
    """Does the function have parameters after the first ``count``, with a default or as ``*args``?"""
    code = getattr(function, "py_func", function).__code__
    return bool(code.co_argcount != count or code.co_flags & inspect.CO_VARARGS)


def compile_text(text: str, names: dict[str, Any], examples: Sequence[Array]) -> Any:
    """The function ``loop`` of a text, compiled for arrays like these."""
    space = dict(names)
    exec(text, space)
    loop = numba.njit(nogil=True)(space["loop"])
    loop.compile(tuple(numba.typeof(example) for example in examples))
    return loop


_POINTER, _WHOLE = types.voidptr, types.int64
_USER_LOOP = types.int32(
    _POINTER, _POINTER, _WHOLE, _WHOLE, _WHOLE, types.CPointer(_POINTER), _POINTER, _POINTER, _POINTER
)


def compile_for_c(text: str, names: dict[str, Any]) -> Any:
    """The function ``loop`` of a text as C calls it: an `oop_user_loop`, as csrc/programs.h declares it. Its result has
    the ``address``, which holds as long as the result is kept."""
    space = {**names, "carray": numba.carray, "int64": np.int64, "float64": np.float64, "bool_": np.bool_}
    exec(text, space)
    return numba.cfunc(_USER_LOOP)(space["loop"])


def _result_of(found: Any) -> Result:
    if isinstance(found, types.BaseTuple) and len(found):
        names = getattr(found, "fields", None) or part_names(None, len(found))
        return Result(tuple(map(_kind_of, map(types.unliteral, found))), tuple(names))
    return Result((_kind_of(found),))


def _kind_of(found: Any) -> str:
    for kind, family in (("bool", types.Boolean), ("float", types.Float), ("int", types.Integer)):
        if isinstance(found, family):
            return kind
    raise CannotCompile(f"it gives {found}, not a number, a bool, or a tuple of these")


def _first_words(text: str) -> str:
    """The line of a long message that says what is wrong."""
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip() for line in text.splitlines()]
    kept = [line.removeprefix(">>> ") for line in lines if line and not line.startswith(_CHATTER)]
    return " ".join(kept[: 2 if kept[0].endswith(":") else 1])
