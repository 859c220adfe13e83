"""An expression compiled for the columns of one schema: a batch costs what pyarrow does, not a walk through the tree.

What the types decide is decided once. Literals, and values computed of literals alone, are constants that are aligned
with the columns beside them beforehand. A function that then only calls one of pyarrow's is replaced by that call.

>>> from oop.operators.expressions.expr import col
>>> program = Program((col("len") + 1) * 8 > 400)
>>> program.evaluate(pa.record_batch({"len": [40, 50, None]})).to_pylist()
[False, True, None]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from oop.errors import OopError
from oop.operators.core.compute import compute as pc
from oop.operators.expressions.alignment import Datum
from oop.operators.expressions.expr import Call, Col, Expr
from oop.operators.expressions.functions import FUNCTIONS, Aligned
from oop.operators.expressions.traversal import inside_out

Apply = Callable[[list[Datum]], Datum]
"""Computes a function's value from the list of its arguments."""


class Program:
    """Gives what `Expr.evaluate` gives, errors included. It is compiled at the first batch, and anew for a batch with
    columns of other types."""

    __slots__ = ("_code", "expr")

    def __init__(self, expr: Expr) -> None:
        self.expr = expr
        self._code: _Code | None = None

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array:
        """The expression's value for every row."""
        code = self._code  # looked up once: another thread may compile it for another schema
        schema = batch.schema
        if code is None or not code.schema.equals(schema):
            code = self._code = _compiled(self.expr, schema)
        if code.steps is None:
            return self.expr.evaluate(batch)
        values = code.values.copy()
        try:
            for place, column in code.columns:
                values[place] = batch.column(column)
            for place, run, places, done in code.steps:
                values[place] = run(list(map(values.__getitem__, places)))  # faster than a comprehension
                for last in done:
                    values[last] = None  # it may be a column of many rows
        except Exception:
            return self.expr.evaluate(batch)  # it names the part that is wrong
        result = values[code.result]
        if isinstance(result, pa.Scalar):
            return pa.repeat(result, batch.num_rows)
        return result.combine_chunks() if isinstance(result, pa.ChunkedArray) else result


class _Code:
    """Places for values: constants, columns, and what steps compute. ``steps`` is None where the expression is wrong,
    since only evaluating the tree tells why."""

    __slots__ = ("columns", "result", "schema", "steps", "values")

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.values: list[Datum] = []  # constants in their places, else None
        self.columns: list[tuple[int, int]] = []  # a place, and which column goes there
        # a place, what computes the value there, the places of its arguments, and those that are not needed any more
        self.steps: list[tuple[int, Apply, tuple[int, ...], tuple[int, ...]]] | None = []
        self.result = 0

    def put(self, constant: Datum = None) -> int:
        """A new place."""
        self.values.append(constant)
        return len(self.values) - 1


def _compiled(expr: Expr, schema: pa.Schema) -> _Code:
    code = _Code(schema)
    try:
        steps = _add_parts(code, expr)
    except (OopError, pa.ArrowException):
        code.steps = None
        return code
    last = {place: i for i, (_, _, places) in enumerate(steps) for place in places}
    done: list[list[int]] = [[] for _ in steps]
    for place, i in last.items():
        if code.values[place] is None:
            done[i].append(place)
    code.steps = [(*step, tuple(gone)) for step, gone in zip(steps, done, strict=True)]
    return code


def _add_parts(code: _Code, expr: Expr) -> list[tuple[int, Apply, tuple[int, ...]]]:
    """Evaluate each part on no rows, which tells its type, and its value if it is constant."""
    empty = code.schema.empty_table()
    samples: dict[int, Datum] = {}
    places: dict[int, int] = {}
    steps = []
    for part in inside_out(expr):
        given = [samples[id(a)] for a in part.args]
        sample = samples[id(part)] = part._value(empty, given)
        constant = isinstance(sample, pa.Scalar)
        place = places[id(part)] = code.put(sample if constant else None)
        if constant:
            continue
        if isinstance(part, Col):
            code.columns.append((place, code.schema.get_field_index(part.name)))
        elif isinstance(part, Call):
            run, used = _specialised(code, part, given, [places[id(a)] for a in part.args])
            steps.append((place, run, tuple(used)))
    code.result = places[id(expr)]
    return steps


def _specialised(code: _Code, call: Call, given: Sequence[Datum], places: list[int]) -> tuple[Apply, list[int]]:
    """What computes a call of arguments like these, and the places of its arguments."""
    function = FUNCTIONS[call.function]
    if isinstance(function, Aligned) and not call.options:
        aligned = function.align(*given)
        # Alignment looks at types and literals only: a column that it leaves alone here it leaves alone with rows too.
        alone = all(a is g or isinstance(a, pa.Scalar) for a, g in zip(aligned, given, strict=True))
        if alone and function.is_direct(aligned):
            used = [p if a is g else code.put(a) for a, g, p in zip(aligned, given, places, strict=True)]
            return pc.get_function(function.name).call, used
    return partial(_run, function, call.options), places


def _run(function: Callable[..., Datum], options: tuple[Any, ...], args: list[Datum]) -> Datum:
    return function(*args, *options)
