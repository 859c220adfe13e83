"""A batch that passes at one look leaves as it would have the long way, and costs few calls."""

import math
import sys

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.operators.core.context import Context
from oop.operators.source import operator as source_operator
from oop.operators.source.input import Input
from oop.operators.source.operator import InputOperator
from oop.punctuation import Interest, Punctuation

POLICIES = [oop.ordered(), oop.slack(3), oop.slack(rows=2), oop.slack(3, every=4), oop.punctuated(), oop.at_end(), None]
SCHEMAS = {"int64": pa.int64(), "float64": pa.float64(), "int32": pa.int32()}
MOST_CALLS = 14
"""Of an input operator, for a batch without late rows whose bound helps nobody."""


def elements(seed, type_, promises):
    """Batches that go on, most of them in order; some rows have no time, some batches no rows."""
    rng = np.random.default_rng(seed)
    now = 0
    for _ in range(30):
        now += int(rng.integers(0, 5))
        if promises and rng.random() < 0.3:
            yield Punctuation({"ts": now})
        times = now + np.sort(rng.integers(0, 5, rng.integers(0, 4)))
        values = [t - int(rng.random() < 0.1) * 6 for t in times.tolist()]
        if seed % 3 == 0:
            values = [None if rng.random() < 0.05 else v for v in values]
        if seed % 3 == 1 and type_ == pa.float64():
            values = [rng.choice([math.nan, math.inf]) if rng.random() < 0.05 else v for v in values]
        yield pa.record_batch({"ts": pa.array(values, type_), "v": pa.array(range(len(values)), pa.int64())})


def run(policy, seed, type_, late):
    schema = pa.schema({"ts": type_, "v": pa.int64()})
    spec = Input("in", "ts", () if policy is None else (("ts", policy),), late, "aside")
    made = []
    operator = InputOperator(spec, Context([schema], interests=[Interest("ts", lambda bound: bound // 7, by=())]))
    operator.made = lambda promise, behind: made.append((str(promise), behind))
    out, failed = [], None
    try:
        for element in elements(seed, type_, policy == oop.punctuated()):
            punct = isinstance(element, Punctuation)
            for left in operator.process_punctuation((element,)) if punct else operator.process_batch(element):
                out.append(str(left) if isinstance(left, Punctuation) else left.to_pydict())
    except oop.OopError as wrong:
        failed = str(wrong)
    state = [p.state() for p in operator.progress], operator.rows_seen, operator.gate.offered
    return out, failed, list(dict.fromkeys(made)), str(operator.ledger.table().to_pylist()), state, operator.gate.passed


@pytest.mark.parametrize("late", ["drop", "raise", "admit"])
@pytest.mark.parametrize("type_", SCHEMAS.values(), ids=SCHEMAS)
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_one_look_says_what_the_guard_says(policy, type_, late, monkeypatch):
    for seed in range(6):
        quick = run(policy, seed, type_, late)
        with monkeypatch.context() as patch:
            patch.setattr(source_operator, "find_look", lambda guard, given: None)
            assert quick == run(policy, seed, type_, late)


def test_a_batch_costs_few_calls():
    batch = pa.record_batch({"ts": np.arange(100)})
    spec = Input("in", "ts", (("ts", oop.ordered()),))
    operator = InputOperator(
        spec, Context([batch.schema], interests=[Interest("ts", lambda bound: bound // 1_000_000, by=())])
    )
    batches = [pa.record_batch({"ts": np.arange(100) + 100 * i}) for i in range(3)]
    list(operator.process_train([batches[0]]))
    list(operator.process_train([batches[1]]))
    calls = []
    sys.setprofile(lambda frame, event, _: calls.append(frame.f_code.co_qualname) if event == "call" else None)
    try:
        found = list(operator.process_train([batches[2]]))
    finally:
        sys.setprofile(None)
    assert found == [batches[2]]
    assert len(calls) <= MOST_CALLS, calls
