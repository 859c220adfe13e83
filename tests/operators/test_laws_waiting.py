"""The laws of DESIGN section 8 for operators whose rows wait for a promise: sort, number, dedup."""

from __future__ import annotations

import random
from collections.abc import Callable

import pyarrow as pa
import pytest

import oop
from oop.operators import time_slices
from oop.testing import Harness, check_operator
from tests.operators import fuzz
from tests.operators.fuzz import CASES, TIMES

PIECES = 5


@pytest.fixture(params=range(PIECES))
def seeds(request: pytest.FixtureRequest) -> range:
    piece = request.param
    return range(piece * CASES // PIECES, (piece + 1) * CASES // PIECES)


def each(seeds: range, case: Callable[[random.Random, int], None]) -> None:
    for seed in seeds:
        rng = random.Random(seed)
        time_slices.SPREAD = rng.choice([2, 64])  # slices of one time and long ones, in streams this short
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


def played(pipeline, elements, policy=None) -> list:
    """What comes out in order, one element after the other."""
    harness = Harness(pipeline, _schema(elements), punctuate=policy)
    harness.feed(*elements)
    harness.end()
    return harness.out()


def _schema(elements):
    return next(e.schema for e in elements if isinstance(e, pa.RecordBatch))


def test_sort(seeds):
    def case(rng, seed):
        time = TIMES[rng.choice(list(TIMES))]
        elements = fuzz.random_stream(rng, time)
        ties = rng.choice([(), ("v",), ("link", "k")])
        rows = fuzz.typed(fuzz.on_time(elements), fuzz.schema_of(time))
        check_operator(lambda s: s.sort(*ties), elements, seed=seed, expected=rows)
        out = [
            r for e in played(lambda s: s.sort(*ties), elements) if isinstance(e, pa.RecordBatch) for r in e.to_pylist()
        ]
        assert [by_values(r, ("ts", *ties)) for r in out] == sorted(by_values(r, ("ts", *ties)) for r in rows)
        if not ties:  # then as they came
            assert out == sorted(rows, key=lambda r: r["ts"])

    each(seeds, case)


def test_number(seeds):
    """A rank does not depend on the order of arrival; turned round it carries no promise, which depends on rows."""

    def case(rng, seed):
        time = TIMES[rng.choice(list(TIMES))]
        inputs = [fuzz.random_stream(rng, time) for _ in range(rng.choice([1, 2]))]
        names = fuzz.schema_of(time).names
        rows = [r for i in inputs for r in fuzz.typed(fuzz.on_time(i), fuzz.schema_of(time))]
        rows.sort(key=lambda r: by_values(r, names))
        ranked = [{**r, "rank": -n} for n, r in enumerate(rows)]

        def pipeline(*streams):
            return oop.union(*streams).number().select(*names, rank=-oop.col("__seq"))

        check_operator(pipeline, *inputs, seed=seed, expected=ranked)

    each(seeds, case)
