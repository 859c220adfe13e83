"""The value at the least or the greatest of something else, in NumPy: first and last by time.

A group has a row of three words: what it holds (nothing, a null, a value), by what, and the value. Both are int64:
`oop.operators.core.words` turns other numbers into integers of the same order.
"""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import Bools, Ints, KernelError, check_array, check_ids, check_valid
from oop.kernels.reference_aggregates import check_partial_states, check_state

FIRST_WORDS = 3
HELD, BY, VALUE = range(FIRST_WORDS)
NOTHING, NULL_HELD, VALUE_HELD = range(3)


def take_first(ids: Ints, by: Ints, known: Bools | None, values: Ints, valid: Bools | None, state: Ints) -> None:
    """Keep the value with the least `by`; in a tie the least, and a null only if there is no value.

    Rows whose `by` is not known are passed over.

    >>> state = np.zeros((1, 3), np.int64)
    >>> take_first(np.array([0, 0, 0]), np.array([7, 4, 4]), None, np.array([1, 9, 8]), None, state); state.tolist()
    [[2, 4, 8]]
    """
    _take(False, ids, by, known, values, valid, state)


def take_last(ids: Ints, by: Ints, known: Bools | None, values: Ints, valid: Bools | None, state: Ints) -> None:
    """Keep the value with the greatest `by`; in a tie the greatest, and a null only if there is no value.

    >>> state = np.zeros((1, 3), np.int64)
    >>> take_last(np.array([0, 0]), np.array([4, 7]), None, np.array([1, 9]), np.array([True, False]), state)
    >>> state.tolist()
    [[1, 7, 0]]
    """
    _take(True, ids, by, known, values, valid, state)


def merge_first(ids: Ints, state_in: Ints, state: Ints) -> None:
    """The first of first values."""
    check_firsts(ids, state_in, state)
    _keep(False, ids, state_in, state)


def merge_last(ids: Ints, state_in: Ints, state: Ints) -> None:
    """The last of last values."""
    check_firsts(ids, state_in, state)
    _keep(True, ids, state_in, state)


def _take(most: bool, ids: Ints, by: Ints, known: Bools | None, values: Ints, valid: Bools | None, state: Ints) -> None:
    check_first_rows(ids, by, known, values, valid, state)
    there = np.ones(len(ids), np.bool_) if valid is None else valid
    rows = np.column_stack([np.where(there, VALUE_HELD, NULL_HELD), by, np.where(there, values, 0)])
    _keep(most, ids, rows if known is None else np.where(known[:, None], rows, NOTHING), state)


def _keep(most: bool, ids: Ints, rows: Ints, state: Ints) -> None:
    """What is there already is one more row of its group."""
    touched = np.unique(ids)
    ids, rows = np.concatenate([touched, ids]), np.concatenate([state[touched], rows])
    held = rows[:, HELD] > NOTHING
    ids, rows = ids[held], rows[held]
    by, value = (~rows[:, BY], ~rows[:, VALUE]) if most else (rows[:, BY], rows[:, VALUE])
    order = np.lexsort((value, -rows[:, HELD], by, ids))
    groups, firsts = np.unique(ids[order], return_index=True)
    state[groups] = rows[order[firsts]]


def check_first_rows(ids: Ints, by: Ints, known: Bools | None, values: Ints, valid: Bools | None, state: Ints) -> None:
    """The rows of an update fit together and to their groups."""
    check_state(state, FIRST_WORDS)
    check_ids(ids, len(state))
    check_array("by", by, np.int64, len(ids))
    check_array("values", values, np.int64, len(ids))
    check_valid(known, len(ids))
    check_valid(valid, len(ids))


def check_firsts(ids: Ints, state_in: Ints, state: Ints) -> None:
    """The partial results of a merge are such, and fit to their groups."""
    check_state(state, FIRST_WORDS)
    check_ids(ids, len(state))
    check_partial_states(state_in, len(ids), FIRST_WORDS)
    held = state_in[:, HELD]
    if len(held) and not NOTHING <= held.min() <= held.max() <= VALUE_HELD:
        raise KernelError(f"partials hold nothing, a null or a value: {NOTHING} to {VALUE_HELD}")
