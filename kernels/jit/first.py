"""The value of one column at the least or the greatest value of another, in Numba."""

from __future__ import annotations

from oop.kernels.checks import Bools, Ints
from oop.kernels.jit.compiler import as_input, as_mask, compile_loop
from oop.kernels.signatures.first import BY, HELD, NOTHING, NULL_HELD, VALUE, VALUE_HELD


def take_first(ids: Ints, by: Ints, known: Bools | None, values: Ints, valid: Bools | None, state: Ints) -> None:
    _take(False, as_input(ids), as_input(by), as_mask(known), as_input(values), as_mask(valid), state)


def take_last(ids: Ints, by: Ints, known: Bools | None, values: Ints, valid: Bools | None, state: Ints) -> None:
    _take(True, as_input(ids), as_input(by), as_mask(known), as_input(values), as_mask(valid), state)


def merge_first(ids: Ints, state_in: Ints, state: Ints) -> None:
    _merge(False, as_input(ids), as_input(state_in), state)


def merge_last(ids: Ints, state_in: Ints, state: Ints) -> None:
    _merge(True, as_input(ids), as_input(state_in), state)


@compile_loop
def _comes(most: bool, kind: int, by: int, value: int, held: Ints) -> bool:
    """Does this replace what is held?"""
    if held[HELD] == NOTHING:
        return True
    if by != held[BY]:
        return bool((by > held[BY]) == most)
    if kind != held[HELD]:
        return bool(kind > held[HELD])
    return bool(value > held[VALUE] if most else value < held[VALUE])


@compile_loop
def _take(most: bool, ids: Ints, by: Ints, known: Bools, values: Ints, valid: Bools, state: Ints) -> None:
    for i in range(len(ids)):
        if len(known) and not known[i]:
            continue
        held = state[ids[i]]
        kind = NULL_HELD if len(valid) and not valid[i] else VALUE_HELD
        value = values[i] if kind == VALUE_HELD else 0
        if _comes(most, kind, by[i], value, held):
            held[HELD], held[BY], held[VALUE] = kind, by[i], value


@compile_loop
def _merge(most: bool, ids: Ints, state_in: Ints, state: Ints) -> None:
    for i in range(len(ids)):
        part, held = state_in[i], state[ids[i]]
        if part[HELD] != NOTHING and _comes(most, part[HELD], part[BY], part[VALUE], held):
            held[HELD], held[BY], held[VALUE] = part[HELD], part[BY], part[VALUE]
