"""User-defined aggregates: ``oop.aggregate(init, incr, merge, final)``, compiled by Numba into the loop over rows.

The future work of the OOP paper (section 9, point 2) asks of them "multiple simultaneous windows and correct handling
of punctuation": here they are functions like the others. With ``merge`` sliding windows share panes; without it each
row goes into each of its windows. ``final`` runs when a promise closes the window, and may take the window's edges.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from oop.errors import SchemaMismatch, WrongArgument
from oop.frozen import frozen
from oop.kernels import views
from oop.kernels.checks import INT64_MAX, INT64_MIN
from oop.kernels.user.folds import Fold, Functions, failed
from oop.kernels.user.loops import user_loops
from oop.operators.expressions.expr import Expr
from oop.operators.expressions.program import Program
from oop.operators.functions.accumulators import Accumulator
from oop.operators.functions.function import Evaluate, Function, as_column, decoded
from oop.operators.functions.registry import functions
from oop.operators.functions.user_accumulator import UserAccumulator
from oop.site import user_line


@frozen(eq=False)
class UserDefinition(Functions):
    """What `oop.aggregate` gives: calling it with columns makes a function of them."""

    name: str = "aggregate"
    takes_window: bool = False

    def __call__(self, *columns: str | Expr) -> UserFunction:
        if not _takes(self.incr, 1 + len(columns)):
            raise WrongArgument(
                f"incr of {self.name} is given the state and {len(columns)} values, one for each column; "
                f"it takes {inspect.signature(self.incr)}",
                at=user_line(),
                hint="call the aggregate with as many columns as incr takes values behind the state",
            )
        return UserFunction(self, tuple(map(as_column, columns)))


@frozen()
class UserFunction(Function):
    """A user's definition over columns. ``edges`` is the kind of the window's start and end that final is given."""

    definition: UserDefinition
    of: tuple[Expr, ...] = ()
    edges: str | None = None

    @property
    def exprs(self) -> tuple[Expr, ...]:
        return self.of

    @property
    def title(self) -> str:
        return self.definition.name

    @property
    def can_merge(self) -> bool:
        return self.definition.merge is not None

    @property
    def sees_window(self) -> bool:
        return self.edges is not None

    def combined(self, results: Expr) -> Function | None:
        """Its merge, where the result is the state itself, and one number."""
        mine = self.definition
        if mine.merge is None or mine.final is not None or isinstance(mine.init, tuple):
            return None
        return UserDefinition(mine.init, mine.merge, mine.merge, None, f"{mine.name} of parts")(results)

    def in_window(self, time: pa.DataType | None) -> Function:
        if not self.definition.takes_window:
            return self
        if time is None:
            raise SchemaMismatch(
                f"final of {self.title} takes the window's start and end, and there is no window",
                hint=".window(…) first, or a final that takes the state alone",
            )
        return replace(self, edges="float" if pa.types.is_floating(time) else "int")

    def start(self, schema: pa.Schema) -> Accumulator:
        kinds = tuple(_kind(self, e, views.value_type(e.type(schema))) for e in self.of)
        return UserAccumulator(user_loops(Fold(self.definition, kinds, self.edges)))

    def values_name(self, schema: pa.Schema) -> str:
        return repr(self.of[0]) if len(self.of) == 1 else f"({self.arguments()})"

    def evaluator(self) -> Evaluate | None:
        """Gives the values of one column, or a struct of the values of several; None if there is no column."""
        programs, names = list(map(Program, self.of)), list(map(str, range(len(self.of))))
        if len(programs) == 1:
            return lambda batch: decoded(programs[0].evaluate(batch))
        if not programs:
            return None
        return lambda batch: pa.StructArray.from_arrays([p.evaluate(batch) for p in programs], names)

    def arguments(self) -> str:
        return ", ".join(map(repr, self.of))

    def __str__(self) -> str:
        # the code tells it from other functions of the same name: a checkpoint knows its plan by this text
        return f"{self.title}#{self.definition.code[:8]}({self.arguments()})"


def _kind(spec: UserFunction, expr: Expr, source: pa.DataType) -> str:
    t = pa.types
    if t.is_boolean(source):
        return "bool"
    if t.is_floating(source):
        return "float"
    if t.is_integer(source) or (t.is_temporal(source) and not t.is_interval(source)) or t.is_null(source):
        return "int"
    raise SchemaMismatch(
        f"{spec.title} is compiled for numbers, booleans, dates and times, and {expr!r} is {source}",
        hint="cast it first: .cast('float64')" if t.is_decimal(source) else "make a number of it first",
    )


def aggregate(
    init: Any,
    incr: Callable[..., Any],
    merge: Callable[[Any, Any], Any] | None = None,
    final: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
) -> UserDefinition:
    """An aggregate of your own, compiled by Numba; call the result with the columns that it is over.

    ``init`` is the state of a group without rows: a number, a bool, or a (named) tuple of these, or a function that
    gives it. ``incr(state, value, …)`` is the state with one row more, ``merge(a, b)`` that of two groups' rows
    together, ``final(state)`` the result (without it: the state); a tuple becomes a struct. ``final(state, start,
    end)`` is also given the window's edges, as numbers in the unit of the time column. Rows in which one of the
    columns is null are left out; a group without any other has a null. Whole numbers have 64 bits, and wrap.

    Without ``merge``, rows of sliding windows are added to each of their windows, which costs more.

    >>> import pyarrow as pa, oop
    >>> mean = oop.aggregate((0, 0.0), lambda s, v: (s[0] + 1, s[1] + v), final=lambda s: s[1] / s[0])
    >>> rate = oop.aggregate(0, lambda s, v: s + v, lambda a, b: a + b, lambda s, start, end: s / (end - start))
    >>> packets = oop.source(pa.table({"ts": [1, 2, 12], "len": [40, 60, 70]}), time="ts", punctuate=oop.ordered())
    >>> packets.window(oop.tumbling(10)).agg(m=mean("len"), r=rate("len")).run().to_table().to_pylist()[0]
    {'window_start': 0, 'window_end': 10, 'm': 50.0, 'r': 10.0}
    """
    for role, function, given in (("incr", incr, None), ("merge", merge, (2,)), ("final", final, (1, 3))):
        if function is None and role != "incr":
            continue
        if not callable(function):
            raise WrongArgument(f"{role} is a function, not {function!r}", at=user_line(), hint=_SHAPES[role])
        _check_kind(role, function)
        if given is not None and not any(_takes(function, n) for n in given):
            what = f"{role} takes {' or '.join(map(str, given))} arguments, not {inspect.signature(function)}"
            raise WrongArgument(what, at=user_line(), hint=_SHAPES[role])
    plain = str(name or getattr(incr, "__name__", "aggregate"))
    plain = f"user_{plain}" if plain in functions() else plain  # it must not be taken for the built-in one
    takes_window = final is not None and not _takes(final, 1)
    return UserDefinition(_state(init), incr, merge, final, "aggregate" if "<" in plain else plain, takes_window)


_SHAPES = {
    "init": "init is 0, (0, 0.0), or a function without arguments that gives such a state",
    "incr": "write it as incr(state, value), with one value for each column",
    "merge": "write it as merge(a, b): the state of all rows behind two states",
    "final": "write it as final(state), or final(state, start, end) to be given the window's edges",
}
_PLACED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


def _check_kind(role: str, function: Any) -> None:
    """Refuse a function that does not give its result when called, or takes arguments by name."""
    function = getattr(function, "py_func", function)
    for is_, what in (
        (inspect.iscoroutinefunction, "an async function: calling it gives a coroutine"),
        (inspect.isasyncgenfunction, "an async generator: calling it gives no value"),
        (inspect.isgeneratorfunction, "a generator (it has a yield): calling it gives no value"),
    ):
        if is_(function):
            raise WrongArgument(
                f"{role} is {what}", at=user_line(), hint=f"{role} gives its result by return; {_SHAPES[role]}"
            )
    signature = _signature(function) if inspect.isfunction(function) and role != "init" else None
    named = [p for p in signature.parameters.values() if p.kind not in _PLACED] if signature else []
    if named:
        raise WrongArgument(
            f"{role} takes {', '.join(p.name for p in named)} by name, and is given all by place: it takes {signature}",
            at=user_line(),
            hint=f"make it a parameter by place with a default, {named[0].name}=…, or use a name from outside",
        )


def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(getattr(function, "py_func", function))
    except ValueError:  # some functions written in C do not say
        return None


def _takes(function: Any, count: int) -> bool:
    """Can it be called with so many arguments?"""
    signature = _signature(function)
    try:
        if signature is not None:
            signature.bind(*range(count))
    except TypeError:
        return False
    return True


def _state(init: Any) -> Any:
    value = _started(init) if callable(init) else init
    if not isinstance(value, tuple):
        return _part(value)
    if not value:
        raise WrongArgument("the state needs at least one component", at=user_line(), hint=_SHAPES["init"])
    parts = [_part(part) for part in value]
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


def _started(init: Callable[[], Any]) -> Any:
    _check_kind("init", init)
    if not _takes(init, 0):
        what = f"init takes no arguments, not {_signature(init)}"
        raise WrongArgument(what, at=user_line(), hint=_SHAPES["init"])
    try:
        return init()
    except Exception as error:
        wrong = failed("init", error)
        wrong.hint = _SHAPES["init"]
        raise wrong.located(user_line()) from error


def _part(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if type(value) not in (int, float, bool):
        what = f"the state is a number, a bool, or a tuple of these, not {value!r}"
        raise WrongArgument(what, at=user_line(), hint=_SHAPES["init"])
    if isinstance(value, int) and not INT64_MIN <= value <= INT64_MAX:
        what = f"{value} does not fit 64 bits; whole numbers of a state are int64"
        raise WrongArgument(what, at=user_line(), hint="write it as a float: 0.0 instead of 0")
    return value
