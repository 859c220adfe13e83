"""Aurora's boxes: times and groups, ledgers, windows across groups, splits, and what is refused with its line."""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa
import pytest

import oop
from oop import aurora
from oop.testing import Harness
from tests.oop_.aurora.reports import ORDER, REPORTS, source

REFUSED = r"(?s)test_boxes.py:\d+.*Hint: "


def test_it_is_there_after_import() -> None:
    assert oop.aurora is aurora and "aurora" in oop.__all__
    with pytest.raises(AttributeError, match="no attribute 'borealis'"):
        oop.borealis  # noqa: B018


def test_times_may_be_timestamps() -> None:
    start = datetime(2024, 1, 1, 1)
    times = [start + timedelta(minutes=m) for m in (0, 15, 61, 45)]
    quotes = source(Time=times, Sid=["IBM"] * 4, Price=[24, 20, 17, 13])
    box = aurora.Aggregate(
        {"AvgPrice": oop.mean("Price")}, assuming=oop.Order("Time", 1, "Sid"), size="1h", advance="1h"
    )
    assert box(quotes).schema.names == ["Time", "Sid", "AvgPrice"]
    assert box(quotes).run().to_table().to_pylist()[0] == {"Time": start, "Sid": "IBM", "AvgPrice": 19.0}


def test_several_group_columns() -> None:
    rows = source(Time=[1, 1, 6, 7, 2], a=["x", "y", "x", "y", "y"], b=[1, None, 1, None, None])
    run = aurora.Aggregate({"n": oop.count()}, oop.Order("Time", group_by=["a", "b"]), 5, 5)(rows).run()
    first = next(iter(run)).to_pylist()
    assert first == [{"Time": 0, "a": "x", "b": 1, "n": 1}, {"Time": 0, "a": "y", "b": None, "n": 1}]
    assert run.to_table().num_rows == 2
    assert run.late.to_table()["broke"].to_pylist() == ["Time < 7, a = 'y', b = None"]


def test_rows_without_a_place_in_the_order_are_set_aside() -> None:
    rows = source(t=[1, 2, 3, 4, 5], x=[1.0, None, float("nan"), float("inf"), 2.0])
    run = aurora.Assume(oop.Order("x"))(rows).run()
    assert run.to_table()["t"].to_pylist() == [1, 5]
    assert run.late["Assume"]["t"].to_pylist() == [2, 3, 4]
    assert set(run.late["Assume"]["broke"].to_pylist()) == {"a row without a time"}
    assert len(run.late) == 3 and repr(run.late) == "<Late table: 0, Assume: 3>"


def test_ledgers_have_names_and_are_drained() -> None:
    rows = source(t=[1, 2, 3], x=[3, 2, 1])
    run = aurora.Assume(oop.Order("x", 1))(aurora.Assume(oop.Order("x"))(rows)).run(engine=oop.Embedded(threads=2))
    assert run.to_table()["t"].to_pylist() == [1]
    assert run.late["Assume"]["late_by"].to_pylist() == [1.0, 2.0] and run.late["Assume (2)"].num_rows == 0
    assert "Assume" in run.late and run.late.to_table().num_rows == 2
    assert run.late.drain()["Assume"].num_rows == 2
    assert run.late["Assume"].num_rows == 0 and len(run.late) == 2


def test_ledgers_of_threads_are_one() -> None:
    rows = source(Time=[9, 9, 9, 1, 2, 3], Sid=["a", "b", "c", "a", "b", "c"])
    run = aurora.Assume(ORDER)(rows).run(engine=oop.Embedded(threads=3))
    assert run.to_table().num_rows == 3
    assert sorted(run.late["Assume"]["Time"].to_pylist()) == [1, 2, 3]


def test_xsection_waits_for_every_group() -> None:
    box = aurora.XSection({"n": oop.count(), "most": oop.max("Pos")}, ORDER, size=5, advance=5, groups=["a", "b"])
    harness = Harness(box, REPORTS, time="Time", punctuate=oop.at_end())
    harness.push({"Sid": ["a", "a", "a"], "Time": [1, 6, 11], "Pos": [1, 2, 3]})
    assert harness.rows() == []
    harness.push({"Sid": ["b", "b"], "Time": [3, 7], "Pos": [9, 1]})
    assert harness.rows() == [{"Time": 0, "n": 2, "most": 9}]
    assert harness.promises() == [oop.Punctuation({"Time": 5})]
    harness.push({"Sid": ["c", "c"], "Time": [6, 7], "Pos": [0, 0]})
    assert harness.late["Assume"].to_pylist()[0]["broke"] == "Time < 7, Sid = 'c'", "it must keep up with the others"
    harness.end()
    assert [r["n"] for r in harness.rows()] == [3, 1]


def test_xsection_of_groups_that_retire() -> None:
    box = aurora.XSection({"n": oop.count()}, ORDER, size=5, advance=5, idle=10)
    harness = Harness(box, REPORTS, time="Time", punctuate=oop.at_end())
    harness.push({"Sid": ["a", "b"], "Time": [1, 2], "Pos": [0, 0]})
    harness.push({"Sid": ["a"], "Time": [12], "Pos": [0]})
    assert harness.rows() == [], "b is not yet silent for more than 10"
    harness.push({"Sid": ["a"], "Time": [13], "Pos": [0]})
    assert harness.rows() == [{"Time": 0, "n": 2}]


def test_xsection_of_unknown_groups_needs_the_end() -> None:
    box = aurora.XSection({"n": oop.count()}, ORDER, size=5, advance=5)
    with pytest.raises(oop.NeverEmits, match=r"test_boxes.py:\d+") as error:
        box(oop.source(pa.table({"Time": [1], "Sid": ["a"]}), time="Time", punctuate=None))
    assert "groups=" in str(error.value)
    stream = oop.source(pa.table({"Time": [1, 2], "Sid": ["a", "b"]}), time="Time", punctuate=oop.at_end())
    assert box(stream).run().to_table().to_pylist() == [{"Time": 0, "n": 2}]


def test_orders_by_several_columns_name_their_groups() -> None:
    order = oop.Order("Time", group_by=["Sid", "Ex"])
    x = source(Time=[1, 9, 3, 8], Sid=["a", "a", "b", "b"], Ex=["N", "N", "L", "L"], Pos=[4, 5, 6, 7])
    for groups in ([("a", "N"), ("b", "L")], [{"Ex": "N", "Sid": "a"}, ("b", "L")]):
        box = aurora.XSection({"Mean": oop.mean("Pos")}, order, 5, 5, groups=groups)
        assert "of (Ex = 'N', Sid = 'a'), (Ex = 'L', Sid = 'b')" in box(x).explain()
        assert box(x).run().to_table().to_pylist() == [{"Time": 0, "Mean": 5.0}, {"Time": 5, "Mean": 6.0}]
    with pytest.raises(oop.WrongArgument, match=r"test_boxes.py.*(?s:.)*a tuple of Sid, Ex"):
        aurora.Assume(order, groups=[("a", "N", 1)])
    with pytest.raises(oop.SchemaMismatch, match="5 is not a value"):
        aurora.Assume(order, groups=[("a", 5)])(x)
    with pytest.raises(oop.SchemaMismatch, match="groups= and idle="):
        aurora.Assume(oop.Order("Tup#", group_by=["Sid", "Ex"]), groups=[("a", "N")])(x)


def test_combination_functions() -> None:
    functions = {"n": oop.count(), "s": oop.sum("B"), "least": oop.min("B"), "most": oop.max("B")}
    assert [str(f) for f in aurora.Tumble(functions, "A").combined.functions.values()] == [
        "sum(n)",
        "sum(s)",
        "min(least)",
        "max(most)",
    ]
    product = oop.aggregate(1, lambda s, v: s * v, lambda a, b: a * b)("B")
    merged = source(part=[6, 20])
    assert aurora.Tumble({"p": product.combine("part")})(merged).run().to_table().to_pylist() == [{"p": 120}]
    ends = oop.aggregate(1, lambda s, v: s * v, lambda a, b: a * b, lambda s: -s)("B")
    named = oop.aggregate(0, lambda s, v: s + v, name="sum")("B")
    for other in (oop.mean("B"), oop.var("B"), oop.count_distinct("B"), oop.last("B"), oop.top("B", 2), ends, named):
        with pytest.raises(oop.OopError, match="has no combination function"):
            aurora.Tumble({"x": other}, "A").split(oop.col("B") < 3)
    with pytest.raises(oop.OopError, match="a mean is a sum and a count"):
        oop.mean("B").combine("x")


def test_a_count_of_a_split_is_that_of_one_machine() -> None:
    """Aurora* and Medusa paper, section 5.1: the split takes place after tuple 3, by B < 3. Its merge waits for a
    promise about A, as the paper's does for WSort's timeout; here A is in order."""
    schema = {"A": "int64", "B": "int64"}
    rows = [(1, 2), (1, 3), (2, 2), (2, 1), (2, 6), (4, 5), (4, 2)]
    box = aurora.Tumble({"result": oop.count()}, "A")
    route = (oop.col("Tup#") < 3) | (oop.col("B") < 3)

    def machine(number: int):
        def boxes(stream: oop.Stream) -> oop.Stream:
            routed = aurora.Filter(route)(aurora.Assume(oop.Order("Tup#"))(stream))
            return box(routed[number])

        return boxes

    def whole(stream: oop.Stream) -> oop.Stream:
        numbered = aurora.Assume(oop.Order("Tup#"))(aurora.Assume(oop.Order("A"))(stream))
        return box.split(route)(numbered)

    found = []
    for boxes in (machine(0), machine(1), whole, box):
        harness = Harness(boxes, schema, time="A", punctuate=oop.at_end())
        harness.push([dict(zip(schema, row, strict=True)) for row in rows])
        found.append([(r["A"], r["result"]) for r in harness.rows()])
    assert found[:2] == [[(1, 2), (2, 2)], [(2, 1)]], "machine 1 has seen tuples 1, 2, 3, 4 and 7, machine 2 5 and 6"
    assert found[3] == [(1, 2), (2, 3)]
    # the merging Tumble has the same tuples, of which the last may still grow: A < 4 is promised, so it does not
    assert found[2] == [(1, 2), (2, 3)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: aurora.Aggregate(oop.count(), ORDER, 1, 1),
        lambda: aurora.Aggregate({"n": 5}, ORDER, 1, 1),
        lambda: aurora.Assume("Time"),
        lambda: aurora.Assume(ORDER, groups="ab"),
        lambda: aurora.Join(5),
        lambda: aurora.Join(None)(5, 6),
        lambda: aurora.Join(None, 5, ORDER)(source(Time=[1], Sid=["a"]), source(Time=[1], Sid=["a"])),
        lambda: aurora.Tumble({"n": oop.count()})(5),
        lambda: aurora.Union()(),
    ],
)
def test_wrong_arguments(make) -> None:
    with pytest.raises(oop.WrongArgument, match=REFUSED):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda s: aurora.Aggregate({}, ORDER, 1, oop.col("Time") > 1, timeout=0),
        lambda s: aurora.Aggregate({}, ORDER, 1, oop.col("Time") > 1, offset=5),
        lambda s: aurora.Aggregate({}, oop.Order("Tup#"), 1, 1, offset=5),
        lambda s: aurora.Aggregate({}, ORDER, 0, 1)(s),
        lambda s: aurora.Aggregate({}, ORDER, 1, 1, timeout=0),
        lambda s: aurora.Slide({"n": oop.count()}, ORDER, 2, 3)(s),
        lambda s: aurora.XSection({}, oop.Order("Time"), 1, 1),
        lambda s: aurora.XSection({}, oop.Order("Tup#", group_by="Sid"), 1, 1),
        lambda s: aurora.Assume(ORDER, groups=["a"], idle=5),
        lambda s: aurora.Assume(oop.Order("Time"), groups=["a"]),
        lambda s: aurora.Assume(ORDER, groups=[]),
        lambda s: aurora.Assume(ORDER, idle=-1)(s),
        lambda s: aurora.Join(None, 5, ORDER)(s, pa.table({"x": [1]})),
        lambda s: aurora.Join(None, right=ORDER)(s, pa.table({"x": [1]})),
        lambda s: aurora.Join(None, -1, ORDER, ORDER)(s, s),
        lambda s: aurora.Tumble({"n": oop.count()}).merge(s, s),
    ],
)
def test_wrong_values(make) -> None:
    with pytest.raises(oop.WrongArgument, match=REFUSED):
        make(source(Time=[1], Sid=["a"]))


def test_a_size_in_hours_of_plain_numbers_has_no_meaning() -> None:
    with pytest.raises(ValueError, match="'1h' has no meaning; give a number"):
        aurora.Aggregate({}, ORDER, "1h", "1h")(source(Time=[1], Sid=["a"]))


@pytest.mark.parametrize(
    "make",
    [
        lambda s: aurora.Assume(oop.Order("time")),
        lambda s: aurora.Assume(oop.Order("Time", group_by="sid")),
        lambda s: aurora.Assume(oop.Order("Sid")),
        lambda s: aurora.Assume(oop.Order("Tup#", group_by="Sid"), groups=["a"]),
        lambda s: aurora.Assume(ORDER, groups=[5]),
        lambda s: aurora.Assume(oop.Order("time", group_by="Sid"), groups=["a"]),
        lambda s: aurora.Tumble({"n": oop.count()}, "sid"),
        lambda s: aurora.Tumble({"n": oop.sum("Sid")}, "Sid"),
        lambda s: aurora.Tumble({"n": oop.late()}, "Sid"),
        lambda s: aurora.Tumble({"Sid": oop.count()}, "Sid"),
        lambda s: aurora.Aggregate({"n": oop.seen()}, ORDER, 1, 1),
        lambda s: aurora.Aggregate({"Time": oop.count()}, ORDER, 1, 1),
        lambda s: aurora.Aggregate({"n": oop.count()}, ORDER, 1, oop.col("Time") + 1),
    ],
)
def test_what_does_not_fit_the_stream_names_the_line(make) -> None:
    stream = source(Time=[1], Sid=["a"])
    with pytest.raises(oop.OopError, match=r"test_boxes.py:\d+"):
        make(stream)(stream)
