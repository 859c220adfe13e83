"""The value of one column at the least or the greatest value of another, in NumPy."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import Bools, Ints
from oop.kernels.signatures.first import BY, HELD, NOTHING, NULL_HELD, VALUE, VALUE_HELD


def take_first(ids: Ints, by: Ints, known: Bools | None, values: Ints, valid: Bools | None, state: Ints) -> None:
    _keep(False, ids, _as_partials(by, known, values, valid), state)


def take_last(ids: Ints, by: Ints, known: Bools | None, values: Ints, valid: Bools | None, state: Ints) -> None:
    _keep(True, ids, _as_partials(by, known, values, valid), state)


def merge_first(ids: Ints, state_in: Ints, state: Ints) -> None:
    _keep(False, ids, state_in, state)


def merge_last(ids: Ints, state_in: Ints, state: Ints) -> None:
    _keep(True, ids, state_in, state)


def _as_partials(by: Ints, known: Bools | None, values: Ints, valid: Bools | None) -> Ints:
    """Each row as the state of a group that has taken only this row."""
    there = np.ones(len(by), np.bool_) if valid is None else valid
    rows = np.column_stack([np.where(there, VALUE_HELD, NULL_HELD), by, np.where(there, values, 0)])
    return rows if known is None else np.where(known[:, None], rows, NOTHING)


def _keep(most: bool, ids: Ints, rows: Ints, state: Ints) -> None:
    """Keep the first row of each group, or the last (`most`). The state of a group is one more row of it."""
    touched = np.unique(ids)
    ids, rows = np.concatenate([touched, ids]), np.concatenate([state[touched], rows])
    held = rows[:, HELD] > NOTHING
    ids, rows = ids[held], rows[held]
    by, value = (~rows[:, BY], ~rows[:, VALUE]) if most else (rows[:, BY], rows[:, VALUE])
    order = np.lexsort((value, -rows[:, HELD], by, ids))
    groups, firsts = np.unique(ids[order], return_index=True)
    state[groups] = rows[order[firsts]]
