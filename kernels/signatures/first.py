"""The value of one column at the least or the greatest value of another, `by`: first and last by time, say.

A group has a row of three words: what it holds (nothing, a null or a value), its `by`, and the value. The latter two
are int64: `oop.operators.core.words` turns other numbers into integers of the same order.
"""

from __future__ import annotations

from oop.kernels.checks import INT64, Bools, Ints, KernelError, check_array, check_ids, check_valid
from oop.kernels.signatures.stem import Stem
from oop.kernels.signatures.summary import check_partial_states, check_state

FIRST_WORDS = 3
HELD, BY, VALUE = range(FIRST_WORDS)
NOTHING, NULL_HELD, VALUE_HELD = range(3)


class FirstKernels(Stem):
    def take_first(
        self, ids: Ints, by: Ints, known: Bools | None, values: Ints, valid: Bools | None, state: Ints
    ) -> None:
        """Keep the value with the least `by`; in a tie the least, and a null only if there is no value.

        Rows whose `by` is not known are passed over.

        >>> import numpy as np
        >>> from oop.kernels.dispatch import kernels
        >>> state, ids = np.zeros((1, 3), np.int64), np.array([0, 0, 0])
        >>> kernels("reference").take_first(ids, np.array([7, 4, 4]), None, np.array([1, 9, 8]), None, state)
        >>> state.tolist()
        [[2, 4, 8]]
        """
        _check_rows(ids, by, known, values, valid, state)
        self.run.take_first(ids, by, known, values, valid, state)

    def take_last(
        self, ids: Ints, by: Ints, known: Bools | None, values: Ints, valid: Bools | None, state: Ints
    ) -> None:
        """Keep the value with the greatest `by`; in a tie the greatest, and a null only if there is no value.

        >>> import numpy as np
        >>> from oop.kernels.dispatch import kernels
        >>> state, valid = np.zeros((1, 3), np.int64), np.array([True, False])
        >>> kernels("reference").take_last(np.array([0, 0]), np.array([4, 7]), None, np.array([1, 9]), valid, state)
        >>> state.tolist()
        [[1, 7, 0]]
        """
        _check_rows(ids, by, known, values, valid, state)
        self.run.take_last(ids, by, known, values, valid, state)

    def merge_first(self, ids: Ints, state_in: Ints, state: Ints) -> None:
        """The first of first values."""
        _check_partials(ids, state_in, state)
        self.run.merge_first(ids, state_in, state)

    def merge_last(self, ids: Ints, state_in: Ints, state: Ints) -> None:
        """The last of last values."""
        _check_partials(ids, state_in, state)
        self.run.merge_last(ids, state_in, state)


def _check_rows(ids: Ints, by: Ints, known: Bools | None, values: Ints, valid: Bools | None, state: Ints) -> None:
    """Check that the rows of an update fit together and to their groups."""
    check_state(state, FIRST_WORDS)
    check_ids(ids, len(state))
    check_array("by", by, INT64, len(ids))
    check_array("values", values, INT64, len(ids))
    check_valid(known, len(ids), "known")
    check_valid(valid, len(ids))


def _check_partials(ids: Ints, state_in: Ints, state: Ints) -> None:
    """Check that the partial results of a merge are states, and fit to their groups."""
    check_state(state, FIRST_WORDS)
    check_ids(ids, len(state))
    check_partial_states(state_in, len(ids), FIRST_WORDS)
    held = state_in[:, HELD]
    if len(held) and not NOTHING <= held.min() <= held.max() <= VALUE_HELD:
        raise KernelError(f"partials hold nothing, a null or a value: {NOTHING} to {VALUE_HELD}")
