"""WSort as a user meets it: what the clock lets go, what gets lost and where it is kept, what is refused."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

import oop
from oop.testing import Harness, ManualClock


def started(*columns, timeout=10, schema=None):
    clock = ManualClock(0)
    h = Harness(lambda s: s.wsort(*columns, timeout=timeout), schema or {"ts": "int64"}, clock=clock)
    h.tick()

    def wait(units):
        clock.advance(units)
        h.tick()

    return h, wait


def times(h):
    return [r["ts"] for r in h.rows()]


def test_what_has_waited_for_a_period_leaves_with_all_that_sorts_before_it():
    h, wait = started("ts")
    h.push({"ts": [5, 9]})
    wait(4)
    h.push({"ts": [7, 11]})
    wait(5)
    assert h.out() == []
    wait(1)
    assert times(h) == [5, 7, 9]
    assert h.promises() == [oop.Punctuation({"ts": 9})], "nothing that sorts before it leaves any more"
    wait(9)
    assert h.out() == []
    wait(1)
    assert times(h) == [11]


def test_a_period_begins_with_the_first_row_that_waits():
    """After a lull a row is not put out at once: it would lose those that come just behind it."""
    h, wait = started("ts")
    wait(100)
    h.push({"ts": [5]})
    wait(9)
    h.push({"ts": [4]})
    assert h.out() == []
    wait(1)
    assert times(h) == [4, 5]


def test_a_row_behind_one_that_has_left_is_kept_aside():
    h, wait = started("ts", "k", schema={"ts": "int64", "k": "string"})
    h.push({"ts": [5], "k": ["b"]})
    wait(10)
    assert h.rows() == [{"ts": 5, "k": "b"}]
    h.push({"ts": [4, 5, 5, 6], "k": ["z", "a", "b", "a"]})
    assert h.buffered_rows == 2
    assert h.late["WSort"].to_pylist() == [
        {"ts": 4, "k": "z", "broke": "a row after ts=5, k='b' has left", "late_by": None},
        {"ts": 5, "k": "a", "broke": "a row after ts=5, k='b' has left", "late_by": None},
    ]
    assert len(h.late) == 2
    h.end()
    assert h.rows() == [{"ts": 5, "k": "b"}, {"ts": 6, "k": "a"}]


def test_promises_release_sooner_and_do_not_make_it_lose_more():
    h, _ = started("ts")
    h.push({"ts": [5, 3, 9]})
    h.promise(ts=6)
    assert times(h) == [3, 5]
    assert h.promises() == [oop.Punctuation({"ts": 6})]
    h.push({"ts": [6, 7]})
    h.end()
    assert times(h) == [6, 7, 9]
    assert len(h.late) == 0


def test_nan_comes_after_every_number_and_null_last():
    schema = pa.schema([("ts", pa.int64()), ("x", pa.float64())])
    h, wait = started("x", schema=schema)
    h.push({"ts": [1, 2, 3, 4], "x": [None, math.nan, 2.5, -1.0]})
    wait(10)
    assert times(h) == [4, 3, 2, 1]
    assert h.promises() == [oop.Punctuation({"x": math.inf})]
    h.push({"ts": [5, 6], "x": [7.0, None]})
    assert h.late["WSort"]["ts"].to_pylist() == [5]


def test_sorted_by_text_only_the_end_is_promised():
    h, wait = started("k", schema={"ts": "int64", "k": "string"})
    h.push({"ts": [1, 2], "k": ["b", "a"]})
    h.promise(ts=2)
    wait(10)
    assert [r["k"] for r in h.rows()] == ["a", "b"]
    assert h.promises() == []
    h.end()
    assert h.promises() == [oop.END]


def test_dictionaries_and_zones_pass_as_they_are():
    schema = pa.schema([("ts", pa.timestamp("ms", tz="UTC")), ("k", pa.dictionary(pa.int32(), pa.string()))])
    h, wait = started("k", "ts", schema=schema)
    for words in (["b", "a"], ["c", None, "a"]):
        times_ = pa.array(range(len(words)), pa.int64()).cast(schema.field(0).type)
        h.push(pa.RecordBatch.from_arrays([times_, pa.array(words).dictionary_encode()], schema=schema))
    wait(10)
    (batch,) = [e for e in h.out() if isinstance(e, pa.RecordBatch)]
    assert batch.schema == schema
    assert batch.column("k").to_pylist() == ["a", "a", "b", "c", None]


def test_the_clock_closes_windows_behind_it():
    """The source promises nothing, and still windows come out before the end: what has left is a promise."""
    clock = ManualClock(0)

    def feed():
        for ts in (3, 1, 12, 27, 2):
            yield pa.record_batch({"ts": [ts]})
            clock.advance(20)

    s = oop.source(feed(), time="ts", punctuate=oop.punctuated()).wsort("ts", timeout=30)
    counts = s.window(oop.tumbling(10)).agg(n=oop.count())
    run = counts.run(engine=oop.Embedded(clock=clock, check=True))
    elements = [e if isinstance(e, oop.Punctuation) else e.to_pylist() for e in run.elements()]
    rows = [e if isinstance(e, oop.Punctuation) else [(r["window_start"], r["n"]) for r in e] for e in elements]
    assert rows.index([(0, 2), (10, 1)]) < rows.index(oop.Punctuation({"window_start": 20})) < rows.index([(20, 1)])
    assert run.late["WSort"]["ts"].to_pylist() == [2]


def test_explain_and_blame():
    h, _ = started("ts", timeout="5s")
    h.push({"ts": [1]})
    note = "emits in order, at least a row each 5s; sets aside what comes behind"
    assert h.stream.explain().splitlines()[0] == f"WSort by ts, timeout 5s   {note}"
    assert "the rows of the last 5s" in str(h.run.blame())


def test_what_is_refused():
    s = oop.source(pa.table({"ts": [1], "tags": [["a"]]}), time="ts", punctuate=oop.at_end())
    with pytest.raises(ValueError, match="a timeout is a span of time, not 0"):
        s.wsort("ts", timeout=0)
    with pytest.raises(oop.UnknownColumn, match="tss"):
        s.wsort("tss", timeout="5s")
    with pytest.raises(oop.SchemaMismatch, match="has no order, which sorting needs"):
        s.wsort("tags", timeout="5s")
