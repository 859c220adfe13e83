"""Elements that come in trains: the same rows, late rows and promises as one by one."""

from __future__ import annotations

import math
import random
import re

import pyarrow as pa
import pytest

import oop
from oop.operators.core.train import join
from oop.operators.source.operator import InputOperator
from oop.testing.laws import bag

INF, NAN = math.inf, math.nan


def outcome(data, schema, **options):
    """What a run gives: windows and late rows, or the error without the line that it names."""
    stream = oop.source(data, time="ts", punctuate=oop.punctuated(), schema=schema, name="it", **options)
    run = stream.window(oop.tumbling(10)).agg(n=oop.count()).run()
    try:
        return bag(run.to_table().to_pylist()), bag(run.late.to_table().to_pylist())
    except (oop.OopError, OverflowError) as error:
        return type(error).__name__, re.sub(r"test_trains.py:\d+", "", str(error))


def _schema(elements):
    return next(e.schema for e in elements if isinstance(e, pa.RecordBatch))


def batch(*times, type=None):
    return pa.record_batch({"ts": pa.array(times, type or pa.int64())})


def below(bound, **where):
    return oop.Punctuation({"ts": bound}, where)


LISTS = {
    "late after a promise": [batch(1, 2), below(5), batch(3, 9), below(9), batch(8, 30)],
    "promises back and forth": [batch(1), below(7), below(3), batch(5, 8), below(7), batch(2)],
    "before any row": [below(4), below(6), batch(3, 5, 7), below(20)],
    "beyond the type": [below(2**63), batch(1, 2), below(2**64), batch(3)],
    "infinite": [batch(1), below(INF), batch(2), below(5), batch(3)],
    "half": [batch(1, 2), below(1.5), batch(1, 2)],
    "empty batches": [batch(), below(2), batch(), batch(1, 3), below(3), batch(2)],
    "nulls": [batch(1, None), below(2), batch(None, 1)],
    "floats": [batch(1.5, 2.5, type=pa.float64()), below(2.0), batch(1.0, 3.0, type=pa.float64())],
    "whole bounds of floats": [batch(1.5, type=pa.float64()), below(2), batch(1.0, 3.0, type=pa.float64())],
    "nan": [batch(1.5, NAN, type=pa.float64()), below(2.0), batch(NAN, 1.0, type=pa.float64())],
    "infinite times": [batch(1.5, INF, type=pa.float64()), below(2.0), batch(-INF, 1.0, type=pa.float64())],
}


@pytest.mark.parametrize("late", ["drop", "raise", "admit"])
@pytest.mark.parametrize("nulls", ["raise", "aside"])
@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_as_an_iterator(name, nulls, late):
    """A list comes in trains, what an iterator gives comes one by one."""
    elements = LISTS[name]
    schema = _schema(elements)
    wanted = outcome(lambda: iter(elements), schema, late=late, nulls=nulls)
    assert outcome(elements, schema, late=late, nulls=nulls) == wanted


@pytest.mark.parametrize("policy", [oop.ordered(), oop.slack(3), oop.slack(3, every=4), oop.slack(rows=2)], ids=str)
def test_promises_of_a_policy_come_after_the_same_rows(policy):
    rng = random.Random(3)
    for _ in range(60):
        batches = [batch(*(rng.randint(0, 40) for _ in range(rng.randint(0, 4)))) for _ in range(rng.randint(2, 9))]

        def play(elements, schema=batches[0].schema):
            run = oop.source(elements, time="ts", punctuate=policy, schema=schema).run()
            rows, promises = [], []
            for element in run.elements():
                if isinstance(element, oop.Punctuation):
                    promises.append((len(rows), element))
                else:
                    rows += element["ts"].to_pylist()
            return rows, promises, bag(run.late.to_table().to_pylist())

        assert play(batches) == play(lambda batches=batches: iter(batches))


def test_rows_of_a_train_pass_together():
    elements = [e for i in range(50) for e in (batch(i, i + 1), below(i))]
    run = oop.source(elements, time="ts", punctuate=oop.punctuated()).window(oop.tumbling(25)).agg(n=oop.count()).run()
    run.to_table()
    source = run.metrics.box("Source")
    assert (source.batches_in, source.promises_in) == (50, 51)
    # the first, which is new, the one that completes the first window (the second would need ts < 50), and the end
    assert source.promises_out == 3
    assert source.batches_out <= 3


def test_only_linear_promises_on_one_attribute_ride():
    one = batch(1)
    schema = one.schema.append(pa.field("k", pa.int64()))
    assert join([one, below(2, k=1)], schema) is None
    assert join([one, oop.Punctuation({"ts": 2, "k": 3})], schema) is None
    assert join([one, below(2), oop.Punctuation({"k": 3})], schema) is None
    assert join([one, oop.END], schema) is None
    assert join([one, below(2)], schema) is not None


def test_a_source_that_is_read_elsewhere_is_coupled_too(monkeypatch):
    taken = []
    right = InputOperator.process_train
    monkeypatch.setattr(InputOperator, "process_train", lambda self, e: taken.append(len(e)) or right(self, e))
    data = [batch(i) for i in range(100)]
    stream = oop.source(data, time="ts", punctuate=oop.ordered())
    data.append(batch(100))
    assert stream.run().to_table().num_rows == 101
    assert max(taken) == 101
