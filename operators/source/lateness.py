"""Histograms of lateness, in buckets that grow with it. They count rows that the ledger no longer holds.

There are sixteen buckets for each power of two, so a lateness is known to a sixteenth of itself, whatever its unit, in
a few hundred numbers at most.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np

PARTS = 16
Buckets = Counter[int]


def count_buckets(late_by: np.ndarray) -> Buckets:
    """How many of these latenesses, which are all above 0, are in each bucket.

    >>> found = count_buckets(np.array([1.0, 1.0, 1000.0]))
    >>> [(*edges(i), n) for i, n in sorted(found.items())]
    [(1.0, 1.0625, 2), (992.0, 1024.0, 1)]
    """
    mantissas, exponents = np.frexp(np.minimum(late_by, np.finfo(np.float64).max))
    numbers = exponents * PARTS + ((mantissas - 0.5) * 2 * PARTS).astype(np.int64)
    found, counts = np.unique(numbers, return_counts=True)
    return Counter(dict(zip(found.tolist(), counts.tolist(), strict=True)))


def edges(number: int) -> tuple[float, float]:
    """The start of a bucket, and the start of the next one."""
    return _start(number), _start(number + 1)


def octaves(buckets: Buckets) -> Iterator[tuple[int, int]]:
    """The exponents n for which there are rows with a lateness from 2**n up to 2**(n + 1), and how many."""
    found: Counter[int] = Counter()
    for number, count in buckets.items():
        found[number // PARTS - 1] += count
    yield from sorted(found.items())


def _start(number: int) -> float:
    exponent, part = divmod(number, PARTS)
    return math.ldexp(0.5 + part / (2 * PARTS), exponent)
