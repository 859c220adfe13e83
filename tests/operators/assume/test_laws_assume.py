"""The laws for promises that a policy makes in the middle of a plan: rows are cut into any batches, not permuted."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.testing import Harness, bag, check_operator
from tests.operators import fuzz
from tests.operators.fuzz import CASES, TIMES
from tests.operators.test_laws import each, some_time

GROUPS: list[dict[str, Any]] = [
    {},
    {},
    {"by": "link"},
    {"by": "k"},
    {"by": ["link", "k"]},
    {"by": ["link", "k"], "idle": 9},
    {"by": "link", "groups": ["A", "B", None]},
    {"by": "link", "idle": 9},
]


def some_policy(rng: random.Random) -> oop.punctuation.Policy:
    groups = rng.choice(GROUPS)
    every = rng.choice([None, None, 5])
    return rng.choice(
        [
            oop.ordered(every, **groups),
            oop.slack(rng.choice([0, 1, 3, 8]), every, **groups),
            oop.slack(rows=rng.choice([0, 1, 3]), every=every, **groups),
        ]
    )


def rows_alone(rng: random.Random, time: pa.DataType) -> list[pa.RecordBatch]:
    return [e for e in fuzz.random_stream(rng, time) if isinstance(e, pa.RecordBatch)]


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_rows_as_at_a_source(threads):
    def case(rng, seed):
        policy, time = some_policy(rng), some_time(rng)
        batches = rows_alone(rng, time)
        schema = fuzz.schema_of(time)
        guarded = oop.source(batches, time="ts", punctuate=policy, nulls="aside", schema=schema, name="north").run()
        expected = guarded.to_table().to_pylist()
        check_operator(
            lambda s: s.assume(policy),
            batches,
            seed=seed,
            punctuate=oop.at_end(),
            threads=threads,
            expected=expected,
        )
        run = oop.source(batches, time="ts", punctuate=None, schema=schema, nulls="aside").assume(policy).run()
        assert bag(run.to_table().to_pylist()) == bag(expected)
        late = [r for r in guarded.late["north"].to_pylist() if r["late_by"] is not None]  # they had a time
        # by how much each was late is told alike; here the promise also names the group
        said = [{**row, "broke": row["broke"].split(",")[0]} for row in run.late["Assume"].to_pylist()]
        assert bag(said) == bag(late)

    each(range(CASES // 4), case)


def test_the_same_promises_as_at_a_source():
    """After every row: a source also cuts a batch where a step of ``every`` is reached."""

    def case(rng, seed):
        policy = some_policy(rng)
        schema = fuzz.schema_of(TIMES["int64"])
        source = Harness(lambda s: s, schema, punctuate=policy)
        inside = Harness(lambda s: s.assume(policy), schema, punctuate=oop.at_end())
        for batch in rows_alone(rng, TIMES["int64"]):
            for i in range(batch.num_rows):
                source.push(batch.slice(i, 1))
                inside.push(batch.slice(i, 1))
                assert inside.frontier == source.frontier

    each(range(CASES // 8), case)


def test_promises_of_the_data_cross():
    """What was promised before holds of what is left, at once."""

    def case(rng, seed):
        policy = some_policy(rng)
        stream = fuzz.random_stream(rng, TIMES["int64"], late=False)
        harness = Harness(lambda s: s.assume(policy), fuzz.schema_of(TIMES["int64"]))
        passed = oop.Frontier()
        for element in stream:
            harness.feed(element)
            if isinstance(element, oop.Punctuation):
                passed.advance(element)
            assert all(map(harness.frontier.covers, passed.promises()))
        harness.end()
        assert harness.state_bytes == 0

    each(range(CASES // 8), case)
