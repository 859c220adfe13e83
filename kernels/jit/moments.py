"""Count, mean and sum of squared distances from the mean, in Numba.

Chan's rule is applied to all rows of a group at once, as in the reference: Welford's, row by row, would lose digits
where the mean is large and the spread small.
"""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import Bools, Floats, Ints
from oop.kernels.jit.compiler import NO_MASK, NO_ROWS, as_input, as_mask, compile_loop

NO_FLOATS = as_input(np.zeros(0))


def add_moments(ids: Ints, values: Floats, valid: Bools | None, counts: Ints, means: Floats, m2: Floats) -> None:
    _merge(as_input(ids), as_mask(valid), NO_ROWS, as_input(values), NO_FLOATS, counts, means, m2)


def merge_moments(
    ids: Ints, counts_in: Ints, means_in: Floats, m2_in: Floats, counts: Ints, means: Floats, m2: Floats
) -> None:
    _merge(as_input(ids), NO_MASK, as_input(counts_in), as_input(means_in), as_input(m2_in), counts, means, m2)


def _merge(
    ids: Ints,
    valid: Bools,
    counts_in: Ints,
    centres: Floats,
    m2_in: Floats,
    counts: Ints,
    means: Floats,
    m2: Floats,
) -> None:
    # Not cleared, so that the cost of a call depends on its rows, not on the number of groups: see `_number_groups`.
    scratch = np.empty(len(counts), np.int64)
    groups, rows = np.empty(len(ids), np.int64), np.empty(len(ids), np.int64)
    size = _number_groups(ids, valid, counts_in, scratch, groups, rows)
    _fold_moments(rows, counts_in, centres, m2_in, groups[:size], counts, means, m2)


@compile_loop
def _number_groups(ids: Ints, valid: Bools, counts_in: Ints, scratch: Ints, groups: Ints, rows: Ints) -> int:
    """Number the groups that occur: `groups[rows[i]]` is that of row i, and -1 stands for a row that holds nothing.

    What `scratch` says of a group is believed only if `groups` agrees, so it need not be initialized.
    """
    size = 0
    for i in range(len(ids)):
        if (len(valid) and not valid[i]) or (len(counts_in) and not counts_in[i]):
            rows[i] = -1
            continue
        group = ids[i]
        place = scratch[group]
        if not (0 <= place < size and groups[place] == group):
            place = size
            scratch[group] = place
            groups[place] = group
            size += 1
        rows[i] = place
    return size


@compile_loop
def _fold_moments(
    rows: Ints,
    counts_in: Ints,
    centres: Floats,
    m2_in: Floats,
    groups: Ints,
    counts: Ints,
    means: Floats,
    m2: Floats,
) -> None:
    size = len(groups)
    taken, totals = np.zeros(size, np.int64), np.empty(size)
    mean, off, spread, within = np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size)
    for i in range(len(rows)):
        if rows[i] >= 0:
            taken[rows[i]] += counts_in[i] if len(counts_in) else 1
    for g in range(size):
        totals[g] = float(taken[g] + counts[groups[g]])
    # Values are weighted before they are summed, so that large ones do not overflow.
    for i in range(len(rows)):
        g = rows[i]
        if g >= 0:
            mean[g] += centres[i] * ((counts_in[i] if len(counts_in) else 1.0) / totals[g])
    for g in range(size):
        held = counts[groups[g]]
        if held > 0:
            mean[g] += means[groups[g]] * (held / totals[g])
    # Then the rounding is corrected.
    for i in range(len(rows)):
        g = rows[i]
        if g >= 0:
            off[g] += (centres[i] - mean[g]) * ((counts_in[i] if len(counts_in) else 1.0) / totals[g])
    for g in range(size):
        held = counts[groups[g]]
        if held > 0:
            off[g] += (means[groups[g]] - mean[g]) * (held / totals[g])
        mean[g] += off[g]
    for i in range(len(rows)):
        g = rows[i]
        if g >= 0:
            distance = centres[i] - mean[g]
            spread[g] += (counts_in[i] if len(counts_in) else 1.0) * (distance * distance)
            if len(m2_in):
                within[g] += m2_in[i]
    for g in range(size):
        group = groups[g]
        if counts[group] > 0:
            distance = means[group] - mean[g]
            spread[g] += counts[group] * (distance * distance)
            within[g] += m2[group]
        means[group] = mean[g]
        m2[group] = spread[g] + within[g]
        counts[group] += taken[g]
