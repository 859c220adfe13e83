"""Two-level aggregation as a user meets it: where it is put in, forced, forbidden, refused, and what it holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.engines.spark.passage import Passage
from oop.engines.spark.stages import Stages
from oop.operators.groups import partial_table
from oop.plan.final import final_plan
from oop.testing import Harness
from oop.testing.laws import bag

TWO = oop.Embedded(threads=2, check=True)


def packets(rows: int = 200_000, groups: int = 50, **more: Any) -> oop.Stream:
    random = np.random.default_rng(0)
    table = pa.table(
        {
            "ts": np.arange(rows),
            "src": random.integers(0, groups, rows).astype(np.int32),
            "len": random.integers(40, 1500, rows).astype(np.int32),
        }
    )
    more.setdefault("punctuate", oop.ordered())
    return oop.source(table.to_batches(max_chunksize=20_000), time="ts", name="packets", **more)


def counted(stream: oop.Stream, flush: Any = None, range: int = 50_000, **aggregates: Any) -> oop.Stream:
    grouped = stream.window(oop.tumbling(range)).group_by("src")
    if flush is not None:
        grouped = grouped.preaggregate(flush)
    return grouped.agg(**(aggregates or {"n": oop.count(), "bytes": oop.sum("len")}))


def rows_of(stream: oop.Stream, engine: Any = None, order: str = "oop") -> Any:
    return bag(stream.run(engine or oop.Embedded(check=True), order=order).to_table().to_pylist())


def test_behind_a_table_several_threads_are_given_partials():
    run = counted(packets(), True).run(TWO)
    found = bag(run.to_table().to_pylist())
    before, after = run.metrics.box("Preaggregate"), run.metrics.box("Aggregate")
    assert before.rows_in == 200_000 and after.rows_in == before.rows_out <= 4 * 50 * 10
    assert found == rows_of(counted(packets()))


def test_rows_pass_where_almost_each_is_a_group_of_its_own():
    run = counted(packets(groups=1_000_000), True).run(TWO)
    found = bag(run.to_table().to_pylist())
    assert run.metrics.box("Aggregate").rows_in > 199_000
    assert found == rows_of(counted(packets(groups=1_000_000)))


def test_explain_says_where_it_is_and_why():
    by_itself = counted(packets(), True).explain()
    assert "└─ Preaggregate lazy-flush, sized as it runs, no window late" in by_itself
    forced = counted(packets(), oop.slow_flush(slots=1024))
    for shown in (forced.explain(), forced.explain(engine=TWO)):
        assert "Preaggregate slow-flush every 160 rows, 1,024 slots, at most 2 windows late" in shown
        assert "; asked for" in shown
    assert "Preaggregate in-order slow-flush, 1,024 slots, at most 1 window late" in forced.explain("iop")


@pytest.mark.parametrize(
    ("stream", "engine", "why"),
    [
        (counted(packets()), oop.Embedded(threads=1), "in one process it costs what it saves"),
        (counted(packets()), TWO, "in one process it costs what it saves"),
        (counted(packets(), False), TWO, "forbidden"),
        (counted(packets(), False), oop.Spark(), "forbidden"),
        (counted(packets(), s=oop.aggregate(0, lambda s, v: s + v)("len")), oop.Spark(), "its functions do not merge"),
    ],
    ids=["one thread", "two", "forbidden", "forbidden on Spark", "no merge"],
)
def test_explain_says_why_it_is_not_there(stream, engine, why):
    shown = stream.explain(engine=engine)
    assert "Preaggregate" not in shown
    assert f"; not preaggregated: {why}" in shown


def test_on_spark_the_workers_that_have_the_rows_reduce_them():
    assert "; preaggregated by the workers that have the rows" in counted(packets()).explain(engine=oop.Spark())
    assert shipped(packets(), 50_000, False) == 200_000
    assert shipped(packets(), 50_000) <= 4 * 50 * 2


def test_on_spark_rows_pass_soon_where_a_table_would_have_to_be_large():
    """Each task begins with a table of its own: to make it large would cost more than shuffling the rows."""
    rows = 400_000
    assert shipped(packets(rows, groups=1_000), rows) <= 2_000
    assert shipped(packets(rows, groups=60_000), rows) < rows / 3  # on its way it has been too small
    assert shipped(packets(rows, groups=260_000), rows) > 0.95 * rows


def shipped(stream: oop.Stream, range: int, flush: Any = None) -> int:
    """The rows and partials that a task on Spark would send."""
    passage = Passage(Stages(final_plan(counted(stream, flush, range).flow), 2), 0, 0)
    cells = [cell for batch in stream.run() for cell in passage.push(batch)]
    return sum(cell.value for cell in [*cells, *passage.flush()])


@pytest.mark.parametrize("flush", [True, oop.lazy_flush(slots=3), oop.slow_flush(slots=7, i=2, m=1)], ids=str)
@pytest.mark.parametrize("order", ["oop", "iop"])
def test_forced_it_changes_no_answer(flush, order):
    stream = packets(20_000, groups=9)
    assert rows_of(counted(stream, flush, 500), order=order) == rows_of(counted(stream, range=500))


def test_calendar_and_row_windows_too():
    stream = packets(5_000, groups=9)
    for window in (oop.rows(100), oop.rows(100, every=30), oop.sliding(300, every=100)):
        plain = stream.window(window).group_by("src").agg(n=oop.count())
        reduced = stream.window(window).group_by("src").preaggregate(oop.lazy_flush(slots=4, m=1)).agg(n=oop.count())
        assert rows_of(reduced) == rows_of(plain)


@pytest.mark.parametrize(
    ("plan", "what"),
    [
        (lambda s, f: s.window(oop.session(5)).group_by("src").preaggregate(f).agg(n=oop.count()), "only windows that"),
        (lambda s, f: s.window(oop.landmark(0)).preaggregate(f).agg(n=oop.count()), "only windows that"),
        (lambda s, f: s.group_by("ts").preaggregate(f).agg(n=oop.count()), "only windows that"),
        (
            lambda s, f: s.window(oop.tumbling(5)).preaggregate(f).agg(s=oop.aggregate(0, lambda s, v: s + v)("len")),
            "not all of its functions merge",
        ),
    ],
)
def test_what_cannot_be_preaggregated_is_refused(plan, what):
    with pytest.raises(oop.SchemaMismatch, match=what) as wrong:
        plan(packets(10), True)
    assert "test_preaggregate.py" in str(wrong.value) and wrong.value.hint
    assert plan(packets(10), False)  # none is wanted, and there is none


@pytest.mark.parametrize(
    "call",
    [
        lambda: oop.lazy_flush(m=-1),
        lambda: oop.lazy_flush(slots=0),
        lambda: oop.lazy_flush(slots=2.5),
        lambda: oop.slow_flush(i=0),
        lambda: oop.slow_flush(m=True),
        lambda: oop.slow_flush(slots=2**40),
        lambda: packets(10).window(oop.tumbling(5)).preaggregate("lazy"),
        lambda: packets(10).window(oop.tumbling(5)).preaggregate(oop.Flush(slots=0)),
        lambda: packets(10).window(oop.tumbling(5)).preaggregate(oop.Flush(i=-1)),
        lambda: packets(10).window(oop.tumbling(5)).preaggregate(oop.Flush(m=-1)),
    ],
)
def test_odd_arguments(call):
    with pytest.raises(oop.WrongArgument) as wrong:
        call()
    assert "test_preaggregate.py" in str(wrong.value)


def test_late_rows_need_promises_that_do_not_wait():
    for stream in (
        counted(packets(late="admit"), oop.lazy_flush(m=2)),
        counted(packets(), oop.lazy_flush(m=2), n=oop.count(), late=oop.late()),
    ):
        with pytest.raises(oop.SchemaMismatch, match="late rows"):
            stream.run()
    assert counted(packets(late="admit"), oop.lazy_flush(m=0)).run().to_table().num_rows == 200


def held(flush: Any) -> Harness:
    plan = lambda s: s.window(oop.tumbling(10)).group_by("k").preaggregate(flush).agg(n=oop.count())  # noqa: E731
    return Harness(plan, {"ts": "int64", "k": "string"})


def test_what_is_held_lowers_the_bound_and_is_named_by_blame():
    h = held(oop.lazy_flush(slots=64, m=2))
    h.push({"ts": [1, 12], "k": ["a", "b"]})
    h.promise(ts=20)
    assert h.rows() == [] and h.frontier.bound("window_start") == 0
    assert "window [0, 10) of Preaggregate" in str(h.run.blame())
    h.promise(ts=30)  # two windows behind the first
    assert [row["window_start"] for row in h.rows()] == [0]
    assert h.frontier.bound("window_start") == 10
    h.push({"ts": [35], "k": ["b"]})  # takes the place of what it was
    assert [row["window_start"] for row in h.rows()] == [10]
    assert h.frontier.bound("window_start") == 30


def test_a_table_has_a_fixed_size(monkeypatch):
    monkeypatch.setattr(partial_table, "ENOUGH", 1)
    h = held(oop.lazy_flush(slots=100, m=1))
    sizes = set()
    for i in range(50):
        h.push({"ts": [i] * 40, "k": [f"{i}-{j}" for j in range(40)]})
        table = h.run.metrics.box("Preaggregate")
        assert table.buffered_rows <= 100
        sizes.add(table.state_bytes)
    assert max(sizes) - min(sizes) < 200_000  # the texts that are known


def test_texts_are_forgotten_when_there_are_very_many(monkeypatch):
    monkeypatch.setattr(partial_table, "ROOM", 16)
    h = held(oop.lazy_flush(slots=4, m=1))
    plain = Harness(
        lambda s: s.window(oop.tumbling(10)).group_by("k").agg(n=oop.count()), {"ts": "int64", "k": "string"}
    )
    operator = next(b.operator for b in h.run._boxes if b.node.spec.name == "Preaggregate")
    for i in range(60):
        rows = {"ts": [i // 9] * 10, "k": [f"host {i % 7 * j}" if i % 3 else f"{i}-{j}" for j in range(10)]}
        for each in (h, plain):
            each.push(rows)
        assert len(operator.reducing.table.texts[0]) <= 4 * (4 + 16) + 16
    for each in (h, plain):
        each.end()
    assert bag(h.rows()) == bag(plain.rows())


def test_a_key_with_nulls_may_come_late():
    plans = [lambda g: g.preaggregate(oop.lazy_flush(slots=8, m=1)), lambda g: g]
    found = []
    for told in plans:
        h = Harness(
            lambda s, told=told: told(s.window(oop.tumbling(10)).group_by("a", "b")).agg(n=oop.count()),
            {"ts": "int64", "a": "int32", "b": "double"},
        )
        h.push({"ts": [1, 2], "a": [1, 1], "b": [0.0, -0.0]})
        h.push({"ts": [3, 4, 5], "a": [None, 0, None], "b": [float("nan"), None, float("nan")]})
        h.promise(ts=9)
        h.end()
        found.append(bag(h.rows()))
    assert found[0] == found[1]


def test_what_waits_to_leave_in_slices_is_still_held():
    h = held(oop.lazy_flush(slots=64, m=2))
    operator = next(b.operator for b in h.run._boxes if b.node.spec.name == "Preaggregate")
    h.push({"ts": [1] * 9, "k": list("abcdefghi")})
    operator.reducing.batch_rows = 2
    leaving = operator.process_punctuation((oop.END,))
    while operator.buffered_rows:
        assert operator.state_bytes > 0
        assert next(leaving).num_rows <= 2
    assert list(leaving) == [oop.END] and operator.state_bytes == 0
