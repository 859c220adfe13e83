"""The pipelines of `pipelines.py` on a real Spark: many in one query, many cases in one stream, all as embedded."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

import oop
from oop.testing import disorder
from tests.oop_.engines.spark.pipelines import ONE, TWO, shifted, together
from tests.operators import fuzz

CASES = 8


def cases(rng: random.Random) -> list[Any]:
    """Random streams, one after the other in time; rows permuted within their promises."""
    found: list[Any] = []
    for case in range(CASES):
        found += shifted(disorder(fuzz.random_stream(rng, pa.int64(), late=False), seed=rng.randrange(10**6)), case)
    return found


def source(name: str, elements: list[Any]) -> oop.Stream:
    schema = fuzz.schema_of(pa.int64())
    return oop.source(elements, time="ts", punctuate=oop.punctuated(by="link"), name=name, schema=schema)


def chunks(pipelines: dict[str, Any], size: int) -> list[dict[str, Any]]:
    names = list(pipelines)
    return [{n: pipelines[n] for n in names[i : i + size]} for i in range(0, len(names), size)]


FEW, MORE = dict(list(ONE.items())[:3]), dict(list(ONE.items())[3:])
QUERIES = {", ".join(c): (1, c) for c in [FEW, *chunks(MORE, 5)]} | {", ".join(c): (2, c) for c in chunks(TWO, 6)}


@pytest.mark.parametrize("query", QUERIES)
def test_spark_answers_as_embedded_does(query: str, spark: Any) -> None:
    inputs, pipelines = QUERIES[query]
    rng = random.Random(query)
    stream = together(pipelines, *(source(name, cases(rng)) for name in "ab"[:inputs]))
    expected = Counter(map(repr, stream.run().to_table().to_pylist()))
    # several micro-batches where they cost least; for the others see test_simulated
    rows = 60 if query == next(iter(QUERIES)) else 10_000
    found = stream.run(engine=oop.Spark(spark, shards=2, rows=rows)).to_table()
    assert Counter(map(repr, found.to_pylist())) == expected
    assert {row["pipeline"] for row in found.to_pylist()} == set(pipelines), "every pipeline has an answer"


def test_a_batch_answers_as_the_stream_does(spark: Any) -> None:
    rng = random.Random(5)
    pipelines = {name: ONE.get(name) or TWO[name] for name in ("tumbling", "two windows", "sliding", "self-join")}
    stream = together(pipelines, source("a", cases(rng)))
    expected = Counter(map(repr, stream.run().to_table().to_pylist()))
    found = stream.to_spark(spark, batch=True, shards=2).toArrow()
    assert Counter(map(repr, found.to_pylist())) == expected
