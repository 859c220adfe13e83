"""Sessions by example: their edges, what closes them, what is held, saved and shown, and what is refused."""

from __future__ import annotations

import dataclasses
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.operators.core.keys import KeyTable
from oop.operators.functions.counts import Count
from oop.operators.functions.rows_by_group import RowsByGroup
from oop.operators.session import operator as session_operator
from oop.operators.session.operator import SessionOperator
from oop.testing import Harness, check_operator
from tests.operators import fuzz


def counted(gap: Any = 3, *keys: str) -> Any:
    return lambda s: s.window(oop.session(gap)).group_by(*keys).agg(n=oop.count())


def harness(gap: Any = 3, *keys: str, time: str | pa.DataType = "int64", **more: Any) -> Harness:
    return Harness(counted(gap, *keys), {"ts": time, "user": "string"}, **more)


def operator_of(h: Harness) -> SessionOperator:
    return next(o for o in h._operators() if isinstance(o, SessionOperator))


def row(start: Any, end: Any, n: int, **keys: Any) -> dict[str, Any]:
    return {"window_start": start, "window_end": end, **keys, "n": n}


def push(h: Harness, *times: Any, user: str | None = "ann") -> None:
    h.push({"ts": list(times), "user": [user] * len(times)})


def test_a_session_stays_while_a_row_to_come_could_be_as_far_away_as_the_gap():
    h = harness()
    push(h, 1)
    h.promise(ts=4)  # a row of time 4 may come, and would be in it
    assert h.rows() == []
    push(h, 4)
    h.promise(ts=7)
    assert h.rows() == []
    h.promise(ts=8)
    assert h.rows() == [row(1, 7, 2)]
    assert h.buffered_rows == 0


def test_a_row_out_of_order_bridges_two_sessions():
    h = harness(3, "user")
    push(h, 1, 7)
    assert h.buffered_rows == 2
    push(h, 4, user="bob")  # another group's
    assert h.buffered_rows == 3
    push(h, 4)
    assert h.buffered_rows == 2
    h.end()
    assert sorted(h.rows(), key=str) == [row(1, 10, 3, user="ann"), row(4, 7, 1, user="bob")]


def test_promises_go_with_every_advance_and_no_further_than_what_is_open():
    h = harness()
    h.promise(ts=2)
    assert [str(p) for p in h.promises()] == ["window_start < 2", "window_end < 2"]
    push(h, 5, 7)
    h.promise(ts=9)
    assert [str(p) for p in h.promises()] == ["window_start < 5", "window_end < 9"]
    push(h, 9)
    h.promise(ts=10)
    assert [str(p) for p in h.promises()] == ["window_end < 10"]
    h.promise(ts=20)
    assert h.rows() == [row(5, 12, 3)]
    assert [str(p) for p in h.promises()] == ["window_start < 20", "window_end < 20"]


def test_groups_close_by_their_own_promises():
    h = harness(3, "user")
    push(h, 1)
    push(h, 2, user="bob")
    h.promise(where={"user": "ann"}, ts=9)
    assert h.rows() == [row(1, 4, 1, user="ann")]
    assert [str(p) for p in h.promises()] == ["window_start < 9, user = 'ann'", "window_end < 9, user = 'ann'"]
    h.promise(where={"user": oop.not_in("ann")}, ts=7)
    assert h.rows() == [row(2, 5, 1, user="bob")]
    assert h.frontier.bound("window_start", {"user": "eve"}) == 7
    push(h, 9)
    h.feed(oop.Punctuation({}, {"user": "ann"}))  # the group ends
    assert h.rows() == [row(9, 12, 1, user="ann")]


def test_promises_about_groups_that_are_no_key_count_as_far_as_they_hold_for_all():
    h = harness(3)
    push(h, 1)
    h.promise(where={"user": "ann"}, ts=9)
    assert h.rows() == []
    h.promise(where={"user": oop.not_in("ann")}, ts=7)
    assert h.rows() == [row(1, 4, 1)]


def test_a_session_of_another_group_that_gets_its_own_bound_holds_back_the_others_no_longer():
    h = harness(3, "user")
    push(h, 5)
    h.promise(where={"user": oop.not_in("bob")}, ts=7)
    assert h.frontier.bound("window_start", {"user": "eve"}) == 5
    h.promise(where={"user": "ann"}, ts=8)  # nothing closes, but ann is told apart now
    assert h.frontier.bound("window_start", {"user": "eve"}) == 7


@pytest.mark.parametrize(
    ("type_", "edges", "times"),
    [
        (pa.int8(), pa.int8(), [-100, -99]),
        (pa.uint32(), pa.uint32(), [0, 2]),
        (pa.float16(), pa.float64(), np.array([0.5, 1.5], np.float16)),
        (pa.float32(), pa.float64(), [-0.5, 1.25]),
        (pa.float64(), pa.float64(), [-0.5, 1.25]),
        (pa.date32(), pa.date32(), [-5, -3]),
        (pa.timestamp("ns"), pa.timestamp("ns"), [-(2**40), -(2**40) + 2]),
        (pa.timestamp("s", "Asia/Tokyo"), pa.timestamp("s", "Asia/Tokyo"), [-10, -9]),
    ],
    ids=str,
)
def test_edges_have_the_type_of_the_time(type_: pa.DataType, edges: pa.DataType, times: Any) -> None:
    width = pa.int32() if type_.bit_width == 32 else pa.int64()
    column = pa.array(times, width).view(type_) if pa.types.is_temporal(type_) else pa.array(times, type_)
    gap = "2d" if pa.types.is_date(type_) else "2s" if type_ == pa.timestamp("s", "Asia/Tokyo") else 2
    table = pa.table({"ts": column})
    found = counted(gap)(oop.source(table, time="ts", punctuate=oop.ordered())).run().to_table()
    assert found.schema.types[:2] == [edges, edges]
    assert found["n"].to_pylist() == [2]
    plain = found["window_end"].combine_chunks()
    last = pa.array(times, width).to_pylist()[-1] if pa.types.is_temporal(type_) else float(times[-1])
    assert (plain.view(width) if pa.types.is_temporal(type_) else plain).to_pylist() == [last + 2]


@pytest.mark.parametrize(
    ("type_", "time", "says"),
    [
        (pa.int8(), 126, "beyond what the time column's type int8 can hold"),
        (pa.int64(), 2**63 - 2, "too close to the limit of 64-bit integers"),
        (pa.float64(), -math.inf, "time -inf has no session"),
        (pa.float64(), math.nan, "time nan has no session"),
        (pa.float64(), 1.79e308, "too far from zero"),
    ],
)
def test_an_end_that_does_not_fit_the_type_is_an_error(type_: pa.DataType, time: Any, says: str) -> None:
    gap = 1e308 if time == 1.79e308 else 2
    table = pa.table({"ts": [0], "other": pa.array([time], type_)})
    source = oop.source(table, time="ts", punctuate=oop.at_end())
    with pytest.raises(oop.TimeError, match=says):
        source.window(oop.session(gap), on="other").agg(n=oop.count()).run().to_table()


def test_a_row_without_a_time_is_in_no_session():
    left = oop.source(pa.table({"ts": [1, 2], "k": [1, 2]}), time="ts", punctuate=oop.ordered())
    right = oop.source(pa.table({"ts": [1], "k": [1]}), time="ts", punctuate=oop.ordered())
    joined = left.join(right, on="k", within=(0, 0), how="left")
    found = joined.window(oop.session(5), on="ts_right").agg(n=oop.count()).run().to_table()
    assert found.to_pylist() == [row(1, 6, 1)]


@pytest.mark.parametrize(
    "keys",
    [
        pa.array(["a", None, "a"]),
        pa.array([1.5, math.nan, 1.5]),
        pa.array([Decimal("1.50"), None, Decimal("1.50")]),
        pa.array(["a", None, "a"]).dictionary_encode(),
        pa.array([0, None, 0], pa.timestamp("us", "UTC")),
        pa.array([b"x", None, b"x"], pa.binary()),
        pa.array([True, None, True]),
    ],
    ids=lambda a: str(a.type),
)
def test_keys_of_any_kind(keys: pa.Array) -> None:
    table = pa.table({"ts": [1, 2, 3], "key": keys, "other": ["p", "q", "p"]})
    for by in (["key"], ["key", "other"]):
        stream = oop.source(table, time="ts", punctuate=oop.ordered()).window(oop.session(2)).group_by(*by)
        found = stream.agg(n=oop.count(), least=oop.min("key")).run().to_table()
        assert found.schema.field("key").type == keys.type
        rows = {repr(r["key"]): r["n"] for r in found.to_pylist()}
        first, second = (repr(v) for v in keys.to_pylist()[:2])
        assert rows == {first: 2, second: 1}


def test_a_gap_must_be_positive_and_in_the_unit_of_the_time():
    numbers = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.ordered())
    with pytest.raises(ValueError, match="the gap of a session must be greater than 0, not 0"):
        numbers.window(oop.session(0))
    with pytest.raises(ValueError):
        numbers.window(oop.session("3s"))
    with pytest.raises(TypeError, match=r"a window is oop.tumbling\(…\), sliding, session"):
        numbers.window("3s")


def test_an_aggregate_without_a_merge_is_refused_where_it_is_written():
    @dataclasses.dataclass(frozen=True)
    class Alone(Count):
        @property
        def can_merge(self) -> bool:
            return False

    grouped = oop.source(pa.table({"ts": [1]}), time="ts", punctuate=oop.ordered()).window(oop.session(3))
    with pytest.raises(oop.OopError, match=r"n=count\(\) has no merge, and a session needs it") as raised:
        grouped.agg(n=Alone())
    assert raised.value.at is not None and "test_sessions.py" in raised.value.at
    assert raised.value.hint is not None


def test_a_plan_that_could_never_close_a_session_is_refused():
    by_user = oop.slack(3, by="user")
    with pytest.raises(oop.NeverEmits, match="only for groups of 'user'"):
        harness(3, punctuate=by_user)
    harness(3, "user", punctuate=by_user)
    with pytest.raises(oop.NeverEmits, match="makes no promise about 'other'"):
        Harness(lambda s: s.window(oop.session(3), on="other").agg(n=oop.count()), {"ts": "int64", "other": "int64"},
                punctuate=oop.ordered())  # fmt: skip


def test_explain_says_how_a_session_is_closed():
    s = oop.source(pa.table({"ts": [1], "user": ["ann"]}), time="ts", punctuate=oop.ordered(), name="visits")
    assert counted(3, "user")(s).explain().splitlines()[0] == (
        "Session 3 on ts: n=count() by user   emits a session when a time after its end is promised"
    )


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
    assert operator_of(h).table._sorts


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


LAWS = {
    "a promise too far": lambda self, columns: lambda where: None,
    "a promise too late": lambda self, columns: lambda where: -(10**6),
}


@pytest.mark.parametrize("broken", LAWS)
def test_the_laws_see_a_promise_that_is_not_what_is_held_back(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_operator.SessionOperator, "_least_starts", LAWS[broken])
    schema = fuzz.schema_of(pa.int64())
    rows = [{"ts": t, "link": "A", "k": 1, "v": 1, "x": 1.0} for t in (1, 3, 20)]
    elements: list[Any] = [pa.RecordBatch.from_pylist([r], schema=schema) for r in rows]
    elements.insert(2, oop.Punctuation({"ts": 4}))
    wrong = {"a promise too far": "what is open breaks it|broke its", "a promise too late": "not prompt"}[broken]
    with pytest.raises((AssertionError, oop.PunctuationViolated), match=wrong):
        check_operator(counted(3, "link"), elements)


def test_a_promise_at_the_beginning_of_all_time_closes_nothing():
    h = harness()
    push(h, 5)
    h.promise(ts=-(2**63))
    assert h.rows() == [] and h.buffered_rows == 1
    h.promise(ts=9)
    assert h.rows() == [row(5, 8, 1)]
