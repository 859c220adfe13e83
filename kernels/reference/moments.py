"""Count, mean and the sum of squared distances from the mean, in NumPy."""

from __future__ import annotations

import numpy as np

from oop.kernels.checks import Bools, Floats, Ints
from oop.kernels.reference.aggregates import as_counts


def add_moments(ids: Ints, values: Floats, valid: Bools | None, counts: Ints, means: Floats, m2: Floats) -> None:
    merge_moments(ids, as_counts(ids, valid), values, np.zeros(len(ids)), counts, means, m2)


def merge_moments(
    ids: Ints, counts_in: Ints, means_in: Floats, m2_in: Floats, counts: Ints, means: Floats, m2: Floats
) -> None:
    """Chan's rule for any number of partials at once; the state of a group is one more of them."""
    taken = np.flatnonzero(counts_in)
    ids, counts_in, means_in, m2_in = ids[taken], counts_in[taken], means_in[taken], m2_in[taken]
    groups, rows = np.unique(ids, return_inverse=True)
    held = groups[counts[groups] > 0]
    rows = np.concatenate([rows, np.searchsorted(groups, held)])
    parts = np.concatenate([counts_in, counts[held]]).astype(np.float64)
    centres = np.concatenate([means_in, means[held]])
    size = len(groups)
    totals = np.bincount(rows, parts, size)
    with np.errstate(invalid="ignore", over="ignore"):
        # Values are weighted before they are summed, so that large ones do not overflow; then rounding is corrected.
        mean = np.bincount(rows, centres * (parts / totals[rows]), size)
        mean += np.bincount(rows, (centres - mean[rows]) * (parts / totals[rows]), size)
        spread = np.bincount(rows, parts * (centres - mean[rows]) ** 2, size)
        within = np.bincount(rows, np.concatenate([m2_in, m2[held]]), size)
    means[groups] = mean
    m2[groups] = spread + within
    np.add.at(counts, ids, counts_in)
