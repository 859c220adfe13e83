"""The laws in oop/testing/laws.py for operators whose rows wait for a promise: sort and number."""

from __future__ import annotations

import pyarrow as pa

import oop
from oop.testing import Harness, check_operator
from tests.operators import fuzz
from tests.operators.drawn import by_values, each
from tests.operators.fuzz import TIMES


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
    """A rank does not depend on the order of arrival."""

    def case(rng, seed):
        time = TIMES[rng.choice(list(TIMES))]
        inputs = [fuzz.random_stream(rng, time) for _ in range(rng.choice([1, 2]))]
        names = fuzz.schema_of(time).names
        rows = [r for i in inputs for r in fuzz.typed(fuzz.on_time(i), fuzz.schema_of(time))]
        rows.sort(key=lambda r: by_values(r, names))
        unique = {by_values(r, names): r for r in rows}
        ranked = [{**r, "rank": n} for n, r in enumerate(unique.values())]

        def pipeline(*streams):
            # deduplicated rows have no number of a source any more: their values decide
            return oop.union(*streams).dedup().number("rank")

        check_operator(pipeline, *inputs, seed=seed, expected=ranked)

    each(seeds, case)
