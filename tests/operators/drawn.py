"""What laws over drawn cases share: a case for each seed, and what is drawn in several of them."""

from __future__ import annotations

import random
from collections.abc import Callable

import pyarrow as pa

from oop.operators.core import time_slices


def each(seeds: range, case: Callable[[random.Random, int], None]) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        time_slices.SPREAD = rng.choice([2, 8, 64])  # slices of one time and long ones, in streams this short
        try:
            case(rng, seed)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
        finally:
            time_slices.SPREAD = 64


def above(value):
    """A value as it compares: null is greater than all others."""
    return (value is None, 0 if value is None else value)


def by_values(row, names):
    return tuple(above(row[n]) for n in names)


def some_threads(rng: random.Random) -> int:
    return rng.choice([1, 1, 2, 3])


def span_in(within, time):
    """As a user writes so many units of a time column."""
    if pa.types.is_timestamp(time):
        return f"{within}{time.unit}"
    return f"{within}d" if pa.types.is_date(time) else within
