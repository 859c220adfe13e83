"""One promise for each window that closes (OOP paper, section 5.2): behind its rows, before those of the next."""

from __future__ import annotations

import pyarrow as pa
import pytest

import oop
from oop.operators.aggregate import each_window
from oop.operators.core.context import Context
from oop.operators.core.coverage import covered
from oop.testing import Harness, check_operator
from tests.operators import fuzz
from tests.operators.fuzz import CASES, TIMES
from tests.operators.test_laws import each, some_threads, some_time

PLANS = {
    "tumbling": lambda s: s.window(oop.tumbling(5)).group_by("link").agg(n=oop.count()),
    "sliding": lambda s: s.window(oop.sliding(9, every=4)).group_by("link", "k").agg(n=oop.count()),
    "no keys": lambda s: s.window(oop.tumbling(7)).agg(n=oop.count()),
    "session": lambda s: s.window(oop.session(3)).group_by("link").agg(n=oop.count()),
    "behind a union": lambda s: s.union(s.filter(oop.col("k") > 0)).window(oop.tumbling(5)).agg(n=oop.count()),
}


@pytest.mark.parametrize("name", PLANS)
def test_rows_are_those_without_it(name):
    def case(rng, seed):
        elements = fuzz.random_stream(rng, some_time(rng))
        schema = next(e for e in elements if isinstance(e, pa.RecordBatch)).schema
        plain = Harness(PLANS[name], schema)
        plain.feed(*elements, oop.END)
        check_operator(
            lambda s: PLANS[name](s).each_window(),
            elements,
            seed=seed,
            threads=some_threads(rng),
            expected=plain.rows(),
        )

    each(range(CASES // 20), case)


@pytest.mark.parametrize("name", PLANS)
def test_windows_and_promises_take_turns(name):
    """Every batch is of one window, and between those of two there is a promise that covers the first window's rows,
    and none of what follows (`Harness` watches that)."""

    def case(rng, seed):
        elements = fuzz.random_stream(rng, TIMES["int64"], late=False)
        harness = Harness(lambda s: PLANS[name](s).each_window(), fuzz.schema_of(TIMES["int64"]))
        promised = oop.Frontier()
        last: pa.RecordBatch | None = None
        for element in [*elements, oop.END]:
            harness.feed(element)
            for out in harness.out():
                if isinstance(out, oop.Punctuation):
                    assert promised.advance(out), "said twice"
                    continue
                (end,) = set(out["window_end"].to_pylist())
                if last is not None and last["window_end"][0].as_py() != end:
                    assert covered(promised, last).all(), "the next window came before the promise about the last"
                last = out
        assert promised.ended

    each(range(CASES // 20), case)


def elements_of(harness: Harness) -> list[object]:
    return [e if isinstance(e, oop.Punctuation) else e.select(["window_end", "n"]).to_pydict() for e in harness.out()]


def test_a_promise_that_closes_several_windows_becomes_one_for_each():
    harness = Harness(
        lambda s: s.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()).each_window(),
        {"ts": "int64", "k": "int64"},
    )
    harness.push({"ts": [1, 25, 12, 2, 61], "k": [1, 1, 1, 2, 1]})
    assert harness.out() == []
    harness.promise(ts=60)
    assert elements_of(harness) == [
        oop.Punctuation({"window_start": 0}),  # nothing came for the windows before
        {"window_end": [10, 10], "n": [1, 1]},
        oop.Punctuation({"window_start": 10}),
        oop.Punctuation({"window_end": 20}),
        {"window_end": [20], "n": [1]},
        oop.Punctuation({"window_start": 20}),
        oop.Punctuation({"window_end": 30}),
        {"window_end": [30], "n": [1]},
        oop.Punctuation({"window_start": 60}),
        oop.Punctuation({"window_end": 70}),
    ]
    harness.end()
    assert elements_of(harness) == [{"window_end": [70], "n": [1]}, oop.END]
    assert harness.buffered_rows == 0


def test_groups_have_promises_of_their_own():
    harness = Harness(
        lambda s: s.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()).each_window(),
        {"ts": "int64", "k": "string"},
    )
    harness.push({"ts": [1, 12, 3], "k": ["a", "a", "b"]})
    harness.promise(ts=30, where={"k": "a"})
    found = elements_of(harness)
    assert [e for e in found if not isinstance(e, oop.Punctuation)] == [
        {"window_end": [10], "n": [1]},
        {"window_end": [20], "n": [1]},
    ]
    assert oop.Punctuation({"window_end": 20}, {"k": "a"}) in found[1 : found.index({"window_end": [20], "n": [1]})]
    assert harness.buffered_rows == 1, "b's window is open"


def test_the_end_of_a_stream_closes_windows_one_by_one():
    s = oop.source(pa.table({"ts": [1, 12, 25]}), time="ts", punctuate=oop.at_end())
    counts = s.window(oop.tumbling(10)).agg(n=oop.count()).select("window_end", "n").each_window()
    found = [e if isinstance(e, oop.Punctuation) else e["window_end"].to_pylist() for e in counts.run().elements()]
    ends = [oop.Punctuation({"window_end": end}) for end in (20, 30)]
    assert found == [[10], ends[0], [20], ends[1], [30], oop.END]


def test_threads_give_each_window_at_once():
    table = pa.table({"ts": list(range(1000)), "k": [i % 7 for i in range(1000)]})
    s = oop.source([table.to_batches()[0], oop.Punctuation({"ts": 1000})], time="ts", punctuate=oop.punctuated())
    counts = s.window(oop.tumbling(100)).group_by("k").agg(n=oop.count()).each_window()
    found = [e for e in counts.run(oop.Embedded(threads=2)).elements() if "window_start" not in getattr(e, "below", {})]
    for window in range(10):
        batch, promise = found[2 * window : 2 * window + 2]
        assert set(batch["window_end"].to_pylist()) == {100 * (window + 1)} and batch.num_rows == 7
        assert promise.below["window_end"] > 100 * (window + 1) - 1


def test_a_sink_is_told_window_by_window(tmp_path):
    s = oop.source(
        [pa.record_batch({"ts": [1, 12]}), oop.Punctuation({"ts": 20})], time="ts", punctuate=oop.punctuated()
    )
    counts = s.window(oop.tumbling(10)).agg(n=oop.count()).select("window_end", "n").each_window()
    counts.run(to=tmp_path / "counts.arrows")
    back = oop.source(tmp_path / "counts.arrows", time="window_end", punctuate=oop.punctuated())
    found = [e for e in back.run().elements() if isinstance(e, oop.Punctuation)]
    assert found[0] == oop.Punctuation({"window_end": 20})


def test_rows_without_a_window_and_dictionaries():
    keys = pa.table({"ts": [1, 12], "k": pa.array(["a", "b"]).dictionary_encode()})
    counts = (
        oop.source(keys, time="ts", punctuate=oop.ordered()).window(oop.tumbling(10)).group_by("k").agg(n=oop.count())
    )
    other = oop.source(pa.table({"ts": [10, 50]}), time="ts", punctuate=oop.ordered())
    joined = counts.join(other, how="right", times=("window_end", "ts"), within=(-1, 1))
    rows = joined.each_window().run().to_table().to_pylist()
    assert sorted((r["ts"], r["window_end"] or 0, r["k"] or "") for r in rows) == [(10, 10, "a"), (50, 0, "")]


def windows_by_time(*elements: object, **columns: object) -> list[object]:
    s = oop.source(list(elements), time="ts", punctuate=oop.punctuated(**columns))
    found = s.each_window("ts").run(oop.Embedded(check=True)).elements()
    return [str(e) if isinstance(e, oop.Punctuation) else e["ts"].to_pylist() for e in found]


def test_ranges_and_lists_of_windows():
    rows = pa.record_batch({"ts": [15, 11, 3, 11]})
    closed = windows_by_time(rows, oop.Punctuation({"ts": 20}, above={"ts": 10}), rows.slice(2, 1))
    assert closed == [[11, 11], "ts in [10, 15)", [15], "ts in [10, 20)", [3, 3], "END"]
    closed = windows_by_time(rows, oop.Punctuation(where={"ts": [11, 15]}), rows.slice(2, 1))
    assert closed == [[11, 11], "ts = 11", [15], "ts = 15", [3, 3], "END"]
    closed = windows_by_time(rows, oop.Punctuation(where={"ts": oop.not_in(3)}), rows.slice(2, 1))
    assert closed == [[11, 11], "ts in [11, 12)", [15], "ts not in {3}", [3, 3], "END"]


def test_dictionaries_with_nulls_that_differ():
    def coded(*values: str | None) -> pa.DictionaryArray:
        return pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(values, pa.string()))

    one, other = (pa.record_batch({"ts": [1, 2], "k": coded(value, None)}) for value in "ab")
    s = oop.source([one, other, oop.Punctuation({"ts": 9})], time="ts", punctuate=oop.punctuated())
    found = s.each_window("ts").run().to_table()
    assert found["ts"].to_pylist() == [1, 1, 2, 2] and found["k"].to_pylist() == ["a", "b", None, None]


def test_promises_on_another_attribute_wait_as_one(monkeypatch):
    """A promise that waits is not looked at again before rows leave, and what a further one implies is forgotten."""
    looks = []

    class Counted(each_window.Lowered):
        def __init__(self, *args):
            looks.append(args)
            super().__init__(*args)

    monkeypatch.setattr(each_window, "Lowered", Counted)
    schema = pa.schema({"start": pa.int64(), "end": pa.int64()})
    operator = each_window.each_window("end", schema).start(Context([schema]))
    list(operator.process_batch(pa.record_batch({"start": [1], "end": [100]})))
    for bound in range(2, 200):
        assert [str(p) for p in operator.process_punctuation((oop.Punctuation({"start": bound}),))] in (
            ["start < 1"],
            [],
        )
    assert len(looks) == 198 and list(operator.pending.promises()) == [oop.Punctuation({"start": 199})]
    found = list(operator.process_punctuation((oop.Punctuation({"end": 101}),)))
    assert found[1:] == [oop.Punctuation({"start": 199}), oop.Punctuation({"end": 101})]
    assert not list(operator.pending.promises())


def test_what_is_refused():
    s = oop.source(pa.table({"ts": [1], "x": [2]}), time="ts", punctuate=oop.ordered())
    with pytest.raises(oop.UnknownColumn, match="window_end"):
        s.each_window()
    with pytest.raises(oop.NeverEmits, match="'x'"):
        s.each_window(on="x").run()
    with pytest.raises(oop.SchemaMismatch, match=r"\.emit"):
        s.window(oop.tumbling(10)).agg(n=oop.count()).emit("on_change").each_window()
    assert "a promise for each window" in s.each_window(on="ts").explain()
