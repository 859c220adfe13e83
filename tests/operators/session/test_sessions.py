"""Sessions by example: their edges, what closes them and what they promise, and what is refused."""

from __future__ import annotations

import dataclasses
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop.operators.functions.counts import Count
from oop.operators.session import operator as session_operator
from oop.testing import Harness, check_operator
from tests.operators import fuzz
from tests.operators.session.sessions import counted, harness, push, row


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
