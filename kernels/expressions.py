"""The steps of expressions in NumPy: what they mean for the other implementations.

Whole numbers are computed in 64 bits, and the result must be within the range of its type. What is outside of it, and a
division by zero, makes the chunk odd. What lies under a null counts for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from oop.kernels.checks import INT64_MIN, Array, Bools
from oop.kernels.steps import Op, Step


class Odd(Exception):
    """The chunk is for the caller to take another way."""


class Register(NamedTuple):
    """A column of the rows that are left. ``valid`` is None where no value is null."""

    data: Array
    valid: Bools | None

    def first(self, rows: int) -> Register:
        """The first rows of it, which matters for constants."""
        if len(self.data) <= rows:
            return self
        return Register(self.data[:rows], None if self.valid is None else self.valid[:rows])

    def take(self, rows: Array) -> Register:
        """The rows with these numbers."""
        return Register(self.data[rows], None if self.valid is None else self.valid[rows])


Computing: TypeAlias = Callable[[Step, Register, Register, Register], Register]


def _both(a: Register, b: Register) -> Bools | None:
    if a.valid is None or b.valid is None:
        return b.valid if a.valid is None else a.valid
    return a.valid & b.valid


def _whole(compute: Callable[[Array, Array], tuple[Array, Array | bool]], operands: int) -> Computing:
    """A step on whole numbers. The function gives the results, wrapped, and where they are wrong for certain."""

    def step(what: Step, a: Register, b: Register, c: Register) -> Register:
        valid = _both(a, b) if operands == 2 else a.valid
        with np.errstate(all="ignore"):
            values, wrong = compute(a.data, b.data)
        low, high = what.numbers
        wrong = wrong | (values < low) | (values > high)
        if (wrong if valid is None else wrong & valid).any():
            raise Odd
        return Register(values, valid)

    return step


def _add(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    return total, ((a ^ total) & (b ^ total)) < 0


def _subtract(a: Array, b: Array) -> tuple[Array, Array]:
    rest = a - b
    return rest, ((a ^ b) & (a ^ rest)) < 0


def _multiply(a: Array, b: Array) -> tuple[Array, Array]:
    product = a * b
    divisor = np.where(a == 0, 1, a)
    wraps = (product // divisor != np.where(a == 0, 0, b)) | ((a == -1) & (b == INT64_MIN))
    return product, wraps


def _floor_divide(a: Array, b: Array) -> tuple[Array, Array]:
    wrong = (b == 0) | ((b == -1) & (a == INT64_MIN))
    return np.where(wrong, 0, a // np.where(wrong, 1, b)), wrong


def _mod(a: Array, b: Array) -> tuple[Array, Array]:
    wrong = b == 0
    return np.where(b == -1, 0, np.mod(a, np.where(wrong | (b == -1), 1, b))), wrong


def _floats(compute: Callable[[Array, Array], Array], operands: int = 2) -> Computing:
    def step(what: Step, a: Register, b: Register, c: Register) -> Register:
        with np.errstate(all="ignore"):
            return Register(compute(a.data, b.data), _both(a, b) if operands == 2 else a.valid)

    return step


def _divide(what: Step, a: Register, b: Register, c: Register) -> Register:
    valid, wrong = _both(a, b), b.data == 0
    if (wrong if valid is None else wrong & valid).any():
        raise Odd
    with np.errstate(all="ignore"):
        return Register(a.data / b.data, valid)


def _compared(compare: Callable[[Array, Array], Bools]) -> Computing:
    return lambda what, a, b, c: Register(compare(a.data, b.data), _both(a, b))


def _logic(what: Step, a: Register, b: Register, c: Register) -> Register:
    """Kleene's: false and null is false, true or null is true."""
    p, q = a.data != 0, b.data != 0
    values = p | q if what.op is Op.OR else p & q
    if a.valid is None and b.valid is None:
        return Register(values, None)
    there = [np.ones(len(p), np.bool_) if r.valid is None else r.valid for r in (a, b)]
    decides = what.op is Op.OR
    decided = (there[0] & (p == decides)) | (there[1] & (q == decides))
    return Register(np.where(decided, decides, values), (there[0] & there[1]) | decided)


def _is_null(what: Step, a: Register, b: Register, c: Register) -> Register:
    there = np.ones(len(a.data), np.bool_) if a.valid is None else a.valid
    return Register(there if what.op is Op.IS_VALID else ~there, None)


def _extreme(choose: Callable[[Array, Array], Array]) -> Computing:
    return lambda what, a, b, c: Register(choose(a.data, b.data), _both(a, b))


def _float_extreme(choose: Callable[[Array, Array], Array]) -> Computing:
    """Null if one of the two is, unless the other is NaN."""

    def step(what: Step, a: Register, b: Register, c: Register) -> Register:
        values, valid = choose(a.data, b.data), _both(a, b)
        if valid is None:
            return Register(values, None)
        nan = [(r.data != r.data) if r.valid is None else (r.data != r.data) & r.valid for r in (a, b)]
        return Register(np.where(nan[0] | nan[1], np.nan, values), valid | nan[0] | nan[1])

    return step


def _if_else(what: Step, a: Register, b: Register, c: Register) -> Register:
    when = a.data != 0
    values = np.where(when, b.data, c.data)
    if a.valid is None and b.valid is None and c.valid is None:
        return Register(values, None)
    ones = np.ones(len(when), np.bool_)
    chosen = np.where(when, ones if b.valid is None else b.valid, ones if c.valid is None else c.valid)
    return Register(values, chosen if a.valid is None else chosen & a.valid)


def _fill_null(what: Step, a: Register, b: Register, c: Register) -> Register:
    if a.valid is None:
        return a
    valid = None if b.valid is None else a.valid | b.valid
    return Register(np.where(a.valid, a.data, b.data), valid)


COMPUTED: dict[Op, Computing] = {
    Op.ADD: _whole(_add, 2),
    Op.SUBTRACT: _whole(_subtract, 2),
    Op.MULTIPLY: _whole(_multiply, 2),
    Op.FLOOR_DIVIDE: _whole(_floor_divide, 2),
    Op.MOD: _whole(_mod, 2),
    Op.NEGATE: _whole(lambda a, b: (-a, a == INT64_MIN), 1),
    Op.ABS: _whole(lambda a, b: (np.abs(a), a == INT64_MIN), 1),
    Op.CHECK: _whole(lambda a, b: (a, False), 1),
    Op.ADD_FLOAT: _floats(np.add),
    Op.SUBTRACT_FLOAT: _floats(np.subtract),
    Op.MULTIPLY_FLOAT: _floats(np.multiply),
    Op.DIVIDE_FLOAT: _floats(np.divide),
    Op.NEGATE_FLOAT: _floats(lambda a, b: -a, 1),
    Op.ABS_FLOAT: _floats(lambda a, b: np.abs(a), 1),
    Op.DIVIDE: _divide,
    Op.TO_FLOAT: _floats(lambda a, b: a.astype(np.float64), 1),
    Op.TO_FLOAT32: _floats(lambda a, b: a.astype(np.float32).astype(np.float64), 1),
    Op.LESS: _compared(np.less),
    Op.LESS_EQUAL: _compared(np.less_equal),
    Op.EQUAL: _compared(np.equal),
    Op.NOT_EQUAL: _compared(np.not_equal),
    Op.LESS_FLOAT: _compared(np.less),
    Op.LESS_EQUAL_FLOAT: _compared(np.less_equal),
    Op.EQUAL_FLOAT: _compared(np.equal),
    Op.NOT_EQUAL_FLOAT: _compared(np.not_equal),
    Op.AND: _logic,
    Op.OR: _logic,
    Op.NOT: lambda what, a, b, c: Register(a.data == 0, a.valid),
    Op.IS_NULL: _is_null,
    Op.IS_VALID: _is_null,
    Op.IS_NAN: lambda what, a, b, c: Register(a.data != a.data, a.valid),
    Op.LEAST: _extreme(np.minimum),
    Op.GREATEST: _extreme(np.maximum),
    Op.LEAST_FLOAT: _float_extreme(np.minimum),
    Op.GREATEST_FLOAT: _float_extreme(np.maximum),
    Op.IF_ELSE: _if_else,
    Op.FILL_NULL: _fill_null,
}
