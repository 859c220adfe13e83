"""What is held of sessions: how it is shown, saved and given back, what it costs, and what late rows do to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.operators.core.keys import KeyTable
from oop.operators.functions.rows_by_group import RowsByGroup
from oop.testing import Harness
from tests.operators.session.sessions import counted, harness, operator_of, push, row


def test_what_is_open_can_be_shown_and_named():
    h = harness(3, "user")
    operator = operator_of(h)
    assert operator.shows_open
    assert operator.oldest() is None and list(operator.open_results()) == []
    push(h, 5, 6)
    push(h, 4, user="bob")
    shown = [r for b in operator.open_results() for r in b.to_pylist()]
    assert sorted(shown, key=str) == [row(4, 7, 1, user="bob"), row(5, 9, 2, user="ann")]
    held = operator.oldest()
    assert held is not None and held.what == "session 4 to 7 of user='bob'"
    assert held.release == oop.Punctuation({"ts": 8})
    h.promise(ts=7)
    assert h.rows() == []
    h.feed(held.release)
    assert h.rows() == [row(4, 7, 1, user="bob")]
    h.promise(where={"user": "bob"}, ts=20)
    held = operator.oldest()
    assert held is not None and held.release == oop.Punctuation({"ts": 10}, {"user": "ann"})
    push(h, 8)
    assert shown[0] in [row(5, 9, 2, user="ann"), row(4, 7, 1, user="bob")]  # what was shown does not change


def test_the_least_promise_that_releases_a_session_on_float_times():
    h = harness(0.5, time="float64")
    push(h, 0.25)
    held = operator_of(h).oldest()
    assert held is not None
    h.promise(ts=0.75)
    assert h.rows() == []
    h.feed(held.release)
    assert h.rows() == [row(0.25, 0.75, 1)]


def test_only_what_changed_is_saved():
    h = harness(8, "user")
    operator = operator_of(h)

    def saved() -> dict[str, pa.RecordBatch | None]:
        return {k: p for k, p in operator.save() if k.startswith("slice/")}

    push(h, 1, 2)
    push(h, 20, user="bob")
    first = saved()
    assert len(first) == 2 and all(p is not None for p in first.values())
    assert saved() == {}
    push(h, 3)
    second = saved()
    # ann's session ends elsewhere now: the part it was in is gone, another is there
    assert sorted(p is None for p in second.values()) == [False, True]
    push(h, 2)
    (part,) = saved().values()  # nothing about when it is due, but one row more
    assert part is not None and part.num_rows == 1
    h.promise(ts=15)
    assert list(saved().values()) == [None]
    h.end()
    assert list(saved().values()) == [None]


def test_memory_is_given_back_when_all_has_gone():
    h = harness(3, "user")
    h.push({"ts": [1] * 9_000, "user": [str(i) for i in range(9_000)]})
    assert operator_of(h).state_bytes > 9_000 * 40
    h.end()
    assert len(h.rows()) == 9_000
    assert operator_of(h).state_bytes < 10_000


def test_keys_are_numbered_anew_when_most_have_no_session():
    h = harness(3, "user")
    for at in range(20):
        h.push({"ts": [10 * at] * 2_000, "user": [f"{at} {i}" for i in range(1_999)] + ["always"]})
        h.promise(ts=10 * at - 10)
    assert len(operator_of(h).table.keys) < 20_000
    h.end()
    rows = h.rows()
    assert len(rows) == 40_000 and {r["n"] for r in rows} == {1}
    assert sorted(r["window_start"] for r in rows if r["user"] == "always") == [10 * at for at in range(20)]


def test_sessions_are_filed_while_promises_are_frequent():
    """Then a promise must not look at all of them; with many rows before it, looking costs less than filing."""
    schema = pa.schema([("ts", pa.int64()), ("user", pa.int64())])
    h = Harness(lambda s: s.window(oop.session(1_000)).group_by("user").agg(n=oop.count()), schema)
    table = operator_of(h).table
    users = np.arange(20_000)
    h.push({"ts": users // 100, "user": users})
    for at in range(1, 200):
        h.promise(ts=at)
        h.push({"ts": [at + 1] * 5, "user": [at * 5 + i for i in range(5)]})
    assert table.filed is not None and len(table) == 20_000
    h.push({"ts": [300] * 20_000, "user": users})
    h.promise(ts=300)
    assert table.filed is None and len(table) == 20_000
    h.end()
    assert sum(r["n"] for r in h.rows()) == 40_000 + 199 * 5 and len(table) == 0


def test_very_many_open_sessions_of_a_key_cost_no_search_each():
    """In any order, and nothing is promised before the end."""
    rng = np.random.default_rng(5)
    times = rng.permutation(np.repeat(np.arange(40_000) * 10, 2) + np.tile([0, 2], 40_000))
    table = pa.table({"ts": times})
    source = oop.source(table.to_batches(max_chunksize=8_192), time="ts", punctuate=oop.at_end())
    run = counted(3)(source).run()
    found = run.to_table()
    assert found.num_rows == 40_000 and set(found["n"].to_pylist()) == {2}
    h = Harness(counted(3), table.schema)
    for batch in table.to_batches(max_chunksize=8_192):
        h.push(batch)
    assert operator_of(h).table.sorts


def unused(h):
    return sum(b.late_unused for b in h.run.metrics.boxes)


def test_a_late_row_is_used_where_no_promise_says_that_no_session_begins():
    h = harness(3, late="admit")
    push(h, 5)
    h.promise(ts=7)  # window_start < 5, for that session is open
    push(h, 6)  # late, and in it
    push(h, 3)  # late: it would move its start before what was promised
    assert unused(h) == 1
    h.promise(ts=10)
    assert h.rows() == [row(5, 9, 2)]
    push(h, 9)  # late, and it would touch what went out
    push(h, 8)  # and this one, too
    assert unused(h) == 3
    h.end()
    assert h.rows() == []


def test_rows_on_time_keep_the_session_that_a_late_row_would_reach():
    """It would have been marked late as a whole, and a window behind it would have dropped it."""
    sessions = counted(3)
    h = Harness(
        lambda s: sessions(s).window(oop.tumbling(10)).agg(n=oop.sum("n")),
        {"ts": "int64", "user": "string"},
        late="admit",
    )
    h.promise(ts=10)
    push(h, 11)  # on time
    push(h, 9)  # late, and in reach of it
    h.end()
    assert [r["n"] for r in h.rows()] == [1] and unused(h) == 1


def test_late_rows_are_remembered_for_by_every_way_of_admitting_them():
    table = pa.table({"ts": [5]})
    for stream in (
        counted()(oop.source(table, time="ts", punctuate=oop.ordered(), late="admit")),
        counted()(oop.source(table, time="ts", punctuate=oop.ordered())).late("admit"),
    ):
        assert stream.flow.node.spec.admits  # type: ignore[attr-defined]
    assert not counted()(oop.source(table, time="ts", punctuate=oop.ordered())).flow.node.spec.admits


@pytest.mark.parametrize(
    "aggregate",
    [oop.count_distinct("v"), oop.median("v"), oop.collect("v", 3), oop.last("user")],
    ids=["distinct", "median", "list", "last"],
)
def test_what_goes_out_costs_what_it_has_not_what_is_held(aggregate: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of many sessions after the other: each row is looked at a few times, not once for each that closes."""
    looked_at = 0
    take, map_ = RowsByGroup.take, KeyTable.map

    def taken(self: RowsByGroup, rows: np.ndarray) -> RowsByGroup:
        nonlocal looked_at
        looked_at += len(rows)
        return take(self, rows)

    def mapped(self: KeyTable, keys: Any, length: int, *more: Any) -> np.ndarray:
        nonlocal looked_at
        looked_at += length
        return map_(self, keys, length, *more)

    monkeypatch.setattr(RowsByGroup, "take", taken)
    monkeypatch.setattr(KeyTable, "map", mapped)
    many, gap = 300, 10_000
    schema = {"ts": "int64", "user": "string", "v": "int64"}
    h = Harness(lambda s: s.window(oop.session(gap)).group_by("user").agg(a=aggregate), schema)
    users = [f"u{i}" for i in range(many)]
    h.push({"ts": list(range(many)), "user": users, "v": list(range(many))})
    for i in range(many):
        h.promise(ts=gap + i + 1)
        assert [(r["window_start"], r["user"]) for r in h.rows()] == [(i, f"u{i}")]
        h.push({"ts": [gap + many + i], "user": [f"v{i}"], "v": [i]})  # and others take their places
    assert looked_at < 30 * many
