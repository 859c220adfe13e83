"""Expressions as steps of a program (`oop.operators.core.writing`).

What an expression means is decided by `functions` and `alignment`, which are asked here with columns that have no rows:
they tell how operands are converted and which type comes out. A step then computes the same for whole columns. What no
step computes, or not in the same way, is `Unwritten`.

>>> from oop.operators.expressions.expr import col
>>> writer = ProgramWriter(pa.schema({"len": pa.int32()}))
>>> write(writer, col("len") * 8 > 400).kind
'bool'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

import pyarrow as pa
from pyarrow import types

from oop.errors import OopError
from oop.kernels.steps import Op
from oop.operators.core.writing import BOOL, FLOAT, INT, UINT, Filled, ProgramWriter, Unwritten
from oop.operators.expressions.alignment import Datum, align, align_alternatives, natural, plain, typed_null
from oop.operators.expressions.expr import Call, Col, Expr
from oop.operators.expressions.functions import FUNCTIONS
from oop.operators.expressions.kinds import PER_SECOND
from oop.operators.expressions.traversal import inside_out


class Given(NamedTuple):
    """An argument: what it is without rows, and how to have it in a register. Literals are scalars."""

    sample: Datum
    value: Callable[[], Filled]
    column: str | None = None


Written: TypeAlias = Callable[[ProgramWriter, Call, Sequence[Given], Datum], Filled]
"""Writes the steps of a call, given what comes out without rows."""


def write(writer: ProgramWriter, expr: Expr) -> Filled:
    """The register that has the expression's values."""
    empty = writer.schema.empty_table()
    done: dict[int, Given] = {}
    for part in inside_out(expr):
        given = [done[id(argument)] for argument in part.args]
        try:
            sample = part._value(empty, [g.sample for g in given])
        except (OopError, pa.ArrowException) as wrong:
            raise Unwritten(f"{part!r} has no value") from wrong
        if isinstance(sample, pa.Scalar):
            done[id(part)] = Given(sample, partial(_constant, writer, sample))
        elif isinstance(part, Col):
            done[id(part)] = Given(sample, partial(writer.number, part.name), part.name)
        else:
            assert isinstance(part, Call)
            if part.function not in _WRITTEN:
                raise Unwritten(f"{part!r}")
            try:
                made = _WRITTEN[part.function](writer, part, given, sample)
            except (TypeError, pa.ArrowException) as wrong:
                raise Unwritten(f"{part!r}") from wrong
            done[id(part)] = Given(sample, partial(_same, made))
    return done[id(expr)].value()


def _same(value: Filled) -> Filled:
    return value


def _constant(writer: ProgramWriter, scalar: pa.Scalar) -> Filled:
    kind = _kind(scalar.type)
    if not scalar.is_valid:
        number = None
    elif kind == INT:
        number = scalar.value if types.is_temporal(scalar.type) else scalar.as_py()
    else:
        number = scalar.as_py()
    return Filled(writer.constant(number, kind), kind, scalar.type)


def _kind(type_: pa.DataType) -> str:
    """The kind of the register of computed values."""
    if types.is_boolean(type_):
        return BOOL
    if types.is_float32(type_) or types.is_float64(type_):
        return FLOAT
    if types.is_uint64(type_):
        raise Unwritten("a computation with uint64")
    if types.is_integer(type_) or (types.is_temporal(type_) and not types.is_interval(type_)):
        return INT
    raise Unwritten(f"a computation with {type_}")


def _operand(writer: ProgramWriter, given: Given, aligned: Datum) -> Filled:
    """An argument as it is beside the others."""
    if isinstance(aligned, pa.Scalar):
        return _constant(writer, aligned)
    value = given.value()
    if value.kind == UINT and types.is_uint64(value.type):
        raise Unwritten("a computation with uint64")
    kind = INT if value.kind == UINT else value.kind
    wanted = _kind(aligned.type)
    if kind == wanted:
        return Filled(value.register, kind, aligned.type)
    if kind == INT and wanted == FLOAT and not types.is_temporal(value.type):
        if types.is_float32(aligned.type):
            raise Unwritten(f"a computation with {value.type} as float32")
        return Filled(writer.step(Op.TO_FLOAT, value.register), FLOAT, aligned.type)
    raise Unwritten(f"{value.type} as {aligned.type}")


def _operands(writer: ProgramWriter, given: Sequence[Given], aligned: Sequence[Datum]) -> list[Filled]:
    found = [_operand(writer, g, a) for g, a in zip(given, aligned, strict=True)]
    times = {v.type for v in found if types.is_temporal(v.type)}
    if len({t.unit for t in times if hasattr(t, "unit")}) > 1 or (any(_is_date(t) for t in times) and len(times) > 1):
        raise Unwritten(f"a computation with {' and '.join(sorted(map(str, times)))}")
    return found


def _is_date(type_: pa.DataType) -> bool:
    return bool(types.is_date(type_) or types.is_time(type_))


def _limits(type_: pa.DataType) -> tuple[int, int]:
    """The least and the greatest number of a type of whole numbers."""
    bits = type_.bit_width
    return (0, 2**bits - 1) if types.is_unsigned_integer(type_) else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _whole(writer: ProgramWriter, op: Op, found: Sequence[Filled], type_: pa.DataType) -> Filled:
    """A step on whole numbers, which refuses a result that is not of its type."""
    a, b = found[0].register, found[-1].register
    return Filled(writer.step(op, a, b, numbers=_limits(type_)), INT, type_)


def _float(writer: ProgramWriter, op: Op, found: Sequence[Filled], type_: pa.DataType) -> Filled:
    """A step on floats. Computed in 64 bits and then rounded to 32, the result is that of 32 bits."""
    register = writer.step(op, found[0].register, found[-1].register)
    if types.is_float32(type_):
        register = writer.step(Op.TO_FLOAT32, register)
    return Filled(register, FLOAT, type_)


def _arithmetic(
    whole: Op, floats: Op, writer: ProgramWriter, call: Call, given: Sequence[Given], sample: Datum
) -> Filled:
    found = _operands(writer, given, align(*(g.sample for g in given)))
    if any(types.is_boolean(v.type) or _is_date(v.type) for v in found):
        raise Unwritten(f"{call!r}")
    if _kind(sample.type) == FLOAT:
        return _float(writer, floats, [_as_float(writer, v) for v in found], sample.type)
    if whole is Op.MULTIPLY and types.is_temporal(sample.type):
        raise Unwritten(f"{call!r}")
    return _whole(writer, whole, found, sample.type)


def _as_float(writer: ProgramWriter, value: Filled) -> Filled:
    return value if value.kind == FLOAT else Filled(writer.step(Op.TO_FLOAT, value.register), FLOAT, pa.float64())


def _divide(writer: ProgramWriter, call: Call, given: Sequence[Given], sample: Datum) -> Filled:
    found = _operands(writer, given, align(*(g.sample for g in given)))
    if not all(types.is_integer(v.type) or v.kind == FLOAT for v in found):
        raise Unwritten(f"{call!r}")
    if all(v.kind == INT for v in found):
        return _float(writer, Op.DIVIDE, [_as_float(writer, v) for v in found], sample.type)
    return _float(writer, Op.DIVIDE_FLOAT, [_as_float(writer, v) for v in found], sample.type)


def _floored(op: Op, writer: ProgramWriter, call: Call, given: Sequence[Given], sample: Datum) -> Filled:
    found = _operands(writer, given, align(*(g.sample for g in given)))
    if not all(types.is_integer(v.type) for v in found):
        raise Unwritten(f"{call!r}")
    return _whole(writer, op, found, sample.type)


def _comparison(
    whole: Op, floats: Op, turned: bool, writer: ProgramWriter, call: Call, given: Sequence[Given], sample: Datum
) -> Filled:
    if call.function in _EQUALITIES and (text := _text_equality(writer, call, given)) is not None:
        return text
    found = _operands(writer, given, FUNCTIONS[call.function].align(*(g.sample for g in given)))  # type: ignore[attr-defined]
    if any(v.kind == BOOL for v in found):
        raise Unwritten(f"{call!r}")
    if any(v.kind == FLOAT for v in found):
        if any(types.is_temporal(v.type) for v in found):
            raise Unwritten(f"{call!r}")
        found, op = [_as_float(writer, v) for v in found], floats
    else:
        op = whole
    a, b = (found[1], found[0]) if turned else found
    return Filled(writer.step(op, a.register, b.register), BOOL, sample.type)


def _text_equality(writer: ProgramWriter, call: Call, given: Sequence[Given]) -> Filled | None:
    """Whether a column of text has the value of a literal; None if this is no such question."""
    for column, literal in (given, given[::-1]):
        value = literal.sample
        if column.column is None or not isinstance(value, pa.Scalar) or not value.is_valid:
            continue
        kinds = (
            (types.is_string, types.is_large_string)
            if isinstance(value.as_py(), str)
            else (types.is_binary, types.is_large_binary)
        )
        if not any(is_(column.sample.type) for is_ in kinds) or not isinstance(value.as_py(), str | bytes):
            continue
        text = value.as_py()
        as_bytes = text.encode() if isinstance(text, str) else text
        found = writer.step(Op.TEXT_EQUAL, writer.text(column.column), text=as_bytes)
        return Filled(found if call.function == "equal" else writer.step(Op.NOT, found), BOOL, pa.bool_())
    return None


def _isin(writer: ProgramWriter, call: Call, given: Sequence[Given], sample: Datum) -> Filled:
    values = call.options[0]
    assert isinstance(values, tuple)
    known = [v for v in values if v is not None and v == v]
    if not 0 < len(known) <= _MOST_VALUES:
        raise Unwritten(f"{call!r}")
    found: Filled | None = None
    for value in known:
        literal = natural(value)
        pair = (given[0], Given(literal, partial(_constant, writer, literal)))
        equal = _comparison(Op.EQUAL, Op.EQUAL_FLOAT, False, writer, Call("equal", call.args), pair, sample)
        found = equal if found is None else found._replace(register=writer.step(Op.OR, found.register, equal.register))
    assert found is not None
    return found


def _logic(op: Op, writer: ProgramWriter, call: Call, given: Sequence[Given], sample: Datum) -> Filled:
    found = [_operand(writer, g, typed_null(plain(g.sample), pa.bool_())) for g in given]
    return Filled(writer.step(op, found[0].register, found[-1].register), BOOL, sample.type)


def _test(op: Op, writer: ProgramWriter, call: Call, given: Sequence[Given], sample: Datum) -> Filled:
    value = given[0].value()
    if op is Op.IS_NAN and value.kind != FLOAT:
        raise Unwritten(f"{call!r}")
    return Filled(writer.step(op, value.register), BOOL, sample.type)


def _signless(
    whole: Op, floats: Op, writer: ProgramWriter, call: Call, given: Sequence[Given], sample: Datum
) -> Filled:
    value = _operand(writer, given[0], given[0].sample)
    if value.kind == FLOAT:
        return Filled(writer.step(floats, value.register), FLOAT, sample.type)
    if not types.is_signed_integer(sample.type):
        raise Unwritten(f"{call!r}")
    return _whole(writer, whole, [value], sample.type)


def _extreme(whole: Op, floats: Op, writer: ProgramWriter, call: Call, given: Sequence[Given], sample: Datum) -> Filled:
    so_far = given[0]
    for following in given[1:]:
        found = _operands(writer, (so_far, following), align_alternatives(so_far.sample, following.sample))
        if any(v.kind == BOOL for v in found):
            raise Unwritten(f"{call!r}")
        both = FUNCTIONS[call.function](so_far.sample, following.sample)
        if _kind(both.type) == FLOAT:
            made = _float(writer, floats, [_as_float(writer, v) for v in found], both.type)
        else:
            made = Filled(writer.step(whole, found[0].register, found[1].register), INT, both.type)
        so_far = Given(both, partial(_same, made))
    return so_far.value()


def _if_else(writer: ProgramWriter, call: Call, given: Sequence[Given], sample: Datum) -> Filled:
    condition = _operand(writer, given[0], typed_null(plain(given[0].sample), pa.bool_()))
    a, b = _alternatives(writer, call, given[1:], sample)
    kind = _kind(sample.type)
    return Filled(writer.step(Op.IF_ELSE, condition.register, a.register, b.register), kind, sample.type)


def _fill_null(writer: ProgramWriter, call: Call, given: Sequence[Given], sample: Datum) -> Filled:
    a, b = _alternatives(writer, call, given, sample)
    return Filled(writer.step(Op.FILL_NULL, a.register, b.register), _kind(sample.type), sample.type)


def _alternatives(writer: ProgramWriter, call: Call, given: Sequence[Given], sample: Datum) -> list[Filled]:
    found = _operands(writer, given, align_alternatives(*(g.sample for g in given)))
    kind = _kind(sample.type)
    if kind == FLOAT:
        found = [_as_float(writer, v) for v in found]
    if any(v.kind != kind for v in found):
        raise Unwritten(f"{call!r}")
    return found


def _cast(writer: ProgramWriter, call: Call, given: Sequence[Given], sample: Datum) -> Filled:
    value = _operand(writer, given[0], given[0].sample)
    source, target = value.type, sample.type
    if source == target:
        return value
    if types.is_integer(source) and types.is_integer(target):
        _kind(target)  # refuses uint64
        within = _limits(target)[0] <= _limits(source)[0] and _limits(source)[1] <= _limits(target)[1]
        return Filled(value.register, INT, target) if within else _whole(writer, Op.CHECK, [value], target)
    if types.is_integer(source) and (types.is_float64(target) or (types.is_float32(target) and source.bit_width < 64)):
        return _float(writer, Op.TO_FLOAT, [value], target)
    if types.is_float32(source) and types.is_float64(target):
        return Filled(value.register, FLOAT, target)
    if types.is_timestamp(source) and types.is_timestamp(target):
        step = PER_SECOND[source.unit] // PER_SECOND[target.unit]
        if step > 1:
            return _whole(writer, Op.FLOOR_DIVIDE, [value, _constant(writer, pa.scalar(step))], target)
    if types.is_timestamp(source) and types.is_int64(target):
        return Filled(value.register, INT, target)
    raise Unwritten(f"{call!r}")


def _rounded(writer: ProgramWriter, call: Call, given: Sequence[Given], sample: Datum) -> Filled:
    if not types.is_integer(given[0].sample.type) or call.options not in ((), (0,)):
        raise Unwritten(f"{call!r}")
    return given[0].value()  # it is whole already


_EQUALITIES = ("equal", "not_equal")
_MOST_VALUES = 16  # of isin(…), each of which is a step
_COMPARISONS: dict[str, tuple[Op, Op, bool]] = {
    "less": (Op.LESS, Op.LESS_FLOAT, False),
    "less_equal": (Op.LESS_EQUAL, Op.LESS_EQUAL_FLOAT, False),
    "greater": (Op.LESS, Op.LESS_FLOAT, True),
    "greater_equal": (Op.LESS_EQUAL, Op.LESS_EQUAL_FLOAT, True),
    "equal": (Op.EQUAL, Op.EQUAL_FLOAT, False),
    "not_equal": (Op.NOT_EQUAL, Op.NOT_EQUAL_FLOAT, False),
}
_WRITTEN: dict[str, Written] = {
    "add": partial(_arithmetic, Op.ADD, Op.ADD_FLOAT),
    "subtract": partial(_arithmetic, Op.SUBTRACT, Op.SUBTRACT_FLOAT),
    "multiply": partial(_arithmetic, Op.MULTIPLY, Op.MULTIPLY_FLOAT),
    "divide": _divide,
    "floor_divide": partial(_floored, Op.FLOOR_DIVIDE),
    "mod": partial(_floored, Op.MOD),
    **{name: partial(_comparison, *of) for name, of in _COMPARISONS.items()},
    "isin": _isin,
    "and": partial(_logic, Op.AND),
    "or": partial(_logic, Op.OR),
    "invert": partial(_logic, Op.NOT),
    "is_null": partial(_test, Op.IS_NULL),
    "is_not_null": partial(_test, Op.IS_VALID),
    "is_nan": partial(_test, Op.IS_NAN),
    "negate": partial(_signless, Op.NEGATE, Op.NEGATE_FLOAT),
    "abs": partial(_signless, Op.ABS, Op.ABS_FLOAT),
    "greatest": partial(_extreme, Op.GREATEST, Op.GREATEST_FLOAT),
    "least": partial(_extreme, Op.LEAST, Op.LEAST_FLOAT),
    "if_else": _if_else,
    "fill_null": _fill_null,
    "cast": _cast,
    "floor": _rounded,
    "ceil": _rounded,
    "round": _rounded,
}
