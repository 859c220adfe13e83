"""Count, exact sum, least and greatest of integers in one row of words a group, in Numba."""

from __future__ import annotations

from oop.kernels.checks import Bools, Ints, check_array, check_ids, check_valid
from oop.kernels.jit_compiler import as_input, as_mask, compile_loop
from oop.kernels.jit_sums import beyond_error
from oop.kernels.reference_aggregates import (
    HIGH_LIMIT,
    LOW_BITS,
    STEP_ROWS,
    check_partial_counts,
    check_partial_states,
    check_partial_sums,
    check_state,
    check_summary_values,
)


def add_summary(ids: Ints, values: Ints, valid: Bools | None, state: Ints) -> None:
    """Keep count, sum, least and greatest; see `oop.kernels.reference_aggregates.add_summary`."""
    check_state(state)
    check_summary_values(values)
    check_array("values", values, values.dtype)
    check_ids(ids, len(state), len(values))
    check_valid(valid, len(ids))
    if _add_values(as_input(ids), as_input(values), as_mask(valid), state):
        raise beyond_error()


def merge_summary(ids: Ints, state_in: Ints, state: Ints) -> None:
    """Add summaries to summaries; see `oop.kernels.reference_aggregates.merge_summary`."""
    check_state(state)
    check_partial_states(state_in, len(ids))
    check_ids(ids, len(state))
    check_partial_counts(state_in[:, 0], len(ids))
    most = check_partial_sums(state_in[:, 1], state_in[:, 2], state_in[:, 0])
    step = min(STEP_ROWS, max(1, HIGH_LIMIT // most))
    if _merge_states(step, as_input(ids), as_input(state_in), state):
        raise beyond_error()


@compile_loop
def _add_values(ids: Ints, values: Ints, valid: Bools, state: Ints) -> bool:
    """Is a sum beyond its limit?"""
    begin, taken, far = 0, 0, False
    for i in range(len(ids)):
        if len(valid) and not valid[i]:
            continue
        value = values[i]
        far |= _add_part(state, ids[i], 1, value >> 32, value & LOW_BITS, value, value)
        taken += 1
        if taken == STEP_ROWS:
            if far and _find_beyond(ids, begin, i + 1, state):
                return True
            begin, taken, far = i + 1, 0, False
    return far and _find_beyond(ids, begin, len(ids), state)


@compile_loop
def _merge_states(step: int, ids: Ints, state_in: Ints, state: Ints) -> bool:
    """Is a sum beyond its limit?"""
    begin, taken, far = 0, 0, False
    for i in range(len(ids)):
        more = state_in[i, 0]
        if not more:
            continue
        far |= _add_part(state, ids[i], more, state_in[i, 1], state_in[i, 2], state_in[i, 3], state_in[i, 4])
        taken += 1
        if taken == step:
            if far and _find_beyond(ids, begin, i + 1, state):
                return True
            begin, taken, far = i + 1, 0, False
    return far and _find_beyond(ids, begin, len(ids), state)


@compile_loop
def _add_part(state: Ints, group: int, more: int, high: int, low: int, least: int, greatest: int) -> bool:
    """Is the group's sum beyond its limit now?"""
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
def _find_beyond(ids: Ints, begin: int, end: int, state: Ints) -> bool:
    """Is a sum of these rows still beyond its limit? Later rows may have brought it back."""
    far = False
    for i in range(begin, end):
        high = state[ids[i], 1]
        far |= high > HIGH_LIMIT or high < -HIGH_LIMIT
    return far
