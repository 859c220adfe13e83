"""How late rows were, by buckets that grow with the lateness: what is left of rows that the ledger has given away.

Sixteen buckets to a power of two: a lateness is known to a sixteenth of itself, whatever its unit, in a few hundred
numbers at most.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np

PARTS = 16
Buckets = Counter[int]


def count_buckets(late_by: np.ndarray) -> Buckets:
    """How many of these are in each bucket; all are above 0.

    >>> found = count_buckets(np.array([1.0, 1.0, 1000.0]))
    >>> [(*edges(i), n) for i, n in sorted(found.items())]
    [(1.0, 1.0625, 2), (992.0, 1024.0, 1)]
    """
    mantissas, exponents = np.frexp(np.minimum(late_by, np.finfo(np.float64).max))
    numbers = exponents * PARTS + ((mantissas - 0.5) * 2 * PARTS).astype(np.int64)
    found, counts = np.unique(numbers, return_counts=True)
    return Counter(dict(zip(found.tolist(), counts.tolist(), strict=True)))


def edges(number: int) -> tuple[float, float]:
    """Where a bucket begins, and where the next does."""
    return _start(number), _start(number + 1)


def octaves(buckets: Buckets) -> Iterator[tuple[int, int]]:
    """The powers of two from which on there are rows, up to twice as much, and how many."""
    found: Counter[int] = Counter()
    for number, count in buckets.items():
        found[number // PARTS - 1] += count
    yield from sorted(found.items())


def _start(number: int) -> float:
    exponent, part = divmod(number, PARTS)
    return math.ldexp(0.5 + part / (2 * PARTS), exponent)
