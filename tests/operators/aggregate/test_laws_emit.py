"""Early results: final rows are the plain answer, each exactly once; what is shown is what there is so far."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

import oop
from oop.errors import SchemaMismatch
from oop.testing import Harness, check_operator
from oop.testing.laws import bag
from tests.operators import fuzz
from tests.operators.fuzz import CASES, TIMES
from tests.operators.test_laws import each, some_threads, some_time

EMITS = [{"when": "on_change"}, {"every": 3}, {"rows": 3}, {"when": "on_close"}]
PLANS = {
    "tumbling": lambda s, wanted: s.window(oop.tumbling(5)).group_by("link").agg(**wanted),
    "sliding": lambda s, wanted: s.window(oop.sliding(9, every=4)).group_by("link", "k").agg(**wanted),
    "no keys": lambda s, wanted: s.window(oop.tumbling(7)).agg(**wanted),
    "group by": lambda s, wanted: s.group_by("ts", "link").agg(**wanted),
    "session": lambda s, wanted: s.window(oop.session(3)).group_by("link").agg(**wanted),
}


@pytest.mark.parametrize("name", PLANS)
def test_final_rows_are_the_plain_answer(name):
    def case(rng, seed):
        elements = fuzz.random_stream(rng, some_time(rng))
        wanted, emit = fuzz.some_aggregates(rng), rng.choice(EMITS)
        plan = PLANS[name]
        schema = next(e for e in elements if isinstance(e, pa.RecordBatch)).schema
        plain = Harness(lambda s: plan(s, wanted), schema)
        plain.feed(*elements, oop.END)
        check_operator(
            lambda s: plan(s, wanted).emit(**emit).filter(oop.col("emit") == "final"),
            elements,
            seed=seed,
            threads=some_threads(rng),
            expected=[{**row, "emit": "final"} for row in plain.rows()],
        )

    each(range(CASES // 10), case)


def harness_open(harness):
    return [b for box in harness.run._boxes if hasattr(box.operator, "of") for b in box.operator.of.open_results()]


@pytest.mark.parametrize("name", PLANS)
def test_what_is_shown_is_what_there_is_so_far(name):
    """After every batch the last version of each open result is that of the rows so far, and nothing is shown twice."""

    def case(rng, seed):
        elements = fuzz.random_stream(rng, TIMES["int64"])
        wanted, plan = fuzz.some_aggregates(rng), PLANS[name]
        schema = next(e for e in elements if isinstance(e, pa.RecordBatch)).schema
        harness = Harness(lambda s: plan(s, wanted).emit("on_change"), schema)
        identity = [n for n in harness.stream.schema.names if n in ("window_start", "window_end", "ts", "link", "k")]
        shown: dict[tuple, dict] = {}
        final: Counter = Counter()
        snapshot = None
        for at, element in enumerate(elements):
            harness.feed(element)
            for row in harness.rows():
                key = tuple(row[n] for n in identity)
                assert key not in final, "shown or put out again behind its final row"
                if row.pop("emit") == "final":
                    final += Counter([key])
                    shown.pop(key, None)
                else:
                    assert shown.get(key) != row, "shown again without a change"
                    shown[key] = row
            if name == "session":  # one that has grown is another: what was shown of it before goes with it
                now = {tuple(r[n] for n in identity) for b in harness_open(harness) for r in b.to_pylist()}
                shown = {key: row for key, row in shown.items() if key in now}
            now = Harness(lambda s: plan(s, wanted), schema)
            now.feed(*elements[: at + 1], oop.END)
            open_ = [r for r in now.rows() if tuple(r[n] for n in identity) not in final]
            assert bag(shown.values()) == bag(open_)
            if rng.random() < 0.2:
                snapshot = harness.save(snapshot)
                given = harness.given
                harness = Harness(lambda s: plan(s, wanted).emit("on_change"), schema)
                harness.load(snapshot, given)
        harness.end()
        assert all(row["emit"] == "final" for row in harness.rows())
        assert all(box.operator.shown.nbytes < 4096 for box in harness.run._boxes if hasattr(box.operator, "shown"))

    each(range(CASES // 40), case)


def test_every_is_a_step_of_stream_time():
    h = Harness(lambda s: s.window(oop.tumbling(100)).agg(n=oop.count()).emit(every=10), {"ts": "int64"})
    shown = []
    for ts in (1, 5, 12, 13, 11, 35, 36):
        h.push({"ts": [ts]})
        shown.append([(r["n"], r["emit"]) for r in h.rows()])
    assert shown == [[], [], [(3, "partial")], [], [], [(6, "partial")], []]
    h.end()
    assert [(r["n"], r["emit"]) for r in h.rows()] == [(7, "final")]


def test_after_so_many_rows_whatever_the_batches():
    """Rows that break a promise are not among them."""

    def shown(*batches):
        h = Harness(lambda s: s.window(oop.tumbling(100)).agg(n=oop.count()).emit(rows=3), {"ts": "int64"})
        h.promise(ts=1)
        for batch in batches:
            h.push({"ts": batch})
        h.end()
        return [(r["window_start"], r["n"], r["emit"]) for r in h.rows()]

    partial = [(0, 3, "partial"), (0, 5, "partial"), (100, 1, "partial")]
    for cut in ([[1, 2, 0, 3, 4, 105, 5, 6]], [[1], [2, 0, 3, 4], [105], [5, 6]], [[1, 2, 0, 3], [4, 105, 5], [6]]):
        assert shown(*cut) == [*partial, (0, 6, "final"), (100, 1, "final")]


def test_a_first_batch_that_reaches_a_step_is_shown():
    h = Harness(lambda s: s.window(oop.tumbling(100)).agg(n=oop.count()).emit(every=10), {"ts": "int64"})
    h.push({"ts": [1, 12]})
    assert [(r["n"], r["emit"]) for r in h.rows()] == [(2, "partial")]


@pytest.mark.parametrize("when", ["on_change", "on_close"])
def test_sessions_with_an_admitted_row_keep_their_promises(when):
    def plan(s):
        return s.window(oop.session(5)).group_by("k").agg(n=oop.count()).emit(when)

    h = Harness(plan, {"ts": "int64", "k": "string"}, late="admit")
    h.push({"ts": [30, 15], "k": ["a", "a"]})
    h.promise(ts=20)
    h.push({"ts": [17], "k": ["a"]})
    h.push({"ts": [14], "k": ["a"]})  # before what was promised: of no use
    h.end()
    final = [(r["window_start"], r["n"]) for r in h.rows() if r["emit"] == "final"]
    assert sorted(final) == [(15, 2), (30, 1)]


def test_of_steps_that_show_changes_only_changed_groups_are_shown():
    def plan(s):
        return s.window(oop.landmark(0, every=10, changes=True)).group_by("k").agg(n=oop.count()).emit("on_change")

    h = Harness(plan, {"ts": "int64", "k": "string"})
    for ts, k in ((1, "a"), (2, "b"), (12, "a"), (25, "a")):
        h.push({"ts": [ts], "k": [k]})
    h.end()
    rows = h.rows()
    final = {(r["window_end"], r["k"]) for r in rows if r["emit"] == "final"}
    assert {(r["window_end"], r["k"]) for r in rows if r["emit"] == "partial"} <= final


def test_what_is_final_is_forgotten_without_a_promise():
    """Windows of partitions are final without one."""
    h = Harness(
        lambda s: s.window(oop.rows(2, by="k")).agg(n=oop.count()).emit("on_change"),
        {"ts": "int64", "k": "int64"},
        punctuate=oop.ordered(),
    )
    (emit,) = [box.operator for box in h.run._boxes if hasattr(box.operator, "shown")]
    for ts in range(40):
        h.push({"ts": [ts], "k": [ts // 2]})
    assert len(emit.shown) <= 1


def test_late_rows_that_are_admitted_are_shown_too():
    h = Harness(
        lambda s: s.window(oop.tumbling(10)).agg(n=oop.count()).emit("on_change"), {"ts": "int64"}, late="admit"
    )
    h.push({"ts": [1, 8]})
    h.promise(ts=7)
    h.push({"ts": [3]})
    assert [(r["n"], r["emit"]) for r in h.rows()] == [(2, "partial"), (3, "partial")]


def test_lists_and_nan_are_compared_as_values():
    batches = [{"ts": [1], "x": [float("nan")]}, {"ts": [12], "x": [1.0]}, {"ts": [2], "x": [float("nan")]}]
    h = Harness(
        lambda s: s.window(oop.tumbling(10)).agg(x=oop.max("x"), t=oop.top("x", 1)).emit("on_change"),
        {"ts": "int64", "x": "float"},
    )
    found = []
    for batch in batches:
        h.push(batch)
        found.append(len(h.rows()))
    assert found == [1, 1, 0]


def test_results_so_far_need_no_promise():
    never = oop.source(pa.table({"ts": [1, 2]}), time="ts", punctuate=None)
    counts = never.window(oop.tumbling(10)).agg(n=oop.count())
    with pytest.raises(oop.NeverEmits):
        counts.emit("on_close").run()
    assert counts.emit("on_change").run().to_table().column("emit").to_pylist() == ["partial", "final"]


def test_partial_results_are_terminal():
    s = oop.source(pa.table({"ts": [1, 2], "k": [1, 1]}), time="ts", punctuate=oop.ordered())
    early = s.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()).emit("on_change")
    filtered = early.filter(oop.col("n") > 1).select("window_start", "k", "n", "emit")
    for on_top in (
        lambda: filtered.window(oop.tumbling(20)).agg(n=oop.count()),
        lambda: filtered.group_by("window_start").agg(n=oop.count()),
        lambda: filtered.join(s, on="k", within=(0, 1)),
        lambda: s.join(early, on="k", within=(0, 1)),
    ):
        with pytest.raises(SchemaMismatch, match="terminal"):
            on_top()
    closed = s.window(oop.tumbling(10)).agg(n=oop.count()).emit("on_close")
    assert closed.window(oop.tumbling(20)).agg(n=oop.sum("n")).run().to_table().column("n").to_pylist() == [2]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda s: s.emit("on_change"), "right behind"),
        (lambda s: s.window(oop.tumbling(5)).agg(emit=oop.count()).emit("on_change"), "'emit'"),
    ],
)
def test_where_there_is_nothing_to_show(wrong, message):
    s = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.ordered())
    with pytest.raises(SchemaMismatch, match=message) as error:
        wrong(s)
    assert "test_laws_emit.py" in str(error.value)


@pytest.mark.parametrize("options", [{}, {"when": "on_change", "every": 5}, {"when": "now"}, {"every": 0}], ids=str)
def test_what_emit_takes(options):
    s = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.ordered()).window(oop.tumbling(5))
    with pytest.raises(ValueError):
        s.agg(n=oop.count()).emit(**options)


def test_final_rows_that_were_never_shown():
    h = Harness(lambda s: s.window(oop.landmark(0, every=10)).agg(n=oop.count()).emit("on_change"), {"ts": "int64"})
    h.push({"ts": [1, 12, 25]})
    h.end()
    assert [(r["n"], r["emit"]) for r in h.rows()] == [(3, "partial"), (1, "final"), (2, "final"), (3, "final")]


def test_small_floats_are_compared():
    schema = pa.schema([("ts", pa.int64()), ("v", pa.float16())])
    h = Harness(lambda s: s.window(oop.tumbling(10)).agg(x=oop.max("v")).emit("on_change"), schema)
    shown = []
    for value in (1.0, 2.0, 0.5):
        h.push(pa.RecordBatch.from_arrays([pa.array([1]), pa.array([value], pa.float16())], schema=schema))
        shown.append(len(h.rows()))
    assert shown == [1, 1, 0]
