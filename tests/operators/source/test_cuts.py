"""Rows are cut only where a promise leaves: a batch costs more than a row."""

import pyarrow as pa
import pytest

import oop
from oop.operators.core.context import Context
from oop.operators.source.input import Input
from oop.operators.source.operator import InputOperator
from oop.punctuation import Interest, Punctuation

ROWS = range(700)


def batch(times):
    return pa.record_batch({"ts": pa.array(times, pa.int64())})


def started(policy):
    interests = [Interest("ts", lambda bound: bound // 350, by=())]
    return InputOperator(
        Input("in", "ts", (("ts", policy),), "drop", "aside"), Context([batch([]).schema], interests=interests)
    )


def one_batch():
    """The policy makes a promise every 7 rows."""
    return list(started(oop.slack(0, every=7)).process_train([batch(ROWS)]))


def a_train():
    """The data carries a promise behind every 7 rows."""
    elements = [e for t in ROWS[::7] for e in (batch(range(t, t + 7)), Punctuation({"ts": t + 7}))]
    return list(started(oop.punctuated()).process_train(elements))


@pytest.mark.parametrize("out", [one_batch, a_train])
def test_rows_are_cut_only_where_a_promise_leaves(out):
    found, promised, rows, batches = out(), 0, [], 0
    for element in found:
        if isinstance(element, Punctuation):
            promised += 1
            assert min((t for t in ROWS if t not in rows), default=ROWS.stop) >= element.below["ts"]
        else:
            batches += 1
            rows += element.column("ts").to_pylist()
    assert rows == list(ROWS)
    assert 2 <= promised <= 3 and batches <= promised + 1
