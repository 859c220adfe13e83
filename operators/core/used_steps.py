"""Which steps of a program matter: those that do something, and those whose registers they read."""

from __future__ import annotations

from collections.abc import Sequence

from oop.kernels.steps import Op, Step

_CHECKED = frozenset(
    (Op.ADD, Op.SUBTRACT, Op.MULTIPLY, Op.FLOOR_DIVIDE, Op.MOD, Op.NEGATE, Op.ABS, Op.CHECK, Op.DIVIDE, Op.WINDOW)
)
"""Steps that may refuse a value, so that they are needed even if nobody uses their result."""
_DOING = frozenset((Op.GUARD, Op.FILTER, Op.MARK, Op.LIMIT, Op.ASCEND)) | _CHECKED
_ONE = frozenset((
    Op.GUARD, Op.FILTER, Op.COMPACT, Op.WINDOW, Op.LIMIT, Op.ASCEND, Op.NEGATE, Op.ABS, Op.CHECK, Op.NEGATE_FLOAT,
    Op.ABS_FLOAT, Op.TO_FLOAT, Op.TO_FLOAT32, Op.NOT, Op.IS_NULL, Op.IS_VALID, Op.IS_NAN, Op.TEXT_EQUAL,
    Op.TEXT_THERE,
))  # fmt: skip
"""Steps that read one register."""


def _registers_read(step: Step) -> tuple[int, ...]:
    """The registers that a step reads."""
    if step.op in (Op.LOAD, Op.MARK):
        return ()
    if step.op in _ONE:
        return (step.a,)
    if step.op is Op.SHARD:
        return tuple(range(step.a, step.a + step.c))
    return (step.a, step.b, step.c) if step.op is Op.IF_ELSE else (step.a, step.b)


def used_steps(steps: Sequence[Step], used: set[int]) -> list[Step]:
    """The steps that do something or fill a register that is used; ``used`` gets the registers that they read."""
    found = []
    for step in reversed(steps):
        if step.op in _DOING or step.out in used:
            found.append(step)
            used.update(_registers_read(step))
    return found[::-1]
