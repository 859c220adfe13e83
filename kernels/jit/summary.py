"""Count, exact sum, least and greatest of integers together, in Numba."""

from __future__ import annotations

from oop.kernels.checks import Bools, Ints
from oop.kernels.jit.compiler import as_input, as_mask, compile_loop
from oop.kernels.signatures.sums import HIGH_LIMIT, LOW_BITS, STEP_ROWS, beyond_error, in_steps


def add_summary(ids: Ints, values: Ints, valid: Bools | None, state: Ints) -> None:
    for some, added, present in in_steps(STEP_ROWS, (ids, values, valid)):
        if _add_values(as_input(some), as_input(added), as_mask(present), state):
            raise beyond_error()


def merge_summary(ids: Ints, state_in: Ints, state: Ints, step: int) -> None:
    for some in in_steps(step, (ids, state_in), counts_in=state_in[:, 0]):
        if _merge_states(*map(as_input, some), state):
            raise beyond_error()


@compile_loop
def _add_values(ids: Ints, values: Ints, valid: Bools, state: Ints) -> bool:
    """Add values; is a sum beyond its limit now?"""
    far = False
    for i in range(len(ids)):
        if len(valid) and not valid[i]:
            continue
        value = values[i]
        far |= _add_part(state, ids[i], 1, value >> 32, value & LOW_BITS, value, value)
    return far and _find_beyond(ids, state)


@compile_loop
def _merge_states(ids: Ints, state_in: Ints, state: Ints) -> bool:
    """Add partials; is a sum beyond its limit now?"""
    far = False
    for i in range(len(ids)):
        more = state_in[i, 0]
        if more:
            far |= _add_part(state, ids[i], more, state_in[i, 1], state_in[i, 2], state_in[i, 3], state_in[i, 4])
    return far and _find_beyond(ids, state)


@compile_loop
def _add_part(state: Ints, group: int, more: int, high: int, low: int, least: int, greatest: int) -> bool:
    """Add a partial to a group; is the group's sum beyond its limit now?"""
    fresh = state[group, 0] == 0
    low += state[group, 2]
    high += state[group, 1] + (low >> 32)
    state[group, 0] += more
    state[group, 1] = high
    state[group, 2] = low & LOW_BITS
    state[group, 3] = least if fresh or least < state[group, 3] else state[group, 3]
    state[group, 4] = greatest if fresh or greatest > state[group, 4] else state[group, 4]
    return high > HIGH_LIMIT or high < -HIGH_LIMIT


@compile_loop
def _find_beyond(ids: Ints, state: Ints) -> bool:
    """Is a sum of these rows still beyond its limit? Later rows may have brought it back."""
    far = False
    for i in range(len(ids)):
        high = state[ids[i], 1]
        far |= high > HIGH_LIMIT or high < -HIGH_LIMIT
    return far
