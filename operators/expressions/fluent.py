"""How expressions are written, with Python's operators and with methods, and how they are shown: the same way."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, NoReturn, TypeVar

import pyarrow as pa

from oop.errors import SchemaMismatch

ExprT = TypeVar("ExprT")
"""What an operator or a method makes: an expression."""

# Symbol and precedence, as Python's grammar has them: what is shown can be read back.
_INFIX = {
    "equal": ("==", 1), "not_equal": ("!=", 1), "less": ("<", 1), "less_equal": ("<=", 1),
    "greater": (">", 1), "greater_equal": (">=", 1), "or": ("|", 2), "and": ("&", 3),
    "add": ("+", 4), "subtract": ("-", 4),
    "multiply": ("*", 5), "divide": ("/", 5), "floor_divide": ("//", 5), "mod": ("%", 5),
}  # fmt: skip
_PREFIX = {"negate": ("-", 6), "invert": ("~", 6)}
ATOM = 7


def _unary(function: str) -> Callable[[Fluent[ExprT]], ExprT]:
    return lambda self: self._call(function, self)


def _binary(function: str) -> Callable[[Fluent[ExprT], object], ExprT]:
    return lambda self, other: self._call(function, self, other)


def _reflected(function: str) -> Callable[[Fluent[ExprT], object], ExprT]:
    return lambda self, other: self._call(function, other, self)


class Fluent(Generic[ExprT]):
    """Each operator and each method makes a call of a named function.

    >>> from oop.operators.expressions.expr import col
    >>> times = pa.array([0, 90], pa.timestamp("s"))
    >>> batch = pa.record_batch({"x": [-1.5, None], "city": ["Lima", "Cusco"], "ts": times})
    >>> for e in (abs(col("x")), col("x").floor(), col("x").is_null(), col("x").fill_null(0), col("city").upper(),
    ...           col("city").length(), col("ts").minute(), -col("x") * 2 >= 3):
    ...     print(e, e.evaluate(batch).to_pylist())
    abs(x) [1.5, None]
    floor(x) [-2.0, None]
    is_null(x) [False, True]
    fill_null(x, 0) [-1.5, 0.0]
    upper(city) ['LIMA', 'CUSCO']
    length(city) [4, 5]
    minute(ts) [0, 1]
    -x * 2 >= 3 [True, None]
    """

    __array_ufunc__ = None  # numpy scalars on the left leave the operator to us
    __hash__ = object.__hash__

    @staticmethod
    def _call(function: str, *args: object, options: tuple[object, ...] = ()) -> ExprT:
        raise NotImplementedError

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"{self!r} has a value for each row, not one truth: "
            "use & | ~ instead of and, or, not; between() instead of a < x < b"
        )

    __add__, __radd__ = _binary("add"), _reflected("add")
    __sub__, __rsub__ = _binary("subtract"), _reflected("subtract")
    __mul__, __rmul__ = _binary("multiply"), _reflected("multiply")
    __truediv__, __rtruediv__ = _binary("divide"), _reflected("divide")
    __floordiv__, __rfloordiv__ = _binary("floor_divide"), _reflected("floor_divide")
    __mod__, __rmod__ = _binary("mod"), _reflected("mod")
    __and__, __rand__ = _binary("and"), _reflected("and")
    __or__, __ror__ = _binary("or"), _reflected("or")
    __lt__, __le__, __gt__, __ge__ = map(_binary, ("less", "less_equal", "greater", "greater_equal"))
    __neg__, __invert__, __abs__ = _unary("negate"), _unary("invert"), _unary("abs")

    def __eq__(self, other: object) -> ExprT:  # type: ignore[override]
        return self._call("equal", self, other)

    def __ne__(self, other: object) -> ExprT:  # type: ignore[override]
        return self._call("not_equal", self, other)

    abs, floor, ceil = _unary("abs"), _unary("floor"), _unary("ceil")
    is_null, is_not_null, is_nan = _unary("is_null"), _unary("is_not_null"), _unary("is_nan")
    lower, upper = _unary("lower"), _unary("upper")
    length = _unary("length")  # characters of a string, bytes of a binary
    # Of a timestamp with zone these are in local time.
    year, month, day = _unary("year"), _unary("month"), _unary("day")
    hour, minute, second = _unary("hour"), _unary("minute"), _unary("second")
    fill_null = _binary("fill_null")

    def round(self, ndigits: int = 0) -> ExprT:
        """The nearest number with so many digits, halves to even, as by Python's `round`.

        >>> from oop.operators.expressions.expr import col
        >>> col("x").round(1).evaluate(pa.record_batch({"x": [0.25, 1.87]})).to_pylist()
        [0.2, 1.9]
        """
        return self._call("round", self, options=(ndigits,))

    def cast(self, kind: pa.DataType | str) -> ExprT:
        """Cast to another type. What does not fit is an error, never wrapped; times round down to a coarser unit.

        >>> from oop.operators.expressions.expr import col
        >>> col("x").cast("int64")
        cast(x, int64)
        """
        return self._call("cast", self, options=(_kind(kind),))

    def between(self, low: object, high: object) -> ExprT:
        """Is the value between these, both ends included?

        >>> from oop.operators.expressions.expr import col
        >>> col("x").between(2, 3).evaluate(pa.record_batch({"x": [1, 2, 3]})).to_pylist()
        [False, True, True]
        """
        return self._call("and", self._call("greater_equal", self, low), self._call("less_equal", self, high))

    def isin(self, values: Iterable[object]) -> ExprT:
        """Whether the value is one of these. A null gives null, and None among the values equals nothing.

        >>> from oop.operators.expressions.expr import col
        >>> col("x").isin([1, 3]).evaluate(pa.record_batch({"x": [1, 2, None]})).to_pylist()
        [True, False, None]
        """
        return self._call("isin", self, options=(tuple(values),))

    def starts_with(self, pattern: str) -> ExprT:
        """Does the text begin with this?

        >>> from oop.operators.expressions.expr import col
        >>> col("city").starts_with("li").evaluate(pa.record_batch({"city": ["lima", "cusco"]})).to_pylist()
        [True, False]
        """
        return self._call("starts_with", self, options=(pattern,))

    def ends_with(self, pattern: str) -> ExprT:
        """Does the text end with this?

        >>> from oop.operators.expressions.expr import col
        >>> col("city").ends_with("co").evaluate(pa.record_batch({"city": ["lima", "cusco"]})).to_pylist()
        [False, True]
        """
        return self._call("ends_with", self, options=(pattern,))

    def contains(self, pattern: str) -> ExprT:
        """Does the text contain this?

        >>> from oop.operators.expressions.expr import col
        >>> col("city").contains("im").evaluate(pa.record_batch({"city": ["lima", "cusco"]})).to_pylist()
        [True, False]
        """
        return self._call("contains", self, options=(pattern,))


def _kind(kind: pa.DataType | str) -> pa.DataType:
    if isinstance(kind, pa.DataType):
        return kind
    zoned = re.fullmatch(r"timestamp\[(s|ms|us|ns), *tz=(.+)\]", kind)
    try:
        return pa.timestamp(*zoned.groups()) if zoned else pa.type_for_alias(kind)
    except ValueError as error:
        raise SchemaMismatch(f"no type {kind!r}", hint="for example 'int64' or 'timestamp[us]'") from error


def symbol(function: str) -> str:
    return {**_INFIX, **_PREFIX}.get(function, (function, 0))[0]


def call_text(function: str, options: Sequence[object], args: Sequence[tuple[str, int]]) -> tuple[str, int]:
    """The text of a call and its precedence; ``args`` are those of its arguments."""
    if function in _INFIX:
        sign, level = _INFIX[function]
        # Comparisons do not chain; the others group from the left.
        left = _shown(args[0], level + (level == 1))
        return f"{left} {sign} {_shown(args[1], level + 1)}", level
    if function in _PREFIX:
        sign, level = _PREFIX[function]
        return sign + _shown(args[0], level + 1), level
    said = [str(o) if isinstance(o, pa.DataType) else repr(o) for o in options]
    return f"{function}({', '.join([*(text for text, _ in args), *said])})", ATOM


def _shown(arg: tuple[str, int], least: int) -> str:
    text, level = arg
    return text if level >= least else f"({text})"
