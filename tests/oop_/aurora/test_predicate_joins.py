"""Aurora's Join: its predicates, static tables, numbers of rows, and the groups that free what it holds."""

from __future__ import annotations

from functools import reduce
from operator import or_
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import oop
from oop import aurora
from oop.aurora.join_groups import values_listed
from oop.testing import Harness
from tests.oop_.aurora.reports import ORDER, REPORTS, source


def test_a_join_of_any_rows_with_groups_that_are_known() -> None:
    """Nothing relates the groups of the two sides: rows stay until the slowest group has passed them."""
    known = aurora.Assume(ORDER, groups=["a", "b"])
    box = aurora.Join(oop.col("Pos") < oop.col("Pos_right"), size=2, left=known, right=known)
    h = Harness(box, REPORTS, REPORTS, time="Time", punctuate=oop.at_end())
    h.push({"Sid": ["a", "b", "a"], "Time": [1, 2, 9], "Pos": [1, 5, 1]}, 0)
    h.push({"Sid": ["b", "a"], "Time": [3, 4], "Pos": [4, 6]}, 1)
    found = [(r["Sid"], r["Time"], r["Sid_right"], r["Time_right"]) for r in h.rows()]
    assert sorted(found) == [("a", 1, "b", 3), ("b", 2, "a", 4)]
    assert h.buffered_rows == 5
    h.push({"Sid": ["b"], "Time": [8], "Pos": [0]}, 0)  # now no row of the left comes below 8
    assert h.buffered_rows == 4
    h.push({"Sid": ["a", "b"], "Time": [12, 12], "Pos": [0, 0]}, 1)
    assert h.rows() == []
    h.end(0)
    h.end(1)
    assert h.buffered_rows == 0


def test_joins_with_tables(tmp_path: Path) -> None:
    names = pa.table({"Sid": ["a", "b"], "Name": ["Ann", "Bob"], "Pos": [0, 5]})
    pq.write_table(names, tmp_path / "names.parquet")
    reports = source(Time=[1, 3, 2, 4], Sid=["a", "b", "a", "c"], Pos=[1, 2, 3, 4])
    same = (oop.col("Sid") == oop.col("Sid_right")) & (oop.col("Pos") > oop.col("Pos_right"))
    right = aurora.Join(same, left=oop.Order("Time"))
    for table in (names, str(tmp_path / "names.parquet")):
        run = right(reports, table).run()
        assert run.to_table().to_pylist() == [
            {"Time": 1, "Sid": "a", "Pos": 1, "Sid_right": "a", "Name": "Ann", "Pos_right": 0}
        ]
        assert run.late["Assume"]["Time"].to_pylist() == [2], "out of order"
    left = aurora.Join(same, right=oop.Order("Time", 1))(names, reports)
    assert left.schema.names == ["Sid", "Name", "Pos", "Time", "Sid_right", "Pos_right"]
    assert left.run().to_table().to_pylist() == [
        {"Sid": "b", "Name": "Bob", "Pos": 5, "Time": 3, "Sid_right": "b", "Pos_right": 2}
    ]
    everyone = aurora.Join(None, left=oop.Order("Time", 1))(reports, names)
    assert everyone.run().to_table().num_rows == 8


def test_a_join_of_two_tables() -> None:
    """ "Join also permits one or both of its inputs to be static tables" (Aurora paper, section 5.2.2.3)."""
    names = pa.table({"Sid": [2, 1, None], "Name": ["Bob", "Ann", "?"], "__row": [7, 8, 9]})
    ranks = pa.table({"Sid": [1, 2, 1, None], "Rank": [10, 20, 30, 40]})
    same = aurora.Join(oop.col("Sid") == oop.col("Sid_right"))(names, ranks)
    assert same.schema.names == ["Sid", "Name", "__row", "Sid_right", "Rank"]
    found = {(r["Sid"], r["Name"], r["__row"], r["Sid_right"], r["Rank"]) for r in same.run().to_table().to_pylist()}
    assert found == {(2, "Bob", 7, 2, 20), (1, "Ann", 8, 1, 10), (1, "Ann", 8, 1, 30)}
    assert aurora.Join(None)(names, ranks).run(order="iop").to_table().num_rows == 12
    counted = aurora.Aggregate({"n": oop.count()}, oop.Order("Sid", 3), 1, 1)(same)
    assert counted.run().to_table().to_pylist() == [{"Sid": 1, "n": 2}, {"Sid": 2, "n": 1}]
    for order in ({"left": oop.Order("Sid")}, {"right": oop.Order("Sid")}):
        with pytest.raises(ValueError, match="is in no order"):
            aurora.Join(None, **order)(names, ranks)
    with pytest.raises(ValueError, match="leave out size="):
        aurora.Join(None, size=1)(names, ranks)


def test_joins_of_other_predicates() -> None:
    nan = float("nan")
    x = source(Time=[1, 2, 3], k=pa.array([1, 2, 3], pa.int32()), f=[0.5, nan, 1.5])
    y = source(Time=[1, 2, 3], k=pa.array([3, 2, 1], pa.int64()), f=[0.5, nan, 1.5])
    order = oop.Order("Time")
    for predicate, count in (
        (oop.col("k") == oop.col("k_right"), 3),
        (oop.col("f") == oop.col("f_right"), 2),
        (oop.col("k") * 1 == oop.col("k_right"), 3),
        ((oop.col("k") == oop.col("k_right")) & (oop.col("Time") == oop.col("k")), 3),
        ((oop.col("k") == oop.col("k_right")) & (oop.col("Time") == oop.col("Time_right")), 1),
        ((oop.col("k") == oop.col("k_right")) & (oop.col("k") == oop.col("Time_right")), 1),
        (None, 9),
    ):
        assert aurora.Join(predicate, 5, order, order)(x, y).run().to_table().num_rows == count, repr(predicate)


def test_joins_on_numbers_of_rows() -> None:
    """An order on Tup# is that of arrival."""
    x, y = source(Time=[7, 5, 6]), source(Time=[9, 9, 8])
    zipped = aurora.Join(None, 0, oop.Order("Tup#"), oop.Order("Tup#"))(x, y).run().to_table()
    assert sorted(zip(zipped["Time"].to_pylist(), zipped["Time_right"].to_pylist(), strict=True)) == [
        (5, 9),
        (6, 8),
        (7, 9),
    ]


def test_an_order_by_groups_in_a_join_needs_an_equality() -> None:
    x = source(Time=[1], Sid=["a"])
    with pytest.raises(
        oop.SchemaMismatch, match=r"the right order is by 'Sid'.*'Sid_right'.*(?s:.)*oop.col\('Sid_right'\)"
    ):
        aurora.Join(None, 1, oop.Order("Time"), ORDER)(x, x)
    same = oop.col("Sid") == oop.col("Sid_right")
    assert aurora.Join(same, 1, oop.Order("Time"), ORDER)(x, x).run().to_table().num_rows == 1


@pytest.mark.parametrize(
    ("predicate", "freed"),
    [
        (oop.col("Sid_right") == "a", [3, 1, 1]),
        (oop.col("Sid_right").isin(["a", "b"]), [4, 5, 3]),
        ((oop.col("Sid_right") == "b") | (oop.col("Sid_right") == "a"), [4, 5, 3]),
        ((oop.col("Sid_right") == "a") & oop.col("Sid_right").isin(["a", "b"]), [3, 1, 1]),  # only what both list
        (oop.col("Sid_right").isin(["d", "b", "a"]) & oop.col("Sid_right").isin(["a", "b"]), [4, 5, 3]),
        ((oop.col("Sid_right") == "a") & (oop.col("Sid_right") == "b"), [3, 3, 3]),  # no row passes
    ],
    ids=str,
)
def test_a_join_whose_predicate_lists_the_groups_frees_by_these(predicate, freed) -> None:
    """With one group its own bound frees rows of the left; with two it is the slower one's."""
    box = aurora.Join(predicate & (oop.col("Pos") < oop.col("Pos_right")), 2, oop.Order("Time"), ORDER)
    h = Harness(box, REPORTS, REPORTS, time="Time", punctuate=oop.at_end())
    h.push({"Sid": ["x", "y", "z"], "Time": [1, 2, 3], "Pos": [0, 0, 0]}, 0)
    held = []
    for sid, time in (("b", 3), ("a", 9), ("b", 30)):
        h.push({"Sid": [sid, "c"], "Time": [time, 500 - time], "Pos": [5, 5]}, 1)  # c is not listed: it frees nothing
        held.append(h.buffered_rows)
    assert held == freed
    found = sorted((r["Time"], r["Sid_right"], r["Time_right"]) for r in h.rows())
    assert found == ([] if freed[0] == 3 else [(1, "b", 3), (2, "b", 3), (3, "b", 3)])


def test_a_predicate_may_list_thousands_of_groups() -> None:
    """Each ``or`` is nested in the next, deeper than Python's stack is."""
    found = values_listed(reduce(or_, [oop.col("Sid") == number for number in range(3_000)]))
    assert found == tuple(range(3_000))


def test_a_join_by_groups_is_freed_by_what_the_source_promises_of_all() -> None:
    rows = pa.table({"Time": [1, 2, 9, 30], "Sid": ["a", "b", "a", "c"], "Pos": [1, 2, 3, 4]})
    s = oop.source(rows.to_batches(1), time="Time", punctuate=oop.slack(3), schema=rows.schema)
    run = aurora.Join(oop.col("Pos") <= oop.col("Pos_right"), 2, ORDER, ORDER)(s, s).run()
    assert run.to_table().num_rows == 5
    (join,) = [box for box in run.metrics.boxes if box.name.startswith("Join")]
    assert join.peak_buffered_rows < 8
    at_end = oop.source(rows, time="Time", punctuate=oop.at_end())
    with pytest.raises(oop.SchemaMismatch, match="would free no row"):
        aurora.Join(None, 2, ORDER, ORDER)(at_end, at_end)


@pytest.mark.parametrize(
    "predicate",
    [
        oop.col("Sid_right") > "a",
        oop.col("Sid_right").isin([]),
        (oop.col("Sid_right") == "a") | (oop.col("Time") == 3),
        ~(oop.col("Sid_right") == "a"),
        oop.col("Sid") == "a",
        oop.col("Time_right") == 1,
    ],
    ids=str,
)
def test_a_join_whose_predicate_does_not_list_the_groups_is_refused(predicate) -> None:
    x = source(Time=[1], Sid=["a"])
    with pytest.raises(oop.SchemaMismatch, match="would free no row"):
        aurora.Join(predicate, 1, oop.Order("Time"), ORDER)(x, x)


def test_a_join_of_groups_of_which_some_columns_are_equal_and_others_listed() -> None:
    x = source(Time=[1, 2], Sid=["a", "b"], Ex=["N", "L"])
    order, same = oop.Order("Time", group_by=["Sid", "Ex"]), oop.col("Sid") == oop.col("Sid_right")
    found = aurora.Join(same & (oop.col("Ex_right") == "N"), 1, oop.Order("Time"), order)(x, x)
    assert found.run().to_table()["Sid"].to_pylist() == ["a"]
    assert "Assume order on Time, by Sid " in found.explain()
    for several in (oop.col("Ex_right").isin(["N", "L"]), oop.col("Ex_right") > "A"):
        with pytest.raises(oop.SchemaMismatch, match="the right order is by 'Ex'"):
            aurora.Join(same & several, 1, oop.Order("Time"), order)(x, x)
