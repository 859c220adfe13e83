"""Aurora's boxes at the edges: of 64-bit numbers, of names, and of what is an argument at all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import oop
from oop import aurora
from oop.testing import Harness

COUNT = {"n": oop.count()}
TIME, BY_SID = oop.Order("Time"), oop.Order("Time", group_by="Sid")
LAST = 2**63 - 1


def source(**columns: Any) -> oop.Stream:
    return oop.source(pa.table(columns), time=next(iter(columns)), punctuate=None)


def answer(stream: oop.Stream) -> list[dict[str, Any]]:
    return stream.run(engine=oop.Embedded(check=True)).to_table().to_pylist()


@pytest.mark.parametrize(
    ("size", "at"), [(1, LAST), (2, LAST - 1), (LAST, 1), (1.0, 1e17), (1e308, 1.7e308)], ids=lambda value: f"{value:g}"
)
def test_a_window_from_a_row_whose_end_has_no_number_is_not_lost_in_silence(size: Any, at: Any) -> None:
    box = aurora.Aggregate(COUNT, TIME, size, oop.col("Time") != 0)
    with pytest.raises(oop.TimeError, match=r"cannot begin at Time = .*test_edges.py"):
        answer(box(source(Time=[type(at)(0), at])))


@pytest.mark.parametrize("at, size", [(2.75, 0.5), (0.1, 0.2), (1e16, 3.0), (-0.3, 0.3), (5e-324, 1.0)])
def test_a_window_from_a_row_is_over_with_a_row_at_its_end(at: float, size: float) -> None:
    """Whatever ``at + size`` is as a float: a row there is in it no more, and shows that none will be."""
    box = aurora.Aggregate({"n": oop.count()}, oop.Order("t"), size, oop.col("t") == at)
    harness = Harness(box, {"t": "float64"}, time="t", punctuate=oop.at_end())
    end = at + size
    harness.push({"t": [at, math.nextafter(end, -math.inf)]})
    assert harness.rows() == []
    harness.push({"t": [end]})
    assert harness.rows() == [{"t": at, "n": 2}]
    assert (harness.frontier.bound("t") or -math.inf) <= math.nextafter(end, math.inf)


def test_a_window_from_a_row_may_end_at_the_last_number() -> None:
    rows = source(Time=[-LAST - 1, LAST - 2, LAST - 1, LAST], b=[True, True, False, False])
    found = answer(aurora.Aggregate(COUNT, TIME, 2, oop.col("b"))(rows))
    assert found == [{"Time": -LAST - 1, "n": 1}, {"Time": LAST - 2, "n": 2}]


@pytest.mark.parametrize(
    "make",
    [
        lambda s: aurora.Aggregate(COUNT, TIME, 2**63, oop.col("Time") > 0)(s),
        lambda s: aurora.Resample(COUNT, 2**63, TIME, TIME)(s, s),
        lambda s: s.resample(s, within=2**64, **COUNT),
        lambda s: aurora.BSort(oop.Order("Time", 2**31))(s),
        lambda s: aurora.Aggregate(COUNT, TIME, 0, 1)(s),
        lambda s: aurora.Aggregate(COUNT, TIME, 1, -1)(s),
        lambda s: aurora.Aggregate(COUNT, TIME, oop.col("Time"), 1)(s),
        lambda s: aurora.Aggregate(COUNT, TIME, 1, 1, timeout=True),
        lambda s: aurora.Slide(COUNT, TIME, 1, None)(s),
        lambda s: aurora.XSection(COUNT, BY_SID, 1, 1, idle=True)(s),
        lambda s: aurora.XSection(COUNT, BY_SID, 1, 1, groups=5),
        lambda s: aurora.WSort("Time", timeout=0),
        lambda s: aurora.Tumble(COUNT, 5),
        lambda s: aurora.Tumble(COUNT, [5]),
        lambda s: aurora.Filter(5)(s),
        lambda s: aurora.Filter(oop.col("Time") > 1)(None),
        lambda s: aurora.Map(Time="Time")(5),
        lambda s: aurora.Union()(5, s),
        lambda s: aurora.BSort(None),
        lambda s: oop.Order("Time", slack=1.5),
        lambda s: oop.Order("Time", slack=-1),
        lambda s: oop.Order("Time", group_by=5),
        lambda s: oop.Order("Time", group_by=[None]),
        lambda s: oop.Order("Tup#", slack=1),
        lambda s: aurora.WSort(timeout=1),
        lambda s: s.resample(s, within=-1, **COUNT),
        lambda s: s.resample(s, within=1, n=5),
        lambda s: oop.Order("Time", slack=int),
        lambda s: oop.Order("Time", slack=np.array([1, 2])),
        lambda s: aurora.Aggregate(COUNT, TIME, np.array([1, 2]), 1)(s),
        lambda s: aurora.Aggregate(COUNT, TIME, 1, 1, offset=np.array([1, 2])),
        lambda s: aurora.Aggregate(COUNT, TIME, 2**63 - 1, 1)(s),
        lambda s: aurora.Aggregate(COUNT, oop.Order("Tup#"), 10**30, 1)(s),
        lambda s: aurora.Aggregate(COUNT, TIME, 1, 1, offset=-(2**63))(s),
        lambda s: s.window(oop.tumbling(2**63)).agg(**COUNT),
        lambda s: s.select(x=oop.col("Time").cast("float64")).window(oop.sliding(1e300, every=1.0), on="x"),
        lambda s: aurora.Tumble(COUNT, "Time").split(oop.col("Time") > 1, sort=TIME),
        lambda s: aurora.Tumble(COUNT, "Time").merge(s, s, sort="Time"),
    ],
)
def test_what_is_refused_names_the_line_and_what_to_write(make: Any) -> None:
    with pytest.raises((oop.WrongArgument, oop.TimeError), match=r"(?s)test_edges.py:\d+.*Hint: "):
        make(source(Time=[1], Sid=["a"]))


def test_the_empty_name_is_not_the_time() -> None:
    with pytest.raises(oop.UnknownColumn):
        aurora.BSort(oop.Order("", 1))(source(Time=[1]))


def test_slack_may_be_a_number_of_numpy() -> None:
    assert oop.Order("Time", np.int64(3)) == oop.Order("Time", 3)


def test_functions_may_have_any_name() -> None:
    rows = source(Time=[1, 2, 3], Pos=[4, 5, 6])
    names = ["self", "other", "by", "times", "within", "__rows"]
    functions = {name: oop.sum("Pos") for name in names}
    assert answer(aurora.Resample(functions, 0, TIME, TIME)(rows, rows))[0] == {"Time": 1, **dict.fromkeys(names, 4)}
    assert answer(aurora.Aggregate(functions, TIME, 2, 2)(rows))[1] == {"Time": 2, **dict.fromkeys(names, 11)}
    pairs = answer(aurora.Aggregate(functions, oop.Order("Tup#"), 2, 1)(rows))
    assert pairs == [{"Tup#": i, **dict.fromkeys(names, n)} for i, n in enumerate([9, 11])]
    assert answer(aurora.Map(**{"self": "Pos"})(rows))[0] == {"self": 4}
    by_rows = aurora.Aggregate(COUNT, oop.Order("Tup#", group_by="__rows"), 1, 1)
    assert answer(by_rows(source(Time=[1], __rows=[7]))) == [{"Tup#": 0, "__rows": 7, "n": 1}]


@pytest.mark.parametrize(
    ("name", "advance", "timeout"), [("__arrival", 1, 5), ("__early", 1, 5), ("__begins", 0, None)]
)
def test_names_that_are_taken(name: str, advance: int, timeout: int | None) -> None:
    box = aurora.Aggregate(COUNT, oop.Order("Time", group_by=name), 1, advance or oop.col("Time") > 0, timeout)
    with pytest.raises(oop.SchemaMismatch, match=f"(?s){name}.*test_edges.py"):
        box(source(Time=[1], **{name: [1]}))


@pytest.mark.parametrize("size", ["2s", "+2s", " 2s "])
def test_the_size_of_a_join_as_text(size: str) -> None:
    rows = source(Time=pa.array([1, 2, 4], pa.timestamp("s")))
    assert len(answer(aurora.Join(None, size, TIME, TIME)(rows, rows))) == 7


def test_times_with_and_without_a_zone_are_not_near_each_other() -> None:
    zoned, plain = (source(Time=pa.array([1], pa.timestamp("s", zone))) for zone in ("UTC", None))
    with pytest.raises(oop.SchemaMismatch, match="cannot be compared"):
        aurora.Resample(COUNT, 1, TIME, TIME)(zoned, plain)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_timestamp_stays_hidden_in_rows_that_are_set_aside(threads: int) -> None:
    rows = oop.source(pa.table({"Time": [5, 1, 6, 7], "k": [9, 9, 9, 8]}), time="k", punctuate=oop.slack(0))
    run = aurora.Assume(TIME)(rows).run(engine=oop.Embedded(latency=True, threads=threads))
    run.to_table()
    assert run.late["Assume"].column_names == ["Time", "k", "broke", "late_by"]
    assert run.late.to_table().num_rows == len(run.late) == 2
    assert run.late.drain()["Assume"].column_names == ["Time", "k", "broke", "late_by"]
